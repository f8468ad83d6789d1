/** `GET /c/{token}` on the wire (contract, click redirect). */

/** Path of a click link. */
export interface ClickPath {
  token: string;
}

/** Where the click goes. */
export interface ClickQuery {
  /** Destination. */
  d?: string;
}

/** What a query that leaves a parameter out gets. */
export const clickDefaults = { d: '/' } as const satisfies ClickQuery;
