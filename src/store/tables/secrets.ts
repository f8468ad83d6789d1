/**
 * Fingerprints of the master secrets that the store's records depend on: a process with other secrets does
 * not start. They are in one record: of processes that start together with different secrets, one wins and
 * the others change nothing.
 */
import {
  masterSecretFile,
  parseSecrets,
  secretFingerprint,
  secretId,
  type MasterSecrets,
} from '../../system/masterSecret.js';
import type { Randomness } from '../../system/randomness.js';
import { makeSecretFile, readSecretFile, type SecretResult } from '../../system/secretFile.js';
import { recordKey } from '../bytes.js';
import type { Engine } from '../engine.js';
import { writeOver } from '../entries.js';
import type { Store } from '../store.js';
import { rows, table } from '../table.js';

/** A secret's fingerprint by its id. */
export interface Fingerprint {
  readonly id: string;
  /** 32 bytes. */
  readonly fingerprint: Uint8Array;
}

function fingerprint([id, digest]: readonly unknown[]): Fingerprint {
  if (typeof id !== 'string' || typeof digest !== 'string') {
    throw new Error('A secrets record has a row that is not a fingerprint');
  }
  return { id, fingerprint: Buffer.from(digest, 'base64url') };
}

const secretTable = table('secrets', {
  secrets: rows(fingerprint, ({ id, fingerprint }) => [id, Buffer.from(fingerprint).toString('base64url')]),
});

/** The fingerprints' bytes. */
export function encodeFingerprints(secrets: readonly Fingerprint[]): Uint8Array {
  return secretTable.encode({ secrets });
}

/** The fingerprints of the record's bytes. */
export function decodeFingerprints(record: Uint8Array): readonly Fingerprint[] {
  return secretTable.decode(record).secrets;
}

const key = Buffer.from('master');

/** Sources of the master secrets. */
export interface SecretSources {
  /** The configured secrets; empty: they are in the data folder. */
  readonly configured: readonly string[];
  readonly dataFolder: string;
  /** Makes the first secret if there is none and the store names none; undefined: it is not made. */
  readonly randomness: Randomness | undefined;
}

/**
 * The user of the secrets. Only a server that starts registers new ones: every later start needs them, so one
 * that a command got by chance would shut the server out. A replacement is a worker of a running server.
 */
export type SecretUser = 'start' | 'replacement' | 'command';

/** The secrets, checked against the store; or a sentence that says why they are refused. */
export async function openSecrets(
  store: Store,
  sources: SecretSources,
  user: SecretUser = 'start',
): Promise<SecretResult<MasterSecrets>> {
  const where = secretsPlace(sources.configured, sources.dataFolder);
  const found = await findSecrets(store, sources, where);
  if ('refused' in found) return found;
  if (user === 'command') return registeredSecrets(store, found.value, where);
  if (user === 'replacement' && (await areFormerSecrets(store, found.value))) return found;
  const registered = await registerSecrets(store, found.value, where);
  return registered.kind === 'registered' ? found : { refused: registered.reason };
}

async function namedSecrets(store: Store): Promise<readonly Fingerprint[]> {
  const reading = await store.get('secrets', key);
  return reading === undefined ? [] : decodeFingerprints(reading);
}

/**
 * Those of the secrets that servers have been started with, in their order: what a command derives from the
 * first of them is known to every server. A store that no server has used names none; then all of them.
 */
async function registeredSecrets(
  store: Store,
  secrets: MasterSecrets,
  where: string,
): Promise<SecretResult<MasterSecrets>> {
  const named = await namedSecrets(store);
  const missing = missingOf(named, secrets.map(fingerprintOf));
  if (missing !== undefined) return { refused: refused(missing.id, where).reason };
  const [first, ...others] = secrets.filter((secret) =>
    named.some((each) => same(each, fingerprintOf(secret))),
  );
  return { value: first === undefined ? secrets : [first, ...others] };
}

/**
 * True if the store names all these secrets, and others only after them: another node was started with a new
 * one since.
 */
async function areFormerSecrets(store: Store, secrets: MasterSecrets): Promise<boolean> {
  const own = secrets.map(fingerprintOf);
  const first = (await namedSecrets(store)).slice(0, own.length);
  return first.length === own.length && missingOf(first, own) === undefined;
}

/** The first of the named secrets that is not among one's own. */
function missingOf(named: readonly Fingerprint[], own: readonly Fingerprint[]): Fingerprint | undefined {
  return named.find((each) => !own.some((other) => same(each, other)));
}

