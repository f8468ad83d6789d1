/** Profiles on the wire: `profile` of POST /v1/fuse, by name. */
import type { tags } from 'typia';
import type { Integer } from './schema/tags.js';

/** Settings that are stored on the server under a name; `profile` may also be the name alone. */
export interface FuseProfile {
  /** The name of a profile of the request's API key, or of a shared one. */
  name: string;
  /** Version of the profile; a version never changes. Absent: the newest. */
  version?: number & Integer & tags.Minimum<1> & tags.Maximum<4294967295>;
}

/** The profile that an answer was made with. */
export interface FuseProfileUsed {
  name: string;
  /** The version. A later request that names it has the same settings. */
  version: number & Integer & tags.Minimum<1>;
}
