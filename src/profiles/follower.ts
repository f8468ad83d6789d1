/** The profiles of the store in this process: loaded before the first request, then followed. */
import type { Profiles } from '../native/index.js';
import { Follower } from '../store/follower.js';
import { decodeProfile, type ProfileRecord } from '../store/tables/profiles.js';
import type { Store } from '../store/store.js';
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';

/** Parts of the follower. */
export interface ProfileFollowerParts {
  readonly store: Store;
  /** The process's table. */
  readonly profiles: Pick<Profiles, 'add' | 'remove' | 'versions'>;
  readonly clock: Pick<Clock, 'every'>;
  readonly log: Pick<Log, 'error'>;
}

/** Follows the profiles. */
export function followProfiles(parts: ProfileFollowerParts): Follower<ProfileRecord> {
  const take = (name: string, record: ProfileRecord | undefined): void => {
    const stored = new Set(record?.versions.map(({ version }) => version));
    // Versions from before a removal are gone, even if the name exists again.
    if (parts.profiles.versions(name).some((version) => !stored.has(version))) parts.profiles.remove(name);
    if (record !== undefined) takeProfile(parts, record);
  };
  return new Follower({
    ...parts,
    changes: 'profileChanges',
    space: 'profiles',
    decode: decodeProfile,
    take,
  });
}

/** Adds the versions of a profile that are newer than the known ones. */
export function takeProfile(
  { profiles, log }: Pick<ProfileFollowerParts, 'profiles' | 'log'>,
  { name, versions }: ProfileRecord,
): void {
  const known = profiles.versions(name).at(-1) ?? 0;
  for (const { version, settings } of versions.filter((each) => each.version > known)) {
    if (!profiles.add(name, version, settings)) {
      log.error({ name, version }, 'a profile is damaged, or of a later version');
    }
  }
}
