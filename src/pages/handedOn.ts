/** A page's request as a handler of the API takes it, whose answer the page then shows. */
import { storeUnavailable } from '../contract/answer.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import { whenUnavailable } from '../store/store.js';

/** Differences between the handler's view and the page's. */
export interface HandedOn<Input> {
  readonly input: Input;
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly mayAct?: boolean;
}

/**
 * Makes that request. It has no header fields, as the page's route declares none: what a browser can send
 * stands in the address or in a form.
 */
export function handOn<Input>(request: RouteRequest, as: HandedOn<Input>): RouteRequest<Input> {
  return {
    id: request.id,
    path: as.path ?? request.path,
    query: as.query ?? request.query,
    header: () => '',
    keyed: false,
    body: request.body,
    retain: () => request.retain(),
    input: as.input,
    mayAct: as.mayAct ?? request.mayAct,
    head: request.head,
    peer: () => request.peer(),
    caller: () => request.caller(),
    aborted: () => request.aborted(),
    signal: () => request.signal(),
  };
}

/** The answer of a handler that a page asks; http's own while the store is unavailable. */
export async function answerOf<Input>(
  handler: Handler<Input>,
  request: RouteRequest<Input>,
): Promise<Answer> {
  const ask = async (): Promise<Answer> => handler(request);
  return whenUnavailable(ask(), storeUnavailable);
}
