/** The API key on the wire (contract, Authentication). */

/** The optional API key. */
export interface KeyHeaders {
  /** An API key; without one the anonymous limits apply. */
  'x-api-key'?: string;
}