/** Places of a server's secrets: its configuration, or else its data folder. */
interface SecretPlaces {
  readonly masterSecrets: readonly string[];
  readonly dataFolder: string;
}

/** The engine's key of the record that names the secrets. */
export const fingerprintsKey = recordKey('secrets', key);

/**
 * A sentence for each secret that an engine's records need and that is missing, with what to do. It registers
 * and makes nothing.
 */
export async function missingSecrets(
  engine: Pick<Engine, 'get'>,
  places: SecretPlaces,
): Promise<readonly string[]> {
  const found = secretsFor(await engine.get(fingerprintsKey), places);
  return 'missing' in found ? found.missing : [];
}

/** The available secrets, if they include all that a record names; else sentences about the missing ones. */
export function secretsFor(
  named: Uint8Array | undefined,
  { masterSecrets, dataFolder }: SecretPlaces,
): { readonly secrets: readonly string[] } | { readonly missing: readonly string[] } {
  const where = secretsPlace(masterSecrets, dataFolder);
  const configured = masterSecrets.length > 0;
  const found = configured ? { value: masterSecrets } : readSecretFile(masterSecretFile(dataFolder));
  if (found !== undefined && 'refused' in found) return { missing: [found.refused] };
  const secrets = found?.value ?? [];
  const own = secrets.map(fingerprintOf);
  const wanted = named === undefined ? [] : decodeFingerprints(named);
  const missing = wanted.filter((each) => !own.some((other) => same(each, other)));
  if (missing.length === 0) return { secrets };
  return {
    missing: missing.map(({ id }) => `The server needs master secret ${id}: put your copy into ${where}.`),
  };
}

function fingerprintOf(secret: string): Fingerprint {
  return { id: secretId(secret), fingerprint: secretFingerprint(secret) };
}

/** The name of the place of the secrets in messages: the setting, or the path of their file. */
export function secretsPlace(configured: readonly string[], dataFolder: string): string {
  return configured.length > 0 ? 'MASTER_SECRET' : masterSecretFile(dataFolder).path;
}

async function findSecrets(
  store: Store,
  sources: SecretSources,
  where: string,
): Promise<SecretResult<MasterSecrets>> {
  const { configured, dataFolder, randomness } = sources;
  if (configured.length > 0) {
    const parsed = parseSecrets(configured.join(','));
    return 'value' in parsed ? parsed : { refused: `MASTER_SECRET ${parsed.wrong}.` };
  }
  // First the store, then the file: a process that starts beside this one writes them in the other order.
  const named = await store.get('secrets', key);
  const file = masterSecretFile(dataFolder);
  const read = readSecretFile(file);
  if (read !== undefined) return read;
  const [first] = named === undefined ? [] : decodeFingerprints(named);
  if (first !== undefined) return { refused: refused(first.id, where).reason };
  if (randomness !== undefined) return makeSecretFile(file, randomness);
  return { refused: `There is no master secret in ${where}. Start the server once: it makes one.` };
}

/** Why the available secrets are refused; a sentence. */
export interface SecretsRefused {
  readonly kind: 'refused';
  readonly reason: string;
}

/** Outcome of registering. */
export type Registered = { readonly kind: 'registered' } | SecretsRefused;

/**
 * Checks that every secret that the store names is available, and registers new ones. `where` names the place
 * of the secrets in messages, such as `MASTER_SECRET` or a path.
 */
export async function registerSecrets(
  store: Store,
  secrets: MasterSecrets,
  where: string,
): Promise<Registered> {
  const own = secrets.map(fingerprintOf);
  for (;;) {
    const reading = await store.get('secrets', key);
    const named = reading === undefined ? [] : decodeFingerprints(reading);
    const missing = missingOf(named, own);
    if (missing !== undefined) return refused(missing.id, where);
    const added = own.filter((each) => !named.some((other) => same(each, other)));
    if (added.length === 0) return { kind: 'registered' };
    const value = encodeFingerprints([...named, ...added]);
    // The next turn reads the record again, as another process may have written it first.
    await store.commit([writeOver('secrets', key, reading, value)]);
  }
}

function same(left: Fingerprint, right: Fingerprint): boolean {
  return left.id === right.id && Buffer.compare(left.fingerprint, right.fingerprint) === 0;
}

function refused(id: string, where: string): SecretsRefused {
  const reason =
    `The store was written with master secret ${id}, which ${where} does not hold. ` +
    'Restore it from your copy; to rotate, put the new secret before it, not in its place.';
  return { kind: 'refused', reason };
}
