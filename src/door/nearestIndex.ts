/**
 * Candidates for neighbours from an HNSW index (Malkov and Yashunin 2016; hnswlib), where there are so many
 * fragments that comparing every vector takes long. One process of a machine builds it in a thread and saves
 * it; all load it. It only names candidates: what is answered was compared exactly, and what the index does
 * not have yet is compared in full. Without the package every vector is compared.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';

/** The used part of the package; it is optional, so that its own types may not be there. */
export interface Hnsw {
  initIndex(maxElements: number, m: number, efConstruction: number, randomSeed: number): void;
  addPoint(point: number[], label: number): void;
  resizeIndex(maxElements: number): void;
  searchKnn(point: number[], count: number): { readonly neighbors: number[] };
  setEf(ef: number): void;
  getCurrentCount(): number;
  readIndex(file: string): Promise<boolean>;
  readIndexSync(file: string): void;
  writeIndexSync(file: string): void;
}

/** Makes an empty index of cosine similarities. */
export type NewHnsw = (dimension: number) => Hnsw;

/** Loads the package; undefined where it was not installed or cannot be loaded. */
export function loadHnsw(): NewHnsw | undefined {
  try {
    const loaded = createRequire(import.meta.url)('hnswlib-node') as {
      readonly HierarchicalNSW: new (space: string, dimension: number) => Hnsw;
    };
    return (dimension) => new loaded.HierarchicalNSW('cosine', dimension);
  } catch {
    return undefined;
  }
}

/** Parts of an index. */
export interface IndexState {
  readonly method: string;
  /** The first so many fragments are in it. */
  readonly count: number;
  /** Receipt of the last of them. */
  readonly receipt: string;
}

/** Message to the thread that builds. */
export interface BuildJob {
  readonly vectorsFile: string;
  readonly indexFile: string;
  readonly method: string;
  readonly dimension: number;
  readonly count: number;
}

/** The file beside an index that tells its state. */
export function stateFile(indexFile: string): string {
  return `${indexFile}.json`;
}

/** Header of the index in a file; undefined when there is none that can be used. */
export function readState(indexFile: string, method: string): IndexState | undefined {
  if (!existsSync(stateFile(indexFile))) return undefined;
  try {
    const state = JSON.parse(readFileSync(stateFile(indexFile), 'utf8')) as IndexState;
    return state.method === method && Number.isInteger(state.count) ? state : undefined;
  } catch {
    return undefined;
  }
}

/** Bytes of int8 numbers as the package takes a point. */
export function pointOf(vector: Uint8Array): number[] {
  return Array.from(new Int8Array(vector.buffer, vector.byteOffset, vector.byteLength));
}

/** Candidates, and from which place on the index knows nothing. */
export interface Candidates {
  readonly places: Uint32Array;
  readonly from: number;
}

/** Parts of the index of a process. */
export interface IndexParts {
  readonly vectorsFile: string;
  readonly indexFile: string;
  readonly method: string;
  readonly dimension: number;
  /** Fragments from which on there is an index. */
  readonly from: number;
  /** A fragment's receipt by its place; empty where there is none. */
  readonly receiptAt: (index: number) => string;
  readonly newHnsw: NewHnsw | undefined;
  readonly clock: Pick<Clock, 'every'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** Interval at which a process looks for a newer index (ms). */
const lookMs = 1_000;

/** The index is built again when so much more than it has is there. */
const growth = 1.1;

/** Candidates asked for at least, and for each result; with so many, recall is above 0.99 (bench door). */
const least = 200;
const perResult = 4;

/** The index as one process has it. */
export class NearestIndex {
  private loaded: { readonly hnsw: Hnsw; readonly state: IndexState } | undefined;
  private loading = false;
  private thread: Worker | undefined;
  private failed = false;
  private readonly timer: Timer;

  constructor(private readonly parts: IndexParts) {
    this.timer = parts.clock.every(lookMs, () => void this.look());
    void this.look();
  }

  /** Candidates for the nearest to a vector; undefined when every vector is to be compared. */
  candidates(vector: Uint8Array, results: number): Candidates | undefined {
    const { loaded } = this;
    if (loaded === undefined || !this.isOurs(loaded.state)) return undefined;
    const count = Math.min(Math.max(least, perResult * results), loaded.state.count);
    loaded.hnsw.setEf(count);
    const { neighbors } = loaded.hnsw.searchKnn(pointOf(vector), count);
    return { places: Uint32Array.from(neighbors), from: loaded.state.count };
  }

  /** Fragments in the index that is in use; 0: none. */
  get count(): number {
    return this.loaded?.state.count ?? 0;
  }

  /** Builds the index anew in a thread where there are enough more fragments. For the writer alone. */
  build(count: number): void {
    const { newHnsw, from, indexFile, method, log } = this.parts;
    if (newHnsw === undefined || count < from || this.thread !== undefined || this.failed) return;
    const state = readState(indexFile, method);
    const has = state !== undefined && this.isOurs(state) ? state.count : 0;
    if (has > 0 && count < has * growth) return;
    const { vectorsFile, dimension } = this.parts;
    const workerData: BuildJob = { vectorsFile, indexFile, method, dimension, count };
    log.info({ fragments: count }, 'building the index of vectors');
    this.thread = new Worker(new URL('./nearestIndexThread.js', import.meta.url), { workerData });
    this.thread.unref();
    this.thread.on('error', (error) => {
      this.failed = true;
      log.warn({ reason: error.message }, 'the index of vectors was not built; every vector is compared');
    });
    this.thread.on('exit', () => (this.thread = undefined));
  }

  async stop(): Promise<void> {
    this.timer.stop();
    await this.thread?.terminate();
  }

  /** True if an index is of the fragments that are in the file of vectors. */
  private isOurs({ count, receipt }: IndexState): boolean {
    return this.parts.receiptAt(count - 1) === receipt;
  }

  private async look(): Promise<void> {
    const { newHnsw, indexFile, method, dimension, log } = this.parts;
    if (newHnsw === undefined || this.loading) return;
    const state = readState(indexFile, method);
    const known = this.loaded?.state;
    const isNew = state !== undefined && (state.count !== known?.count || state.receipt !== known.receipt);
    if (!isNew || !this.isOurs(state)) return;
    this.loading = true;
    try {
      const hnsw = newHnsw(dimension);
      await hnsw.readIndex(indexFile);
      if (hnsw.getCurrentCount() >= state.count) this.loaded = { hnsw, state };
    } catch (error) {
      log.warn({ reason: String(error) }, 'the index of vectors cannot be read; every vector is compared');
    } finally {
      this.loading = false;
    }
  }
}
