/** Settings of the store: its location, and the secrets that tokens and keys are derived from. */
import { dirname, resolve } from 'node:path';
import { parseSecrets, strengthBits } from '../system/masterSecret.js';
import type { Parsed, Settings, ValuesOf } from '../system/settings.js';
import { integerOrNull } from '../system/settingValues.js';
import { engineKinds, parseStoreUrl } from './open.js';

/** A store's URL with any folder in it made absolute. */
function parseUrl(text: string): Parsed<string> {
  const parsed = parseStoreUrl(text);
  return 'wrong' in parsed ? parsed : { value: parsed.location.url };
}

/** Least estimated strength of a secret in bits. */
const leastBits = 128;

function parseMasterSecrets(text: string): Parsed<readonly string[]> {
  if (text === '') return { value: [] };
  const parsed = parseSecrets(text);
  // The older secrets have made tokens and keys already: these must verify, however weak the secrets are.
  if ('wrong' in parsed || strengthBits(parsed.value[0]) >= leastBits) return parsed;
  return {
    wrong:
      `begins with a secret that looks like less than ${leastBits} random bits: whoever guesses it makes ` +
      'keys. Take one of openssl rand -hex 32, and put the previous one after it',
  };
}

/** The store and its secrets. */
export const storeSettings = {
  /** The store's URL: `lmdb:` and an absolute folder, or a `postgres://` URL. May hold a password. */
  storeUrl: {
    name: 'STORE_URL',
    type: engineKinds.map(({ short }) => `\`${short}\``).join(' or '),
    fallback: 'lmdb:./data/store',
    meaning:
      'Where the store is ([store.md](store.md)). The folder that holds an LMDB store, and `./data` with ' +
      'PostgreSQL, is the data folder: Fusegate’s other files are there, and one server at a time may use ' +
      'it.',
    parse: parseUrl,
    secret: true,
  },
  /** The master secrets, the newest first; empty: they are in a file of the data folder. */
  masterSecrets: {
    name: 'MASTER_SECRET',
    type: 'secrets of 32 to 256 visible ASCII characters, separated by commas',
    fallback: '',
    fallbackShown: 'the file `master-secret` of the data folder, made at the first start',
    meaning:
      'Secrets that tokens and keys are derived from. The first one makes new ones, the others still ' +
      'verify earlier ones; see [operating.md](operating.md).',
    parse: parseMasterSecrets,
    secret: true,
  },
  /** Megabytes of the disk reserved for paid data; 0: none; null: by the disk's size. */
  diskReserveMb: {
    name: 'DISK_RESERVE',
    type: 'whole number of MB, 0 to 1000000',
    fallback: '',
    fallbackShown: '2 GiB, or 5 % of the disk where that is less',
    meaning:
      'Space that is reserved on the disk of the data folder: with less left, leads, orders and fragments ' +
      'of strangers get 503 `storage_reserved`, and clicks are not stored; 0 reserves nothing.',
    parse: integerOrNull(1_000_000),
  },
} as const satisfies Settings;

type StoreValues = ValuesOf<typeof storeSettings>;

/** The folder of a store by its checked URL; null: machines may share it. */
function folderOf(storeUrl: string): string | null {
  const parsed = parseStoreUrl(storeUrl);
  return 'wrong' in parsed ? null : parsed.location.folder;
}

/** The parent folder of the store's folder; `./data` if machines may share the store. */
export function dataFolderOf(storeUrl: string): string {
  const folder = folderOf(storeUrl);
  return folder === null ? resolve('data') : dirname(folder);
}

/** True if several machines may share the store. */
export function isShared({ storeUrl }: Pick<StoreValues, 'storeUrl'>): boolean {
  return folderOf(storeUrl) === null;
}

/** Contradictions between the settings: machines that share a store need the same secret. */
export function missingSecret({ storeUrl, masterSecrets }: Partial<StoreValues>): string[] {
  if (storeUrl === undefined || !isShared({ storeUrl }) || masterSecrets?.length !== 0) return [];
  const urls = engineKinds.flatMap(({ shared, short }) => (shared ? [short] : []));
  return [
    `MASTER_SECRET must be set where STORE_URL is ${urls.join(' or ')}: every node needs the same one.`,
  ];
}
