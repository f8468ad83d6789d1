/** `fusegate profiles put|list|show|remove`: settings that requests name. */
import type { Command } from 'commander';
import { profileBytes, profileSettingsType, type ProfileSettings } from '../contract/profiles.js';
import { checkBytes, type BodyParts } from '../contract/schema/bytes.js';
import { isName } from '../store/tables/names.js';
import {
  allProfiles,
  findProfile,
  putProfile,
  removeProfile,
  type ProfileRecord,
} from '../store/tables/profiles.js';
import type { Store } from '../store/store.js';
import { timeText, type Clock } from '../system/clock.js';
import { reasonOf } from '../system/reason.js';
import { printable } from './printable.js';
import { addTo, addVersions, type Json, type Versioned } from './versions.js';
import { withStore, type CommandParts } from './withStore.js';

/** Dependencies of the commands. */
export interface ProfileCommandParts extends CommandParts, BodyParts {
  /** The bytes of a file, or of standard input for `-`. @throws Error if they cannot be read */
  readonly readBytes: (path: string) => Promise<Uint8Array>;
}

interface Wrong {
  readonly wrong: string;
}

/** The sentence for a name that no profile may have. */
const wrongProfileName = 'A name has 1 to 64 of A-Z a-z 0-9 . _ - and nothing else.';

/** Stores settings as the next version of a public profile. */
async function storeProfile(
  store: Store,
  name: string,
  settings: ProfileSettings,
  nowMs: number,
): Promise<{ readonly version: number } | Wrong> {
  const written = JSON.stringify(settings);
  if (Buffer.byteLength(written) > profileBytes) {
    return { wrong: `The settings of a profile have ${profileBytes} bytes at most.` };
  }
  const outcome = await putProfile(store, name, written, Math.floor(nowMs));
  return outcome.ok ? { version: outcome.version } : { wrong: outcome.detail };
}

/** A public profile, for a command that reads its settings and writes others. */
export interface OpenedProfile {
  readonly name: string;
  /** Those of the newest version; undefined if there is none. */
  readonly settings: ProfileSettings | undefined;
  /** Stores settings as its next version. */
  readonly keep: (settings: ProfileSettings) => Promise<{ readonly version: number } | Wrong>;
}

/** Opens a profile, whether or not it exists. */
export async function openProfile(
  { store, clock }: { readonly store: Store; readonly clock: Pick<Clock, 'wallMs'> },
  name: string,
): Promise<OpenedProfile | Wrong> {
  if (!isName(name)) return { wrong: wrongProfileName };
  const newest = (await findProfile(store, name))?.versions.at(-1);
  return {
    name,
    settings: newest === undefined ? undefined : (JSON.parse(newest.settings) as ProfileSettings),
    keep: (settings) => storeProfile(store, name, settings, clock.wallMs()),
  };
}

/** The sentence about a profile that was written. */
export function keptText(name: string, version: number): string {
  return (
    `Written as version ${version} of the profile ${name}: add "profile": "${name}" to your requests.\n` +
    'A server that runs knows it within a second.\n'
  );
}

/** The settings in a file, or their errors, one a line. */
async function settingsOf(
  parts: ProfileCommandParts,
  path: string,
): Promise<{ readonly settings: ProfileSettings } | Wrong> {
  let bytes: Uint8Array;
  try {
    bytes = await parts.readBytes(path);
  } catch (error) {
    return { wrong: `${path} cannot be read (${reasonOf(error)}).` };
  }
  if (bytes.byteLength > profileBytes) {
    return { wrong: `${path}: The settings of a profile have ${profileBytes} bytes at most.` };
  }
  const checked = checkBytes(profileSettingsType, bytes, parts);
  if (checked.ok) return { settings: checked.value };
  const lines = checked.errors.map(({ loc: [, ...place], msg }) =>
    printable(place.length === 0 ? msg : `${place.join('.')}: ${msg}`),
  );
  return { wrong: lines.map((line) => `${path}: ${line}`).join('\n') };
}

function put(parts: ProfileCommandParts, name: string, path: string, { json }: Json): Promise<number> {
  return withStore(parts, async ({ store }) => {
    if (!isName(name)) return { wrong: wrongProfileName };
    const read = await settingsOf(parts, path);
    if ('wrong' in read) return read;
    const { settings } = read;
    const stored = await storeProfile(store, name, settings, parts.clock.wallMs());
    if ('wrong' in stored) return stored;
    const { version } = stored;
    await parts.write(
      json === true
        ? `${JSON.stringify({ name, version, settings })}\n`
        : `${name}, version ${version}. A server that runs knows it within a second.\n`,
    );
    return 0;
  });
}

/** A profile as `--json` prints it. */
function shown({ name, versions }: ProfileRecord): object {
  return {
    name,
    versions: versions.map(({ version, settings, createdAtMs }) => ({
      ...{ version, settings: JSON.parse(settings) as unknown, created_at: timeText(createdAtMs) },
    })),
  };
}

function rowsOf({ name, versions }: ProfileRecord): string[] {
  return versions.map(({ version, settings, createdAtMs }) => {
    const number = String(version).padStart(7);
    return `${name.padEnd(24)}${number}  ${timeText(createdAtMs)}  ${printable(settings)}\n`;
  });
}

const heading = `${'name'.padEnd(24)}version  ${'made'.padEnd(24)}  settings\n`;

const profiles: Versioned<ProfileRecord> = {
  all: allProfiles,
  find: findProfile,
  remove: removeProfile,
  missing: (name) => `There is no profile ${printable(name)}.`,
  heading,
  rowsOf,
  listed: (profile) => ({ ...profile, versions: profile.versions.slice(-1) }),
  shown,
};

/** Adds the commands to the program. */
export function addProfiles(program: Command, parts: ProfileCommandParts): void {
  const group = program.command('profiles').description('settings of requests under a name');
  addTo(group, 'put <name> <file>', 'keep the settings of a file as the next version of a profile')
    .addHelpText(
      'after',
      '\nFile: a JSON object of members of POST /v1/fuse that decide the ranking, such as weights and' +
        '\nanalyzer; - is standard input.',
    )
    .option('--json', 'print JSON')
    .action(async (name: string, path: string, options: Json) => {
      process.exitCode = await put(parts, name, path, options);
    });
  addVersions(group, parts, profiles, {
    list: 'list the profiles with their newest settings',
    listJson: 'print JSON, all versions',
    show: 'show the versions of a profile',
    remove: 'remove a profile with all its versions',
  });
}
