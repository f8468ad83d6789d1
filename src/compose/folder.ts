/**
 * The mapped files in the data folder: made before the workers start, remade after damage while they run, and
 * replaced by private ones if they cannot be used.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Configuration } from '../configuration.js';
import { indexedFrom } from '../explore/exploration.js';
import { isImmediate, type InstalledModel } from '../models/embedder.js';
import { native } from '../native/addon.js';
import type { Log } from '../system/log.js';
import { systemRandomness } from '../system/randomness.js';
import { isNoRoom, reasonOf } from '../system/reason.js';

/** Path of the machine's limits. */
export const limitsFile = (dataFolder: string): string => join(dataFolder, 'limits');

/** Path of the machine's previews of fragments. */
export const previewsFile = (dataFolder: string): string => join(dataFolder, 'previews');

/** Path of the fragments' vectors. */
export const vectorsFile = (dataFolder: string): string => join(dataFolder, 'vectors');

/** Path of the index of the fragments' vectors. */
const indexFile = (dataFolder: string): string => `${vectorsFile(dataFolder)}.index`;

/** Path of the vectors that models have computed for texts. */
export const embeddingsFile = (dataFolder: string): string => join(dataFolder, 'embeddings');

/** Dependencies of the files. */
interface FolderParts {
  readonly configuration: Configuration;
  readonly models: readonly InstalledModel[];
  readonly method: string;
  readonly log: Log;
}

/** One mapped file. */
interface MappedFile {
  readonly path: string;
  /** Creates it if it is missing, truncated, or of another format. @throws Error if it cannot */
  readonly make: () => void;
  /**
   * @throws Error if no process can use it
   */
  readonly open: () => unknown;
  /** True if each start creates it empty. */
  readonly isEmptied: boolean;
}

