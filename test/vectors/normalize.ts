/** The vectors of /v1/normalize, which Rust reads too: one or more for each row of docs/normalize.md. */
import type { NormalizeRequest } from '../../src/contract/normalize.js';
import { vectorLines } from './lines.js';

/** A request, and what it gets. */
export interface NormalizeVector {
  readonly row: string;
  readonly request: NormalizeRequest;
  readonly normalized: string;
  /** Changes by kind. */
  readonly kinds: Readonly<Record<string, number>>;
}

/** Every vector. */
export function normalizeVectors(): NormalizeVector[] {
  return vectorLines('normalize.jsonl') as NormalizeVector[];
}
