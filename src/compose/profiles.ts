/** The profiles of a worker: the native table, and the follower of the store's. */
import { native } from '../native/addon.js';
import type { Profiles } from '../native/index.js';
import { followProfiles, type ProfileFollowerParts } from '../profiles/follower.js';

/** The profiles of a process. */
export interface NamedProfiles {
  readonly table: Profiles;
  /** Resolves when everything stored before the call is known. */
  readonly look: () => Promise<unknown>;
  readonly stop: () => void;
}

/** Loads the store's profiles, if requests that name them are served, and follows them until stopped. */
export async function namedProfiles({
  isServed,
  ...parts
}: Omit<ProfileFollowerParts, 'profiles'> & { readonly isServed: boolean }): Promise<NamedProfiles> {
  const table = new native.Profiles();
  const follower = followProfiles({ ...parts, profiles: table });
  if (isServed) await follower.start();
  return { table, look: () => follower.look(), stop: () => follower.stop() };
}