function canOpen({ open }: MappedFile): boolean {
  try {
    open();
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes a file. On a full disk, a file that would be emptied gives its own room to the new one. If that is
 * not enough the server starts nevertheless: it uses the file as it is, or each worker one of its own.
 * @throws Error if it cannot be made for another reason
 */
export function makeWithRoom(
  { path, make, isEmptied }: Pick<MappedFile, 'path' | 'make' | 'isEmptied'>,
  log: Pick<Log, 'error'>,
): void {
  let failure = noRoomFor(make);
  if (failure !== undefined && isEmptied) {
    rmSync(path, { force: true });
    failure = noRoomFor(make);
  }
  if (failure === undefined) return;
  log.error({ file: path, reason: failure }, 'a mapped file cannot be made: the disk is full');
}

/** Makes a file; the reason if the disk has no room for it. */
function noRoomFor(make: () => void): string | undefined {
  try {
    make();
    return undefined;
  } catch (error) {
    if (isNoRoom(error)) return reasonOf(error);
    throw error;
  }
}

/** The mapped files of the data folder, in the parent, which creates them. */
export class MappedFiles {
  private readonly files: readonly MappedFile[];
  /** Inode and length of each file at the last check: we never shorten one. */
  private readonly seen = new Map<string, { readonly ino: number; readonly size: number }>();

  constructor(private readonly parts: FolderParts) {
    const { configuration, models, method, log } = parts;
    const { dataFolder, embedCacheMb, serve } = configuration;
    const limits = limitsFile(dataFolder);
    const previews = previewsFile(dataFolder);
    const vectors = vectorsFile(dataFolder);
    const embeddings = embeddingsFile(dataFolder);
    const dimensions = models.filter((model) => !isImmediate(model)).map(({ dimension }) => dimension);
    const dimension = Math.max(1, ...dimensions);
    this.files = [
      {
        path: limits,
        make: () => native.createLimits(limits, systemRandomness(16)),
        open: () => new native.Access(limits, []),
        isEmptied: true,
      },
      {
        path: previews,
        make: () => native.createPreviews(previews),
        open: () => new native.Previews(previews),
        isEmptied: true,
      },
      {
        path: vectors,
        make: () => makeVectors(vectors, method, log),
        open: () => openVectors(vectors, method),
        isEmptied: false,
      },
      {
        path: indexFile(dataFolder),
        make: () => native.prepareIndex(vectors, method),
        open: () => native.prepareIndex(vectors, method),
        isEmptied: false,
      },
      ...(serve.includes('fuse')
        ? [
            {
              path: embeddings,
              make: () => prepareEmbeddings(embeddings, embedCacheMb, dimension, log),
              open: () => undefined,
              isEmptied: false,
            },
          ]
        : []),
    ];
  }

  /**
   * Prepares the workers' files in the locked folder. `isShared`: another server's workers still use them for
   * limits and previews, so usable files are left as they are.
   * @throws Error if it cannot.
   */
  prepare(isShared: boolean): void {
    for (const file of this.files) {
      if (!isShared || !file.isEmptied || !canOpen(file)) makeWithRoom(file, this.parts.log);
      this.note(file.path);
    }
  }

  /**
   * Remakes files that were truncated, removed, or changed in format since. Reading a page past the end of a
   * truncated file kills the reader, so every worker that starts with such a file would die. Workers that
   * still map the former file die once, too, when they reach such a page. `thorough`: opens each file, which
   * holds descriptors until garbage is collected; else checks only their lengths.
   */
  repair(thorough: boolean): void {
    for (const file of this.files) {
      const { path, make } = file;
      try {
        if (this.isDamaged(file, thorough)) {
          make();
          this.parts.log.error({ file: path }, 'a mapped file was damaged and is created again');
        }
        this.note(path);
      } catch (error) {
        const reason = reasonOf(error);
        this.parts.log.error({ file: path, reason }, 'a mapped file was damaged and cannot be created again');
      }
    }
  }

  private isDamaged(file: MappedFile, thorough: boolean): boolean {
    const { path } = file;
    const before = this.seen.get(path);
    // It could not be made, or is not wanted.
    if (before === undefined) return false;
    const now = statSync(path, { throwIfNoEntry: false });
    if (now === undefined || (now.ino === before.ino && now.size < before.size)) return true;
    return thorough && !canOpen(file);
  }

  private note(path: string): void {
    const now = statSync(path, { throwIfNoEntry: false });
    if (now !== undefined) this.seen.set(path, { ino: now.ino, size: now.size });
  }
}

/**
 * @throws Error if the file is shorter than its header says
 */
function openVectors(path: string, method: string): void {
  const vectors = new native.Vectors(path, method, indexedFrom);
  vectors.count(vectors.state().position);
}

/**
 * Keeps a usable file of vectors; otherwise creates a new one, to which every process that maps it switches.
 */
function makeVectors(path: string, method: string, log: Log): void {
  if (!native.prepareVectors(path, method)) {
    log.info({ method }, 'fragments get new vectors: those in the file were made by another method');
    return;
  }
  try {
    openVectors(path, method);
  } catch {
    new native.Vectors(path, method, indexedFrom).reset();
  }
}

/**
 * Opens a mapped file for a worker. If it cannot be used, the worker gets a private one, which is removed at
 * its exit: its limits then hold for this worker alone, and no other knows its previews.
 * @throws Error if it cannot have a private one either.
 */
export function withFile<Opened>(
  file: string,
  make: (path: string) => unknown,
  open: (path: string) => Opened,
  log: Pick<Log, 'error'>,
): Opened {
  try {
    return open(file);
  } catch (error) {
    log.error({ file, reason: reasonOf(error) }, 'a file cannot be used: this worker goes on with its own');
  }
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-worker-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const own = join(folder, 'file');
  make(own);
  return open(own);
}

/** Creates the cache of embeddings, or leaves none: without it texts are computed each time. */
function prepareEmbeddings(file: string, megabytes: number, dimension: number, log: Log): void {
  if (megabytes === 0) {
    rmSync(file, { force: true });
    return;
  }
  try {
    native.prepareEmbeddings(file, megabytes * 2 ** 20, dimension);
  } catch (error) {
    rmSync(file, { force: true });
    const reason = reasonOf(error);
    log.warn({ file, megabytes, reason }, 'computed vectors are not kept: EMBED_CACHE_MB does not fit here');
  }
}
