/** The page that a browser gets for an unknown path (RFC 9110, 404). */
import type { Answer } from '../contract/exchange.js';
import type { PageMaker } from './page.js';

const reference = '<a href="/docs">reference and guides</a>';

/** A sentence with links to the pages that this address serves. */
function waysOn(paths: ReadonlySet<string>): string {
  if (!paths.has('/docs')) return '';
  const ways = paths.has('/buy')
    ? `, look in the ${reference}, or\n<a href="/buy">buy an API key</a>`
    : `, or look in the ${reference}`;
  return `\n<p>Go to the <a href="/">home page</a>${ways}.</p>`;
}

/** The page, with links to `paths`, the pages that this address serves. */
export function notFoundPage(page: PageMaker, paths: ReadonlySet<string>): Answer {
  const fault = 'Check the address for a typing error. Nothing was changed or charged.';
  const main = `<section class="sheet"><h1>There is no page at this address</h1>
<p class="state bad">${fault}</p>${waysOn(paths)}</section>`;
  const shown = page({ title: 'There is no page at this address', main, headed: true });
  return { ...shown, status: 404, headers: { ...shown.headers, vary: 'Accept' } };
}
