/** `/unsubscribe` for people (contract, opt-out page): a button; showing the page does not opt out. */
import { prefers } from '../contract/accept.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import type { OptoutState } from '../outreach/optout.js';
import { whenUnavailable } from '../store/store.js';
import { breakable, escapeHtml, unnamedPage, type PageMaker } from './page.js';

const done = 'You are unsubscribed';

function doneText(email: string): string {
  return `<h1 id="done-title">${done}</h1>
<p class="state good">This address gets no more mail from this sender:</p>
<p class="value">${breakable(email)}</p>
<p class="note">You can close this page. The address and the time of your choice are kept so that it is
honoured.</p>`;
}

function question(email: string, action: string): string {
  return `<section class="sheet" id="question" aria-labelledby="title">
<h1 id="title">Unsubscribe?</h1>
<p>This address will get no more mail from this sender:</p>
<p class="value">${breakable(email)}</p>
<form method="post" action="${escapeHtml(action)}">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button>Unsubscribe</button>
</form>
<p id="failed" role="alert"></p>
<p class="note">Nothing changes until you press the button.</p>
</section>
<section class="sheet" id="done" tabindex="-1" aria-labelledby="done-title" hidden>
${doneText(email)}
</section>`;
}

/** The page if the opt-out was not stored; its form posts to the page's own address. */
const failed = `<section class="sheet">
<h1>That did not work</h1>
<p class="state bad">This address is not unsubscribed yet.</p>
<form method="post">
<input type="hidden" name="List-Unsubscribe" value="One-Click">
<button>Try again</button>
</form>
</section>`;

const badLink = `<section class="sheet">
<h1>This link does not work</h1>
<p class="state bad">It is incomplete, or was changed on its way. Nothing was changed.</p>
<p>Open the link in the mail once more. If that does not help, answer the mail and ask to be taken off the
list.</p>
</section>`;

/** The page of an invalid link, or of an address that has opted out. */
function settled(state: Exclude<OptoutState, { kind: 'subscribed' }>, page: PageMaker): Answer {
  if (state.kind === 'bad_link') return page({ title: 'This link does not work', main: badLink });
  return page({ title: done, main: `<section class="sheet">\n${doneText(state.email)}\n</section>` });
}

/** Opts out. A browser's form gets a page, a program gets the answer of `forPrograms`. */
export function unsubscribeForAll(
  optOut: (request: RouteRequest) => Promise<OptoutState>,
  forPrograms: (request: RouteRequest) => Promise<Answer>,
  page: PageMaker = unnamedPage,
): (request: RouteRequest) => Promise<Answer> {
  return async (request) => {
    if (!prefers(request.header('accept'), 'text/html')) return forPrograms(request);
    const state = await whenUnavailable(optOut(request), () => undefined);
    if (state === undefined || state.kind === 'subscribed') {
      return { ...page({ title: 'That did not work', main: failed }), status: 503 };
    }
    return settled(state, page);
  };
}

/** Shows the state of an opt-out link; `stateOf` looks it up. */
export function unsubscribePage(
  stateOf: (request: RouteRequest) => Promise<OptoutState>,
  page: PageMaker = unnamedPage,
): (request: RouteRequest) => Promise<Answer> {
  return async (request) => {
    const state = await stateOf(request);
    if (state.kind !== 'subscribed') return settled(state, page);
    const token = request.query['t'] ?? '';
    const action = `/unsubscribe?e=${encodeURIComponent(state.email)}&t=${encodeURIComponent(token)}`;
    return page({
      title: 'Unsubscribe?',
      main: question(state.email, action),
      scripts: ['unsubscribe.js'],
    });
  };
}
