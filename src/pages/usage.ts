/**
 * `/usage`: a key's usage for its holder, in a browser. The key is in the body of a form, never in a URL, and
 * the page does not repeat it.
 */
import type { ReadUsage } from '../access/keyUsage.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import type { UsageResponse } from '../contract/usage.js';
import { grouped, tierTitles } from './amounts.js';
import { escapeHtml, type PageMaker } from './page.js';
import { sentenceOf } from './refusal.js';

const title = 'Usage of an API key';

const form = `<form method="post" action="/usage">
<label class="field">API key
<input name="key" type="password" autocomplete="off" spellcheck="false" required></label>
<p class="actions"><button>Show usage</button></p>
</form>
<p class="note">The form sends the key in its body, never in an address. Programs call
<a href="/docs/api/usage"><code>GET /v1/usage</code></a>.</p>`;

function timeOf(at: string): string {
  return `<time datetime="${escapeHtml(at)}">${new Date(at).toUTCString()}</time>`;
}

/** Names and values, as HTML. */
type Row = readonly [name: string, value: string];

function rowsOf({ tier, expires_at: end, requests, characters }: UsageResponse): readonly Row[] {
  const { limit, used, remaining, resets_at: resets } = characters;
  return [
    ['Tier', tierTitles[tier]],
    ['Valid until', end === null ? 'No end' : timeOf(end)],
    [
      'Requests this minute',
      requests.remaining === null
        ? 'No limit'
        : `${grouped(requests.remaining)} of ${grouped(requests.limit)} left`,
    ],
    [
      'Characters this month',
      remaining === null
        ? `${grouped(used)} used, no limit`
        : `${grouped(used)} of ${grouped(limit)} used, ${grouped(remaining)} left`,
    ],
    ['Next month begins', timeOf(resets)],
  ];
}

function usageOf(usage: UsageResponse): string {
  const rows = rowsOf(usage).map(([name, value]) => `<tr><th scope="row">${name}</th><td>${value}</td></tr>`);
  return `<table class="usage"><tbody>${rows.join('\n')}</tbody></table>
<p class="note">Characters of the last 10 seconds may be missing.
<a href="/docs/guides/keys">How limits and characters are counted</a></p>\n`;
}

/** The page, with `above` over its form. */
function shown(page: PageMaker, above: string): Answer {
  const main = `<section class="sheet"><h1>${title}</h1>\n${above}${form}</section>`;
  return page({ title, headed: true, main, styles: ['buy.css'] });
}

/** The page before and after the form is sent. */
export interface UsagePages {
  readonly usagePage: Handler;
  readonly usageShown: (request: RouteRequest) => Promise<Answer>;
}

/** The page's handlers. */
export function usagePages(read: ReadUsage, page: PageMaker): UsagePages {
  const empty = shown(page, '');
  return {
    usagePage: () => empty,
    async usageShown(request) {
      const key = new URLSearchParams(Buffer.from(request.body).toString()).get('key')?.trim() ?? '';
      // A form has no header fields for the API: its field replaces the key's header field.
      const header = (name: string): string => (name === 'x-api-key' ? key : '');
      const outcome = await read({ header, caller: () => request.caller() });
      if (outcome.ok) return shown(page, usageOf(outcome.usage));
      const { refusal } = outcome;
      const sentence = key === '' ? 'Enter an API key.' : sentenceOf(refusal);
      const alert = `<p class="state bad" role="alert">${escapeHtml(sentence)}</p>\n`;
      const answer = shown(page, alert);
      return { ...answer, status: refusal.status, headers: { ...refusal.headers, ...answer.headers } };
    },
  };
}
