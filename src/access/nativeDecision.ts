/** Names of the native module's decisions about a request (native/node/src/access.rs). */
import { native } from '../native/addon.js';

/** Decisions, and the indexes of their facts. */
export const { AdmitOutcome: outcomes, AdmitFact: facts } = native;

/** States of keys. */
export const statuses = {
  active: native.KeyStatus.Active,
  suspended: native.KeyStatus.Suspended,
  revoked: native.KeyStatus.Revoked,
} as const;

/** An array for the facts of a decision. */
export function factsRoom(): Float64Array {
  return new Float64Array(native.ADMIT_FACTS);
}

/** The kinds of limit after kind 0, which is keys: all but the last count an address. */
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
