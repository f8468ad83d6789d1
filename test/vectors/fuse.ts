/** The recorded pairs of `fuse.jsonl`: requests to POST /v1/fuse and the answers they must get. */
import { readFileSync } from 'node:fs';
import type { ReferenceRequest, ReferenceResponse } from '../reference/fuse.js';

export interface FuseVector {
  readonly id: string;
  readonly category: string;
  readonly request: ReferenceRequest;
  readonly response: ReferenceResponse;
}

/** Every vector of the file. */
export function fuseVectors(): FuseVector[] {
  const file = new URL('../../../test/vectors/fuse.jsonl', import.meta.url);
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as FuseVector);
}
