/**
 * The store's engine on LMDB (the lmdb package): one file, many processes, one writer at a time.
 *
 * A transaction is durable when its promise resolves: LMDB writes the pages, syncs them (fdatasync), then
 * writes and syncs the meta page that makes them count. `overlappingSync` would let other processes see a
 * transaction before that, so it is off. Readers use snapshots of the memory map and wait for nobody.
 */
import { open, type RootDatabase } from 'lmdb';
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import type { Engine, KeyRange, ReadRecord, Write } from './engine.js';
import type { Entry, Reading, Unavailable } from './store.js';

/** Address space kept for the file to grow into. The file itself is as large as what is in it. */
const mapBytes = 2 ** 40;

/** How long after a failed transaction the next one is tried (ms). */
const pauseAfterFailureMs = 250;

/** What the engine is made of. */
export interface LmdbParts {
  /** Folder of the environment; made where it is missing. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error' | 'info'>;
}

type Environment = RootDatabase<Uint8Array, Uint8Array>;

/** Folders that are open in this process: LMDB must not open one twice (lmdb.h, "Caveats"). */
const openFolders = new Set<string>();

function openEnvironment(folder: string): Environment {
  return open<Uint8Array, Uint8Array>({
    path: folder,
    encoding: 'binary',
    keyEncoding: 'binary',
    overlappingSync: false,
    separateFlushed: false,
    cache: false,
    compression: false,
    mapSize: mapBytes,
    maxReaders: 1024,
  });
}

/**
 * Opens LMDB in a folder.
 * @throws Error when the folder cannot be written or holds something else.
 */
export function openLmdb(parts: LmdbParts): Engine {
  return new LmdbEngine(parts);
}

function read<Value>(value: Value): Reading<Value> {
  return { kind: 'read', value };
}

class LmdbEngine implements Engine {
  readonly name = 'LMDB';
  private environment: Environment | undefined;
  private closed = false;
  private failedMs = -Infinity;
  private failure: Unavailable = { kind: 'unavailable', reason: 'The store is being opened.' };

  constructor(private readonly parts: LmdbParts) {
    const { folder } = parts;
    if (openFolders.has(folder)) throw new Error(`The store in ${folder} is open in this process already`);
    this.environment = openEnvironment(folder);
    openFolders.add(folder);
  }

  get(key: Uint8Array): Promise<Reading<Uint8Array | undefined>> {
    const environment = this.environment ?? this.reopen();
    if (environment === undefined) return Promise.resolve(this.failure);
    return Promise.resolve(read(environment.getBinary(key)));
  }

  scan(range: KeyRange): Promise<Reading<readonly Entry[]>> {
    const environment = this.environment ?? this.reopen();
    if (environment === undefined) return Promise.resolve(this.failure);
    return Promise.resolve(read(entries(environment, range)));
  }

  transact(
    _keys: readonly Uint8Array[],
    decide: (read: ReadRecord) => readonly Write[],
  ): Promise<Unavailable | undefined> {
    return this.write((environment) => {
      for (const { key, value } of decide((key) => environment.getBinary(key))) {
        if (value === undefined) void environment.remove(key);
        else void environment.put(key, value);
      }
    });
  }

  async removeRange(range: KeyRange): Promise<Reading<number>> {
    let removed = 0;
    const unavailable = await this.write((environment) => {
      const found = entries(environment, range);
      for (const { key } of found) void environment.remove(key);
      removed = found.length;
    });
    return unavailable ?? read(removed);
  }

  count(): Promise<Reading<number>> {
    const environment = this.environment ?? this.reopen();
    if (environment === undefined) return Promise.resolve(this.failure);
    return Promise.resolve(read(environment.getKeysCount()));
  }

  async close(): Promise<void> {
    const { environment } = this;
    this.environment = undefined;
    this.closed = true;
    this.failure = { kind: 'unavailable', reason: 'The store is closed.' };
    await environment?.close();
    openFolders.delete(this.parts.folder);
  }

  /** Runs `step` in a write transaction; resolves when it is on disk. */
  private async write(step: (environment: Environment) => void): Promise<Unavailable | undefined> {
    const environment = this.environment ?? this.reopen();
    if (environment === undefined) return this.failure;
    let thrown: { readonly error: unknown } | undefined;
    try {
      await environment.transaction(() => {
        try {
          step(environment);
        } catch (error) {
          thrown = { error };
        }
      });
    } catch (error) {
      return this.fail(environment, error);
    }
    if (thrown !== undefined) throw thrown.error;
    return undefined;
  }

  /**
   * A transaction did not reach the disk. What the kernel holds of it can no longer be trusted, so the
   * environment is closed, which drops the map, and opened anew before the next transaction.
   */
  private async fail(environment: Environment, error: unknown): Promise<Unavailable> {
    const reason = await causeOf(error);
    const { clock, log } = this.parts;
    this.failure = { kind: 'unavailable', reason };
    log.error({ reason, retryInMs: pauseAfterFailureMs }, 'the store could not write; it is opened anew');
    this.environment = undefined;
    this.failedMs = clock.monotonicMs();
    await environment.close();
    return this.failure;
  }

  /** The environment opened again, once some time has passed since it failed. */
  private reopen(): Environment | undefined {
    const { clock, folder, log } = this.parts;
    if (this.closed || clock.monotonicMs() - this.failedMs < pauseAfterFailureMs) return undefined;
    try {
      this.environment = openEnvironment(folder);
    } catch (error) {
      this.failedMs = clock.monotonicMs();
      this.failure = { kind: 'unavailable', reason: sentence(error) };
      return undefined;
    }
    log.info({}, 'the store is open again');
    return this.environment;
  }
}

/** The operating system's reason behind a failed commit, which lmdb tells by a promise of its own. */
async function causeOf(error: unknown): Promise<string> {
  if (!(error instanceof Error) || !('commitError' in error)) return sentence(error);
  return Promise.resolve(error.commitError).then(() => sentence(error), sentence);
}

function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function entries(environment: Environment, { from, to, limit, reverse }: KeyRange): Entry[] {
  const range = reverse === true ? { start: to, end: from, reverse: true } : { start: from, end: to };
  return [...environment.getRange({ ...range, limit, snapshot: true })].map(({ key, value }) => ({
    key,
    value,
  }));
}
