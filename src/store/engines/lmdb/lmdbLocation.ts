/** Stores on LMDB, by URL: `lmdb:` and the folder of the environment. */
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { reasonOf, shortReasonOf } from '../../../system/reason.js';
import type { EngineKind, MissingStore, StoreLocation } from '../../engine.js';
import { StoreUnavailable } from '../../store.js';

/** The folder of a URL; undefined: it is not an LMDB URL. */
function folderIn(url: string): string | undefined {
  const folder = /^lmdb:([^\0]+)$/.exec(url)?.[1];
  return folder === undefined ? undefined : resolve(folder);
}

function missing(folder: string): MissingStore | undefined {
  try {
    statSync(join(folder, 'data.mdb'));
    return undefined;
  } catch (error) {
    const code = shortReasonOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      return { kind: 'missing', reason: `There is no store in ${folder}.` };
    }
    const as = 'Run this as the user that runs the server, or give this one the rights.';
    return { kind: 'unreadable', reason: `The store in ${folder} cannot be read (${code}). ${as}` };
  }
}

function locationOf(folder: string): StoreLocation {
  const name = `the store in ${folder}`;
  return {
    url: `lmdb:${folder}`,
    name,
    folder,
    missing: () => missing(folder),
    async open(parts) {
      try {
        // Loaded here, so that commands without a store need not wait for the library.
        const { openLmdb } = await import('./lmdb.js');
        return await openLmdb({ ...parts, folder });
      } catch (error) {
        throw new StoreUnavailable(`The store in ${folder} cannot be opened (${reasonOf(error)}).`);
      }
    },
  };
}

/** LMDB. */
export const lmdbKind: EngineKind = {
  short: 'lmdb:<folder>',
  form: 'lmdb:<folder>, such as lmdb:./data/store',
  shared: false,
  locate(url) {
    const folder = folderIn(url);
    return folder === undefined ? undefined : { location: locationOf(folder) };
  },
};
