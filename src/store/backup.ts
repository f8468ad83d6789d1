/**
 * Backups: all records of a store at one moment, in a file, and a manifest that describes it
 * (docs/backup.md). A backup never contains the master secret.
 */
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { reasonOf } from '../system/reason.js';
import { makeFolder, replaceFile, syncPath } from '../system/sync.js';
import { aboutRecords, fillStore, unfinishedSource, type CopyOutcome, type Progress } from './copy.js';
import type { Engine } from './engine.js';
import { frameHead, Tally, walkOver, type Summary, type Walk } from './records.js';
import { maxKeyBytes, maxValueBytes, StoreUnavailable, whenUnavailable, type Entry } from './store.js';

/** A backup's description, in `manifest.json`. */
export interface Manifest {
  readonly format: 'fusegate-backup';
  readonly version: 1;
  /** Version of the Fusegate that made it. */
  readonly fusegate: string;
  /** Just before the moment of the snapshot. RFC 3339, UTC. */
  readonly made_at: string;
  readonly records: number;
  /** Size of the file of records in bytes. */
  readonly bytes: number;
  /** SHA-256 of the file of records, in hex. */
  readonly sha256: string;
}

/** Outcome of making a backup. `reason`s are sentences for the operator. */
export type BackupOutcome =
  | { readonly kind: 'made'; readonly manifest: Manifest }
  /** All of it was removed. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Names in a backup's folder. The manifest comes last: a folder without one holds no backup. */
const recordsName = 'records';
const manifestName = 'manifest.json';
const draftName = `${manifestName}.new`;

/**
 * Makes a backup's folder, and its file of records exclusively: of two backups that begin in one folder, one
 * gets it. `wrong` is a sentence.
 */
function takeFolder(folder: string): { readonly file: number } | { readonly wrong: string } {
  try {
    makeFolder(folder, 0o700);
    const [found] = readdirSync(folder);
    if (found === undefined) return { file: openSync(join(folder, recordsName), 'wx', 0o600) };
    return { wrong: `${folder} is not empty: it holds ${found}. Name a new folder.` };
  } catch (error) {
    return { wrong: `The folder ${folder} cannot be made (${reasonOf(error)}).` };
  }
}

/** Writes all records of an engine to a new or empty folder; the engine may be in use. */
export async function makeBackup(
  engine: Engine,
  folder: string,
  about: Pick<Manifest, 'fusegate' | 'made_at'>,
  progress: Progress,
): Promise<BackupOutcome> {
  const unfinished = await whenUnavailable(unfinishedSource(engine), ({ message }) => message);
  if (unfinished !== undefined) return { kind: 'failed', reason: unfinished };
  const taken = takeFolder(folder);
  if ('wrong' in taken) return { kind: 'failed', reason: taken.wrong };
  try {
    const written = await writeRecords(engine, taken.file, progress);
    const { records, bytes, digest: sha256 } = written;
    const manifest: Manifest = { format: 'fusegate-backup', version: 1, ...about, records, bytes, sha256 };
    writeManifest(folder, manifest);
    return { kind: 'made', manifest };
  } catch (error) {
    removeFiles(folder);
    if (error instanceof StoreUnavailable) return { kind: 'failed', reason: error.message };
    return { kind: 'failed', reason: `The backup cannot be written (${reasonOf(error)}).` };
  }
}

/** Removes the files of a failed backup. */
function removeFiles(folder: string): void {
  for (const name of [recordsName, draftName, manifestName]) rmSync(join(folder, name), { force: true });
}

/** Writes the records to a file, and closes it. */
async function writeRecords(engine: Engine, file: number, progress: Progress): Promise<Summary> {
  try {
    const about = await aboutRecords(engine);
    const walked = await engine.snapshot((scan) =>
      walkOver(scan)(({ bytes, records }) => {
        writeAll(file, bytes);
        progress('backup', records, about);
      }),
    );
    fsyncSync(file);
    return walked;
  } finally {
    closeSync(file);
  }
}

/** One call may write fewer bytes than it gets. */
function writeAll(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.byteLength;) at += writeSync(file, bytes, at);
}

function writeManifest(folder: string, manifest: Manifest): void {
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
  replaceFile(join(folder, manifestName), join(folder, draftName), text);
  syncPath(dirname(folder));
}

