/** The vectors of /v1/normalize, which Rust reads too: one or more for each row of docs/normalize.md. */
import { readFileSync } from 'node:fs';
import type { NormalizeRequest } from '../../src/contract/normalize.js';

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
  const file = new URL('../../../test/vectors/normalize.jsonl', import.meta.url);
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as NormalizeVector);
}
