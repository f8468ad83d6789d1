/** `POST /harvest` on the wire (contract, shard markers in a pasted reply). */
import type { tags } from 'typia';
import type { Integer, MaxCodePoints } from './tags.js';
import type { ReceiptStatus } from './fragment.js';

/** A pasted reply. */
export interface HarvestRequest {
  /** The reply; every shard marker in it is read. */
  text: string & MaxCodePoints<102400>;
  /** Label of the authoring mind; becomes each fragment's visitor. */
  mind?: (string & MaxCodePoints<100>) | null;
}

/** What became of one marker. */
export interface HarvestItem {
  index: number & Integer & tags.Minimum<0>;
  ok: boolean;
  /** Present when ok. */
  receipt?: string;
  /** Present when not ok. */
  error?: string;
  /** Present when its kind is none of the eight. */
  warning?: string;
  status: ReceiptStatus | null;
  content_sha256: string | null;
  canonical_payload_sha256: string | null;
  stored_envelope_sha256: string | null;
}

/** What became of every marker. */
export interface HarvestResponse {
  found: number & Integer & tags.Minimum<0>;
  admitted: number & Integer & tags.Minimum<0>;
  duplicates: number & Integer & tags.Minimum<0>;
  rejected: number & Integer & tags.Minimum<0>;
  results: HarvestItem[];
}
