/** The page that a browser gets where there is nothing (RFC 9110, 404). */
import type { Answer } from '../contract/exchange.js';
import type { PageMaker } from './page.js';

const main = `<section class="sheet"><h1>There is no page at this address</h1>
<p class="state bad">Check the address for a typing error. Nothing was changed or charged.</p>
<p>Go to the <a href="/">home page</a>, look in the <a href="/docs">reference and guides</a>, or
<a href="/buy">buy an API key</a>.</p></section>`;

/** Says so, and leads back. */
export function notFoundPage(page: PageMaker): Answer {
  const shown = page({ title: 'There is no page at this address', main, headed: true });
  return { ...shown, status: 404, headers: { ...shown.headers, vary: 'Accept' } };
}
