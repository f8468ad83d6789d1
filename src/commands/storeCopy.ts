/** `fusegate store copy FROM TO`: copies every record of one store to another and verifies the copy. */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { copyStore, type CopyOutcome } from '../store/copy.js';
import type { Engine, Located, StoreLocation, StoreParts } from '../store/engine.js';
import { parseStoreUrl } from '../store/open.js';
import { reasonOf } from '../system/reason.js';
import { progressOn } from './progress.js';
import { whenUnavailable, StoreUnavailable } from '../store/store.js';

/** Dependencies of the command. */
export interface StoreCopyParts extends StoreParts {
  /** Locks the parent of a store's folder; returns a sentence if that fails. */
  readonly lockFolder: (folder: string) => string | undefined;
  /** The stream for progress: a bar on a terminal, lines elsewhere. */
  readonly progressTo: NodeJS.WriteStream;
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
}

/** A store from the command line: its URL, or `file:` and the path of a file that contains it. */
function locate(name: 'FROM' | 'TO', text: string): Located {
  const path = /^file:(.+)$/s.exec(text)?.[1];
  try {
    const url = path === undefined ? text : readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    const parsed = parseStoreUrl(url);
    return 'wrong' in parsed ? { wrong: `${name} ${parsed.wrong}.` } : parsed;
  } catch (error) {
    return { wrong: `${name} cannot be read (${reasonOf(error)}).` };
  }
}

/** Copies a store; resolves to the exit code: 0 if the copy is complete and verified. */
export async function storeCopy(fromText: string, toText: string, parts: StoreCopyParts): Promise<number> {
  const outcome = await copyBetween(fromText, toText, parts);
  if (outcome.kind !== 'copied') {
    parts.printError(outcome.reason);
    if (outcome.kind === 'failed') parts.printError('The target is unfinished, and no server will use it.');
    return 1;
  }
  parts.print(`Copied and verified ${outcome.records} records (SHA-256 ${outcome.digest}).`);
  return 0;
}

async function copyBetween(fromText: string, toText: string, parts: StoreCopyParts): Promise<CopyOutcome> {
  const from = locate('FROM', fromText);
  const to = locate('TO', toText);
  if ('wrong' in from) return { kind: 'refused', reason: from.wrong };
  if ('wrong' in to) return { kind: 'refused', reason: to.wrong };
  const missing = from.location.missing();
  if (missing !== undefined) return { kind: 'refused', reason: missing.reason };
  const locked = lockBoth([from.location, to.location], parts.lockFolder);
  if (locked !== undefined) return { kind: 'refused', reason: locked };
  const refused = ({ message }: StoreUnavailable) => ({ kind: 'refused', reason: message }) as const;
  const source = await whenUnavailable(from.location.open(parts), refused);
  if ('reason' in source) return source;
  const target = await whenUnavailable(to.location.open(parts), refused);
  if (!('reason' in target)) return copyOpen(source, target, parts);
  await source.close();
  return target;
}

/** Locks both stores: a running server would change what is copied. */
function lockBoth(
  locations: readonly StoreLocation[],
  lockFolder: (folder: string) => string | undefined,
): string | undefined {
  const folders = locations.flatMap(({ folder }) => (folder === null ? [] : [dirname(folder)]));
  for (const folder of new Set(folders)) {
    const wrong = lockFolder(folder);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

async function copyOpen(source: Engine, target: Engine, parts: StoreCopyParts): Promise<CopyOutcome> {
  const display = progressOn(parts.progressTo);
  try {
    return await copyStore(source, target, display.progress);
  } finally {
    display.end();
    await source.close();
    await target.close();
  }
}
