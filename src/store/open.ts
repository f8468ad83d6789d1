/** Opens the engine that a `STORE_URL` names, and the store on it. */
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import type { Randomness } from '../system/randomness.js';
import { reasonOf } from '../system/reason.js';
import { recordKey } from './bytes.js';
import type { Engine } from './engine.js';
import { createStore } from './groupCommit.js';
import { openLmdb } from './lmdb.js';
import { openPostgres } from './postgres.js';
import { parsePostgresUrl, serverName, type PostgresAddress } from './postgresAddress.js';
import { StoreUnavailable, type Store } from './store.js';
import { unitIds } from './unitId.js';

/** Where a store is. */
export type StoreLocation =
  | { readonly kind: 'lmdb'; readonly folder: string }
  | { readonly kind: 'postgres'; readonly address: PostgresAddress };

/** Parts of stores. */
export interface StoreParts {
  readonly clock: Clock;
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>;
  readonly randomness: Randomness;
}

/**
 * The key of the record that an unfinished `fusegate store copy` leaves in its target, so that no server
 * takes a part for the whole.
 */
export const unfinishedCopyKey = recordKey('state', Buffer.from('unfinished copy'));

/**
 * Reads `lmdb:<folder>` or `postgres://…`. `wrong` is a sentence part that follows the setting's name and
 * carries nothing of the URL, which may hold a password.
 */
export function parseStoreUrl(
  text: string,
): { readonly location: StoreLocation } | { readonly wrong: string } {
  const folder = /^lmdb:([^\0]+)$/.exec(text)?.[1];
  if (folder !== undefined) return { location: { kind: 'lmdb', folder: resolve(folder) } };
  if (!/^postgres(ql)?:\/\/./.test(text) || !URL.canParse(text)) {
    return {
      wrong:
        'must be lmdb:<folder>, such as lmdb:./data/store, or postgres://user:password@host:port/database ' +
        'with %-escapes for special characters',
    };
  }
  const parsed = parsePostgresUrl(text);
  return 'wrong' in parsed ? parsed : { location: { kind: 'postgres', address: parsed.address } };
}

/** A location as the operator knows it, without any password. */
export function storeName(location: StoreLocation): string {
  return location.kind === 'lmdb' ? `the store in ${location.folder}` : serverName(location.address);
}

/**
 * Why nothing can be opened at a location, if that can be told unopened: `missing`, there is no store yet;
 * `unreadable`, there may be one that this user cannot read. The reason is a sentence.
 */
export function missingStore(
  location: StoreLocation,
): { readonly kind: 'missing' | 'unreadable'; readonly reason: string } | undefined {
  if (location.kind !== 'lmdb') return undefined;
  const { folder } = location;
  try {
    statSync(join(folder, 'data.mdb'));
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      return { kind: 'missing', reason: `There is no store in ${folder}.` };
    }
    const as = 'Run this as the user that runs the server, or give this one the rights.';
    return { kind: 'unreadable', reason: `The store in ${folder} cannot be read (${code}). ${as}` };
  }
}

/**
 * Opens an engine, whatever state its records are in.
 * @throws StoreUnavailable when it cannot be opened.
 */
export async function openEngine(location: StoreLocation, parts: StoreParts): Promise<Engine> {
  if (location.kind === 'postgres') return openPostgres({ ...parts, address: location.address });
  try {
    return await openLmdb({ ...parts, folder: location.folder });
  } catch (error) {
    const reason = reasonOf(error);
    throw new StoreUnavailable(`The store in ${location.folder} cannot be opened (${reason}).`);
  }
}

/**
 * Opens the store that a checked `STORE_URL` names.
 * @throws StoreUnavailable when it cannot serve.
 */
export async function openStore(url: string, parts: StoreParts): Promise<Store> {
  const parsed = parseStoreUrl(url);
  if ('wrong' in parsed) throw new StoreUnavailable(`STORE_URL ${parsed.wrong}.`);
  const engine = await openEngine(parsed.location, parts);
  try {
    if ((await engine.get(unfinishedCopyKey)) === undefined) {
      return createStore(engine, unitIds(parts.clock, parts.randomness));
    }
    throw new StoreUnavailable(
      'The store holds an unfinished copy or restore: empty it and run that command again.',
    );
  } catch (error) {
    await engine.close();
    throw error;
  }
}
