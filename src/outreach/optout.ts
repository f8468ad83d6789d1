/** Mail opt-out (contract; RFC 8058): the link alone decides; showing the page changes nothing. */
import { jsonAnswer } from '../contract/answer.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import { unsubscribeDefaults, type UnsubscribeResponse } from '../contract/optout.js';
import { findOptout, recordOptout } from '../store/tables/optouts.js';
import type { MasterSecrets } from '../system/masterSecret.js';
import type { StoringParts } from './leads.js';
import { verifyOptout } from './tokens.js';
import { whenUnavailable } from '../store/store.js';

/** Parts of opt-out. */
export interface OptoutParts extends StoringParts {
  readonly secrets: MasterSecrets;
}

/** Current state of an opt-out link. */
export type OptoutState =
  /** The token is invalid for the address. */
  | { readonly kind: 'bad_link' }
  | { readonly kind: 'subscribed'; readonly email: string }
  | { readonly kind: 'unsubscribed'; readonly email: string };

/** The address of a request's link; undefined if its token is invalid. */
function addressOf(secrets: MasterSecrets, { query }: RouteRequest): string | undefined {
  const { e, t } = unsubscribeDefaults;
  return verifyOptout(secrets, query['e'] ?? e, query['t'] ?? t);
}

/** Looks up the state of a link; if the store does not answer, no opt-out is known. */
export function optoutState({
  store,
  secrets,
}: Pick<OptoutParts, 'store' | 'secrets'>): (request: RouteRequest) => Promise<OptoutState> {
  return async (request) => {
    const email = addressOf(secrets, request);
    if (email === undefined) return { kind: 'bad_link' };
    const found = await whenUnavailable(findOptout(store, secrets, email), () => undefined);
    return { kind: found === undefined ? 'subscribed' : 'unsubscribed', email };
  };
}

/** Opts out, whatever the body; the opt-out is on disk before the state is returned. */
export function optOut({
  store,
  clock,
  secrets,
}: OptoutParts): (request: RouteRequest) => Promise<OptoutState> {
  return async (request) => {
    const email = addressOf(secrets, request);
    if (email === undefined) return { kind: 'bad_link' };
    await recordOptout(store, secrets, email, clock.wallMs());
    return { kind: 'unsubscribed', email };
  };
}

/** Opts out, and answers for a program. */
export function unsubscribe(parts: OptoutParts): (request: RouteRequest) => Promise<Answer> {
  const act = optOut(parts);
  return async (request) => {
    const { kind } = await act(request);
    const body: UnsubscribeResponse = { ok: true, unsubscribed: kind === 'unsubscribed' };
    return jsonAnswer(200, body);
  };
}
