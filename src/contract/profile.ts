/** Profiles on the wire: `profile` of POST /v1/fuse, by name. */
import type { tags } from 'typia';
import type { Integer } from './schema/tags.js';

/** Settings that the server has under a name: `profile` may also be the name alone. */
export interface FuseProfile {
  /** The name: one of those of the request's API key, or everybody's. */
  name: string;
  /** Version of them, whose settings never change; absent: the newest. */
  version?: number & Integer & tags.Minimum<1> & tags.Maximum<4294967295>;
}

/** The profile that an answer was made by. */
export interface FuseProfileUsed {
  name: string;
  /** The version: a request that asks for it has the same settings ever after. */
  version: number & Integer & tags.Minimum<1>;
}
