/**
 * The store's engine on LMDB (the lmdb package): one file, many processes, one writer at a time.
 *
 * A transaction is durable when its promise resolves: LMDB writes the pages, syncs them (fdatasync), then
 * writes and syncs the meta page that makes them valid. `overlappingSync` would let other processes see a
 * transaction before that, so it is off. Readers use snapshots of the memory map and never wait.
 */
import { existsSync, linkSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { open, type RootDatabase, type Transaction } from 'lmdb';
import { native } from '../../../native/addon.js';
import type { Gate } from '../../../native/index.js';
import type { Clock, Timer } from '../../../system/clock.js';
import type { Log } from '../../../system/log.js';
import { memoryBytes } from '../../../system/memory.js';
import { reasonOf } from '../../../system/reason.js';
import { makeFolder, syncPath } from '../../../system/sync.js';
import type { Engine, KeyRange, ReadRecord, Scan, StoreParts, Write } from '../../engine.js';
import { StoreUnavailable, type Entry } from '../../store.js';

/** Value of the record under key 0: the format of keys and values. */
const formatOfStore = 1;

/** Address space reserved for the file to grow into. The file itself is only as large as its contents. */
const mapBytes = 2 ** 40;

/** Pause between a failed transaction and the next try (ms). */
const pauseAfterFailureMs = 250;

/** Interval of polling the gate (ms). */
const gatePollMs = 1;

/** Most keys looked up in one turn of the event loop: about half a millisecond. */
const keysInTurn = 100;

/** Parts of the engine. */
export interface LmdbParts extends Pick<StoreParts, 'isServer'> {
  /** Folder of the environment; created if missing. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error' | 'info'>;
  /** Memory to assume (bytes); absent: the machine's. */
  readonly memory?: number;
}

type Environment = RootDatabase<Uint8Array, Uint8Array>;

/** Folders that are open in this process: LMDB must not open one twice (lmdb.h, "Caveats"). */
const openFolders = new Set<string>();

/** The share of the memory above which a store leaves too little for other files. */
const largeShare = 1 / 2;

/**
 * Opens an environment as the store does, and nothing else. `noReadAhead`: the system reads each page without
 * its neighbours, which slows scans down.
 */
export function openEnvironment(folder: string, noReadAhead = false): Environment {
  const options = {
    path: folder,
    encoding: 'binary',
    keyEncoding: 'binary',
    overlappingSync: false,
    mapSize: mapBytes,
    maxReaders: 1024,
    // The package's types leave it out.
    noReadAhead,
  } as const;
  return open<Uint8Array, Uint8Array>(options);
}

/**
 * Creates the environment's file if there is none. It is complete and synced before it gets its name, so
 * neither a power cut nor another process ever finds a part of one. The name is synced when this resolves,
 * whichever process created it.
 */
async function create(folder: string): Promise<void> {
  const file = join(folder, 'data.mdb');
  makeFolder(folder, 0o700);
  if (existsSync(file)) {
    syncPath(folder);
    return;
  }
  const temporary = mkdtempSync(join(folder, 'new-'));
  try {
    const environment = openEnvironment(temporary);
    await environment.transaction(() => void environment.put(Buffer.of(0), Buffer.of(formatOfStore)));
    await environment.close();
    // A copy: LMDB identifies environments by their file's inode, and this one's locks are in the temporary
    // folder.
    const whole = join(temporary, 'whole.mdb');
    writeFileSync(whole, readFileSync(join(temporary, 'data.mdb')), { mode: 0o600 });
    syncPath(whole);
    linkSync(whole, file);
  } catch (error) {
    // Another process created it first.
    if (!existsSync(file)) throw error;
  } finally {
    rmSync(temporary, { recursive: true });
  }
  syncPath(folder);
  syncPath(dirname(folder));
}

/**
 * Opens LMDB in a folder; creates it if there is none.
 * @throws Error if the folder cannot be written or holds something else.
 */
export async function openLmdb(parts: LmdbParts): Promise<Engine> {
  await create(parts.folder);
  const engine = new LmdbEngine(parts);
  try {
    await engine.open();
    const format = await engine.get(Buffer.of(0));
    if (format?.[0] === formatOfStore) return engine;
    throw new Error(`The store in ${parts.folder} was written by a later version of Fusegate`);
  } catch (error) {
    await engine.close();
    throw error;
  }
}

class LmdbEngine implements Engine {
  readonly triesAgain = false;
  private environment: Environment | undefined;
  private failure = new StoreUnavailable('The store is being opened.');
  private retry: Timer | undefined;
  private closed = false;

  private readonly writing: Gate;

  constructor(private readonly parts: LmdbParts) {
    const { folder } = parts;
    if (openFolders.has(folder)) throw new Error(`The store in ${folder} is open in this process already`);
    this.writing = new native.Gate(folder);
    openFolders.add(folder);
  }

  get(key: Uint8Array): Promise<Uint8Array | undefined> {
    const { environment } = this;
    if (environment === undefined) return Promise.reject(this.failure);
    environment.resetReadTxn(); // Else reads may use an old snapshot for a while.
    return Promise.resolve(environment.getBinary(key));
  }

  async getMany(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]> {
    const found: (Uint8Array | undefined)[] = [];
    for (let from = 0; from < keys.length; from += keysInTurn) {
      if (from > 0) await setImmediate();
      const environment = this.latest();
      for (const key of keys.slice(from, from + keysInTurn)) found.push(environment.getBinary(key));
    }
    return found;
  }

  async scan(range: KeyRange): Promise<readonly Entry[]> {
    // LMDB reads synchronously: without this a loop over pages would block the process.
    await setImmediate();
    return entries(this.latest(), range);
  }

  async snapshot<Value>(use: (scan: Scan) => Promise<Value>): Promise<Value> {
    const environment = this.latest();
    const view = environment.useReadTransaction();
    try {
      return await use(async (range) => {
        await setImmediate();
        if (this.environment !== environment) throw this.failure;
        return entries(environment, range, view);
      });
    } finally {
      if (this.environment === environment) view.done();
    }
  }

  transact(
    _keys: () => readonly Uint8Array[],
    decide: (read: ReadRecord) => readonly Write[],
  ): Promise<void> {
    return this.write((environment) => {
      for (const { key, value } of decide((key) => environment.getBinary(key))) {
        if (value === undefined) void environment.remove(key);
        else void environment.put(key, value);
      }
    });
  }

  async removeRange(range: KeyRange): Promise<number> {
    let removed = 0;
    await this.write((environment) => {
      const found = entries(environment, range);
      for (const { key } of found) void environment.remove(key);
      removed = found.length;
    });
    return removed;
  }

  count(): Promise<number> {
    const { environment } = this;
    if (environment === undefined) return Promise.reject(this.failure);
    // Key 0, the record of the format, is the engine's own.
    return Promise.resolve(environment.getKeysCount({ start: Buffer.of(1) }));
  }

  async close(): Promise<void> {
    const { environment } = this;
    this.closed = true;
    this.retry?.stop();
    this.environment = undefined;
    this.failure = new StoreUnavailable('The store is closed.');
    if (environment !== undefined) await this.closeUndisturbed(environment);
    this.writing.close();
    openFolders.delete(this.parts.folder);
  }

  /**
   * Closes the environment while no process opens it. The last process to close it destroys the locks in its
   * file; a process that opens it meanwhile would use them as if they were valid
   * (`test/store/opening.test.ts` shows it).
   */
  private async closeUndisturbed(environment: Environment): Promise<void> {
    while (!this.writing.tryEnter()) await this.parts.clock.sleep(gatePollMs);
    try {
      await environment.close();
    } finally {
      this.writing.leave();
    }
  }

  /**
   * Opens the environment while no process writes. The lmdb package's LMDB reads the number of the last
   * transaction on opening and a moment later sets it for every process. A transaction that commits in
   * between is overwritten by the next one (OpenLDAP ITS#9496, fixed there; `test/store/opening.test.ts`
   * shows it).
   */
  async open(): Promise<void> {
    const { clock, folder } = this.parts;
    const gate = new native.Gate(folder);
    try {
      while (!gate.tryClose()) await clock.sleep(gatePollMs);
      while (!gate.tryBeAlone()) await clock.sleep(gatePollMs);
      if (!this.closed) this.environment = openEnvironment(folder, this.readsAnywhere());
    } finally {
      gate.close();
    }
  }

  /** The environment, in which reads see the last transaction. @throws StoreUnavailable while it is closed */
  private latest(): Environment {
    const { environment } = this;
    if (environment === undefined) throw this.failure;
    environment.resetReadTxn();
    return environment;
  }

  /**
   * True in the server of a large store: pages read ahead would evict the vectors of exploration and the
   * records in use from memory.
   */
  private readsAnywhere(): boolean {
    const { folder, isServer = false, memory = memoryBytes() } = this.parts;
    return isServer && statSync(join(folder, 'data.mdb')).size > memory * largeShare;
  }

  /** Runs `step` in a write transaction; resolves when it is on disk. */
  private async write(step: (environment: Environment) => void): Promise<void> {
    while (!this.writing.tryEnter()) await this.parts.clock.sleep(gatePollMs);
    try {
      const { environment } = this;
      if (environment === undefined) throw this.failure;
      await this.transaction(environment, step);
    } finally {
      this.writing.leave();
    }
  }

  private async transaction(
    environment: Environment,
    step: (environment: Environment) => void,
  ): Promise<void> {
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
      throw await this.fail(environment, error);
    }
    if (thrown !== undefined) throw thrown.error;
  }

  /**
   * Handles a transaction that did not reach the disk. The kernel's cached pages can no longer be trusted:
   * the environment is closed, which drops the map, and opened again after a pause.
   */
  private async fail(environment: Environment, error: unknown): Promise<StoreUnavailable> {
    const reason = await causeOf(error);
    const { log } = this.parts;
    this.failure = new StoreUnavailable(reason);
    this.environment = undefined;
    await environment.close();
    this.openLater();
    log.error({ reason, retryInMs: pauseAfterFailureMs }, 'the store could not write; it is opened again');
    return this.failure;
  }

  private openLater(): void {
    const { clock, log } = this.parts;
    if (this.closed) return;
    this.retry = clock.after(pauseAfterFailureMs, () => {
      this.open().then(
        () => log.info({}, 'the store is open again'),
        (error: unknown) => {
          this.failure = new StoreUnavailable(reasonOf(error));
          this.openLater();
        },
      );
    });
  }
}

/** The operating system's reason for a failed commit; lmdb reports it in a separate promise. */
async function causeOf(error: unknown): Promise<string> {
  if (!(error instanceof Error) || !('commitError' in error)) return reasonOf(error);
  return Promise.resolve(error.commitError).then(() => reasonOf(error), reasonOf);
}

/** Records of a range in the snapshot `view`; undefined: as they are now. */
function entries(environment: Environment, { from, to, limit }: KeyRange, view?: Transaction): Entry[] {
  const seenBy = view === undefined ? {} : { transaction: view };
  return [...environment.getRange({ start: from, end: to, limit, snapshot: true, ...seenBy })];
}
