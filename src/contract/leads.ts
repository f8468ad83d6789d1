/** `POST /v1/leads` on the wire (contract, LeadRequest). */
import type { MaxCodePoints } from './tags.js';

/** Someone who wants to hear from the operator. */
export interface LeadRequest {
  /** Kept as it came; nothing is sent to it. */
  email: string & MaxCodePoints<320>;
  tier?: string | null;
  message?: (string & MaxCodePoints<2000>) | null;
  source?: (string & MaxCodePoints<32>) | null;
  segment?: (string & MaxCodePoints<64>) | null;
  campaign?: (string & MaxCodePoints<64>) | null;
  event_id?: (string & MaxCodePoints<64>) | null;
}

/** The lead is on disk. */
export interface LeadResponse {
  ok: true;
  id: string;
  /** RFC 3339 UTC. */
  received_at: string;
}
