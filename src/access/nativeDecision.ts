/** Names of the numbers in which the native module decides about a request (native/node/src/access.rs). */

/** Decisions, by the native module's numbers. */
export const outcomes = {
  admitted: 0,
  uncounted: 1,
  overMinute: 2,
  overMonth: 3,
  unloaded: 4,
  unknown: 5,
  expired: 7,
  revoked: 8,
  suspended: 9,
  crowded: 10,
  overNetwork: 11,
  overCrowd: 12,
} as const;

/** Places of the facts that a decision sets: see the module's declaration. */
export const facts = { remaining: 0, full: 1, retry: 2, tier: 3, monthStart: 4, count: 5 } as const;

/** The kinds of limit besides kind 0, the keys: all but the last are an address's. */
export const kinds = {
  anonymous: 1,
  unknownKeys: 2,
  leads: 3,
  checkout: 4,
  submissions: 5,
  previews: 6,
  audits: 7,
  clicks: 8,
  markers: 9,
  explorations: 10,
  polls: 11,
  pages: 12,
  cardEvents: 13,
  stored: 14,
  orderLooks: 15,
} as const;