/** Reads a backup's manifest; `wrong` is a sentence. */
export function readManifest(folder: string): { readonly manifest: Manifest } | { readonly wrong: string } {
  const path = join(folder, manifestName);
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    return { wrong: `${folder} holds no whole backup: ${manifestName} cannot be read (${reasonOf(error)}).` };
  }
  const { format, version, fusegate, made_at, records, bytes, sha256 } = Object(parsed) as Partial<
    Record<keyof Manifest, unknown>
  >;
  if (format !== 'fusegate-backup') return { wrong: `${path} is not a manifest of a Fusegate backup.` };
  if (version !== 1) return { wrong: `The backup in ${folder} was made by a later version of Fusegate.` };
  const whole = Number.isSafeInteger(records) && Number.isSafeInteger(bytes) && typeof sha256 === 'string';
  if (!whole || typeof fusegate !== 'string' || typeof made_at !== 'string') {
    return { wrong: `${path} lacks members that a manifest must have.` };
  }
  return { manifest: parsed as Manifest };
}

/** Bytes read at a time. */
const chunkBytes = 4 * 1024 * 1024;

/** A walk over a backup's file. */
function fileWalk(path: string): Walk {
  return async (visit) => {
    const tally = new Tally();
    const file = await open(path, 'r').catch((error: unknown) => {
      throw damaged(path, reasonOf(error));
    });
    try {
      let rest: Buffer = Buffer.alloc(0);
      for (;;) {
        const chunk = Buffer.allocUnsafe(chunkBytes);
        const { bytesRead } = await file.read(chunk, 0, chunkBytes);
        if (bytesRead === 0) break;
        const read = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
        const taken = takeEntries(read);
        if ('wrong' in taken) throw damaged(path, taken.wrong);
        rest = taken.rest;
        const { entries } = taken;
        tally.add(entries.length, read.subarray(0, read.byteLength - rest.byteLength));
        await visit({ entries, records: tally.records });
      }
      if (rest.byteLength > 0) throw damaged(path, 'it ends within a record');
      return tally.summary();
    } catch (error) {
      throw error instanceof StoreUnavailable ? error : damaged(path, reasonOf(error));
    } finally {
      await file.close();
    }
  };
}

function damaged(path: string, reason: string): StoreUnavailable {
  return new StoreUnavailable(`The backup's file ${path} cannot be used: ${reason}.`);
}

/** Most bytes of an engine's key, with the byte of its space, and of its value, with some slack. */
const mostKeyBytes = maxKeyBytes + 1;
const mostValueBytes = maxValueBytes + 65_536;

/** Parses the whole records at the start of a buffer. */
function takeEntries(
  bytes: Buffer,
): { readonly entries: Entry[]; readonly rest: Buffer } | { readonly wrong: string } {
  const entries: Entry[] = [];
  let at = 0;
  while (at + frameHead <= bytes.byteLength) {
    const [keyBytes, valueBytes] = [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)];
    if (keyBytes === 0 || keyBytes > mostKeyBytes || valueBytes > mostValueBytes) {
      return { wrong: 'it contains something that is not a record' };
    }
    const begin = at + frameHead;
    const end = begin + keyBytes + valueBytes;
    if (end > bytes.byteLength) break;
    entries.push({
      key: bytes.subarray(begin, begin + keyBytes),
      value: bytes.subarray(begin + keyBytes, end),
    });
    at = end;
  }
  return { entries, rest: bytes.subarray(at) };
}

/** Passes a backup's records to `see`; returns a sentence if its file does not match its manifest. */
export async function checkBackup(
  folder: string,
  manifest: Manifest,
  progress: Progress,
  see: (entry: Entry) => void,
): Promise<string | undefined> {
  const path = join(folder, recordsName);
  const read = fileWalk(path)(({ entries, records }) => {
    entries.forEach(see);
    progress('check', records, manifest.records);
  });
  const summary = await whenUnavailable(read, ({ message }) => message);
  if (typeof summary === 'string') return summary;
  if (summary.digest === manifest.sha256) return undefined;
  return damaged(path, 'it is not what the manifest says, by its SHA-256').message;
}

/**
 * Writes a checked backup to an engine, which must be empty. `finish` brings the records up to date before
 * any server uses them; it returns a sentence if it cannot.
 */
export function restoreBackup(
  folder: string,
  manifest: Manifest,
  to: Engine,
  progress: Progress,
  finish: () => Promise<string | undefined>,
): Promise<CopyOutcome> {
  const walk = fileWalk(join(folder, recordsName));
  const source = { name: 'restore', walk, about: manifest.records };
  const changed = ({ digest }: Summary): Promise<string | undefined> =>
    Promise.resolve(digest === manifest.sha256 ? undefined : `${folder} changed meanwhile.`);
  return fillStore(source, to, progress, changed, finish);
}
