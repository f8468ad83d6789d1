/** A refusal of the API (RFC 6585 429) as a page, for browsers. */
import type { Answer } from '../contract/exchange.js';
import type { Problem } from '../contract/problem.js';
import { escapeHtml, type PageMaker } from './page.js';

/** The sentence of a problem answer. */
export function sentenceOf({ body }: Answer): string {
  const problem: unknown = 'json' in body ? body.json : JSON.parse(Buffer.from(body.bytes).toString());
  return (problem as Problem).detail;
}

/** The page of a refusal, with its status and header fields (`Retry-After`). */
export function refusalPage(refusal: Answer, page: PageMaker): Answer {
  const { status, headers } = refusal;
  const title = 'Not now';
  const main = `<section class="sheet"><h1>${title}</h1>
<p class="state bad" role="alert">${escapeHtml(sentenceOf(refusal))}</p>
<p>Nothing was ordered or charged. Go back, and send the form again then.</p></section>`;
  const shown = page({ title, main, styles: ['buy.css'] });
  return { ...shown, status, headers: { ...shown.headers, ...headers } };
}
