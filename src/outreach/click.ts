/** `GET /c/{token}` (contract, click redirect): logs the click and answers 302 (RFC 9110) without waiting. */
import { isbot } from 'isbot';
import { clickDefaults } from '../contract/click.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import type { Click } from '../store/tables/clicks.js';
import type { Clock } from '../system/clock.js';
import type { MasterSecrets } from '../system/masterSecret.js';
import { locationOf, type TrustedPlaces } from './destination.js';
import { verifyClick } from './tokens.js';

/** Parts of the redirect. */
export interface ClickParts extends TrustedPlaces {
  readonly secrets: MasterSecrets;
  readonly clock: Pick<Clock, 'wallMs'>;
  /** Adds a click from an address to the log and returns at once. */
  readonly record: (click: Click, address: Uint8Array) => void;
}

/** Most characters of a token and of a destination in the log. */
const keptToken = 128;
const keptDestination = 2_048;

/** True if the request looks like a program's: a prefetch, a known robot, or no browser at all. */
function isProgram(request: RouteRequest): boolean {
  const ahead = ['sec-purpose', 'purpose', 'x-moz'].some((name) => request.header(name).includes('prefetch'));
  const agent = request.header('user-agent');
  return ahead || agent === '' || isbot(agent);
}

/** Redirects clicks. HEAD gets the same answer and is not logged. */
export function click(parts: ClickParts): Handler {
  return (request) => {
    const token = request.path['token'] ?? '';
    const given = request.query['d'] ?? clickDefaults.d;
    const valid = verifyClick(parts.secrets, token, given);
    const location = locationOf(given, valid, parts);
    if (!request.head) {
      const click = {
        atMs: parts.clock.wallMs(),
        token: token.slice(0, keptToken),
        destination: location.slice(0, keptDestination),
        valid,
        bot: isProgram(request),
      };
      parts.record(click, request.caller());
    }
    return redirect(location);
  };
}

function redirect(location: string): Answer {
  return {
    status: 302,
    body: { bytes: '', type: 'text/plain; charset=utf-8' },
    headers: {
      location,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
    },
    charge: 0,
  };
}
