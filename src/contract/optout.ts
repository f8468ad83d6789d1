/** `/unsubscribe` on the wire (contract, mail opt-out; RFC 8058 one-click). */

/** Who opts out, and the proof that the link came from the operator. */
export interface UnsubscribeQuery {
  /** Email address. */
  e?: string;
  /** Token of the link. */
  t?: string;
}

/** What a query that leaves a parameter out gets. */
export const unsubscribeDefaults = { e: '', t: '' } as const satisfies UnsubscribeQuery;

/** Always 200: a bad token says `unsubscribed: false`. */
export interface UnsubscribeResponse {
  ok: true;
  unsubscribed: boolean;
}
