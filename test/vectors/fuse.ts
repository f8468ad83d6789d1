/** The recorded pairs of `fuse.jsonl`: requests to POST /v1/fuse and the answers they must get. */
import type { ReferenceRequest, ReferenceResponse } from '../reference/fuse.js';
import { vectorLines } from './lines.js';

export interface FuseVector {
  readonly id: string;
  readonly category: string;
  readonly request: ReferenceRequest;
  readonly response: ReferenceResponse;
}

/** Every vector of the file. */
export function fuseVectors(): FuseVector[] {
  return vectorLines('fuse.jsonl') as FuseVector[];
}
