/** A refusal of the API (RFC 6585 429) as the page that a person in a browser gets for it. */
import type { Answer } from '../contract/exchange.js';
import type { Problem } from '../contract/problem.js';
import { escapeHtml, type PageMaker } from './page.js';

/** Says what a refusal's problem says, under its status and with its header fields (`Retry-After`). */
export function refusalPage({ status, body, headers }: Answer, page: PageMaker): Answer {
  if (!('bytes' in body)) throw new Error('A refusal is not written yet');
  const { detail } = JSON.parse(Buffer.from(body.bytes).toString()) as Problem;
  const title = 'Not now';
  const main = `<section class="sheet"><h1>${title}</h1>
<p class="state bad" role="alert">${escapeHtml(detail)}</p>
<p>Nothing was ordered or charged. Go back, and send the form again then.</p></section>`;
  const shown = page({ title, main, styles: ['buy.css'] });
  return { ...shown, status, headers: { ...shown.headers, ...headers } };
}
