/**
 * The mapped files that Fusegate keeps in the data folder: how they are made before the workers start, made
 * again where one was damaged while they ran, and done without where one cannot be used.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Configuration } from '../configuration.js';
import { indexedFrom } from '../door/exploration.js';
import { isImmediate, type InstalledModel } from '../models/embedder.js';
import { native } from '../native/addon.js';
import type { Log } from '../system/log.js';
import { systemRandomness } from '../system/randomness.js';
import { reasonOf } from '../system/reason.js';

/** The file of the data folder that holds the machine's limits. */
export const limitsFile = (dataFolder: string): string => join(dataFolder, 'limits');

/** The file of the data folder that holds the machine's previews of fragments. */
export const previewsFile = (dataFolder: string): string => join(dataFolder, 'previews');

/** The file of the data folder that holds the vectors of the fragments. */
export const vectorsFile = (dataFolder: string): string => join(dataFolder, 'vectors');

/** The file of the data folder that holds the index of the fragments' vectors. */
export const indexFile = (dataFolder: string): string => `${vectorsFile(dataFolder)}.index`;

/** The file of the data folder that holds the vectors of texts that models have computed. */
export const embeddingsFile = (dataFolder: string): string => join(dataFolder, 'embeddings');

/** Sizes that the files of the data folder are made for. */
interface FolderParts {
  readonly configuration: Configuration;
  readonly models: readonly InstalledModel[];
  readonly method: string;
  readonly log: Log;
}

/** One mapped file. */
interface MappedFile {
  readonly path: string;
  /** Makes it where it is missing, of another form or cut. @throws Error when it cannot */
  readonly make: () => void;
  /** @throws Error where nobody can use it */
  readonly open: () => unknown;
  /** True if each start makes it again, empty. */
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

/** The mapped files of the data folder, in the parent, which makes them. */
export class MappedFiles {
  private readonly files: readonly MappedFile[];
  /** Inode and length of each file when it was looked at last: it never becomes shorter by our own hand. */
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
   * Makes what the workers need, in the folder that is locked. `isShared`: another server's workers still
   * count by the files and find previews in them, so that what can be used is kept.
   * @throws Error when it cannot.
   */
  prepare(isShared: boolean): void {
    for (const file of this.files) {
      if (!isShared || !file.isEmptied || !canOpen(file)) file.make();
      this.note(file.path);
    }
  }

  /**
   * Makes those again that were damaged since: cut, removed, or of another form. A page past the end of a cut
   * file kills whoever reads it, and a worker that began with that file would end alike. Workers that still
   * map the former file end once, too, when they come to such a page. `thorough`: each is opened, which takes
   * descriptors until memory is tidied up; else their lengths are looked at.
   */
  repair(thorough: boolean): void {
    for (const file of this.files) {
      if (!this.isDamaged(file, thorough)) continue;
      const { path, make } = file;
      try {
        make();
        this.parts.log.error({ file: path }, 'a mapped file was damaged, and is made again');
      } catch (error) {
        const reason = reasonOf(error);
        this.parts.log.error({ file: path, reason }, 'a mapped file was damaged, and cannot be made again');
      }
    }
    for (const { path } of this.files) this.note(path);
  }

  private isDamaged(file: MappedFile, thorough: boolean): boolean {
    const { path } = file;
    const before = this.seen.get(path);
    // One that could not be made, or is not wanted.
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

/** @throws Error where the file is shorter than what it says that it holds */
function openVectors(path: string, method: string): void {
  const vectors = new native.Vectors(path, method, indexedFrom);
  vectors.count(vectors.state().position);
}

/** Keeps the file of vectors where it can be used; else there is a new one, which all who map it turn to. */
function makeVectors(path: string, method: string, log: Log): void {
  if (!native.prepareVectors(path, method)) {
    log.info({ method }, 'fragments get new vectors: those of the file were made in another way');
    return;
  }
  try {
    openVectors(path, method);
  } catch {
    new native.Vectors(path, method, indexedFrom).reset();
  }
}

/**
 * What a worker does with a mapped file; where that cannot be used, with one of its own, which nobody else
 * has and which ends with it: its limits then hold for this worker alone, its previews are known to no other.
 * @throws Error where it can have none of its own either.
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

/** Makes the cache of embeddings, or leaves none: without one texts are computed each time. */
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
