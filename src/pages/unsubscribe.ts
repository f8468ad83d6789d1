/** `GET /unsubscribe` (contract, opt-out page): shows a button and changes nothing. */
import type { Answer, RouteRequest } from '../contract/exchange.js';
import type { OptoutState } from '../outreach/optout.js';
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

const badLink = `<section class="sheet">
<h1>This link does not work</h1>
<p class="state bad">It is incomplete, or was changed on its way. Nothing was changed.</p>
<p>Open the link in the mail once more. If that does not help, answer the mail and ask to be taken off the
list.</p>
</section>`;

/** Shows what an opt-out link stands for; `stateOf` looks it up. */
export function unsubscribePage(
  stateOf: (request: RouteRequest) => Promise<OptoutState>,
  page: PageMaker = unnamedPage,
): (request: RouteRequest) => Promise<Answer> {
  return async (request) => {
    const state = await stateOf(request);
    if (state.kind === 'bad_link') return page({ title: 'This link does not work', main: badLink });
    if (state.kind === 'unsubscribed') {
      return page({ title: done, main: `<section class="sheet">\n${doneText(state.email)}\n</section>` });
    }
    const token = request.query['t'] ?? '';
    const action = `/unsubscribe?e=${encodeURIComponent(state.email)}&t=${encodeURIComponent(token)}`;
    return page({
      title: 'Unsubscribe?',
      main: question(state.email, action),
      scripts: ['unsubscribe.js'],
    });
  };
}
