/**
 * Vectors kept in the store (EMBED_CACHE_STORE), so that the machines that share it compute a text once. Each
 * lies under the period in which it was last asked for: what no one has asked for in a period and more is
 * removed by its key alone.
 */
import { createHash } from 'node:crypto';
import type { Operation, Reading, Store } from '../store/store.js';
import type { UnitIds } from '../store/unitId.js';
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { single, type Metric } from '../system/metrics.js';
import type { Embedded, Embedder, InstalledModel } from './embedder.js';

/** How long a vector is found after it was last asked for, at least (days); at most twice that. */
export const keptDays = 30;

const periodMs = keptDays * 86_400_000;

/** Vectors written in one unit. */
const together = 100;

/** Vectors removed in one step. */
const prunedTogether = 1_000;

/** What it is made of. */
export interface StoredEmbeddingsParts {
  readonly store: Store;
  readonly newUnitId: UnitIds;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: Pick<Log, 'warn'>;
}

/** An embedder whose vectors are kept. */
export interface StoredEmbedder extends Embedder {
  readonly metrics: () => Metric[];
  /** Resolves when all that was computed is kept, or cannot be. */
  readonly settled: () => Promise<void>;
}

/** A vector as it is kept: whether the text was cut, then float32, little-endian. */
function encode(vector: Float32Array, truncated: boolean): Buffer {
  const value = Buffer.alloc(1 + 4 * vector.length);
  value.writeUInt8(truncated ? 1 : 0);
  vector.forEach((number, at) => value.writeFloatLE(number, 1 + 4 * at));
  return value;
}

/** A kept vector; undefined where it has not as many numbers. */
function decode(
  value: Uint8Array,
  dimension: number,
): { vector: Float32Array; truncated: boolean } | undefined {
  if (value.byteLength !== 1 + 4 * dimension) return undefined;
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const vector = Float32Array.from({ length: dimension }, (_, at) => bytes.readFloatLE(1 + 4 * at));
  return { vector, truncated: bytes.readUInt8() === 1 };
}

function textDigest({ digest }: InstalledModel, text: Uint8Array): Buffer {
  return createHash('sha256').update(Buffer.from(digest, 'hex')).update(text).digest();
}

/** The period of a time, as keys begin with it. */
function periodOf(wallMs: number): Buffer {
  const period = Buffer.alloc(4);
  period.writeUInt32BE(Math.floor(wallMs / periodMs));
  return period;
}

class StoringEmbedder implements StoredEmbedder {
  readonly models: readonly InstalledModel[];
  private found = 0;
  private readonly writing = new Set<Promise<void>>();

  constructor(
    private readonly inner: Embedder,
    private readonly parts: StoredEmbeddingsParts,
  ) {
    this.models = inner.models;
  }

  readonly embed = async (
    model: InstalledModel,
    texts: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<Embedded> => {
    const { dimension } = model;
    // The texts' memory may be used again once this function has given up control.
    const kept = texts.map((text) => new Uint8Array(text));
    const digests = kept.map((text) => textDigest(model, text));
    const known = await Promise.all(digests.map((digest) => this.find(digest, dimension)));
    const missing = kept.filter((_, at) => known[at] === undefined);
    this.found += kept.length - missing.length;
    const computed = missing.length === 0 ? undefined : await this.inner.embed(model, missing, signal);
    if (computed !== undefined && computed.kind !== 'vectors') return computed;
    const vectors = new Float32Array(texts.length * dimension);
    const truncated: boolean[] = [];
    const fresh: [Buffer, Buffer][] = [];
    let next = 0;
    for (const [at, digest] of digests.entries()) {
      const one = known[at] ?? taken(computed, next++, dimension);
      vectors.set(one.vector, at * dimension);
      truncated.push(one.truncated);
      if (known[at] === undefined) fresh.push([digest, encode(one.vector, one.truncated)]);
    }
    this.keep(fresh);
    return { kind: 'vectors', vectors, truncated };
  };

  readonly metrics = (): Metric[] => [
    single(
      'counter',
      'fusegate_embeddings_stored_hits_total',
      'Texts whose vectors the store had.',
      this.found,
    ),
  ];

  readonly settled = async (): Promise<void> => {
    await Promise.all(this.writing);
  };

  /** A vector of this period or the last; one of the last is written again. The store may not answer. */
  private async find(digest: Buffer, dimension: number): Promise<ReturnType<typeof decode>> {
    const { store, clock } = this.parts;
    const nowMs = clock.wallMs();
    for (const atMs of [nowMs, nowMs - periodMs]) {
      const read = await store.get('embeddings', Buffer.concat([periodOf(atMs), digest]));
      if (read.kind === 'unavailable') return undefined;
      const { value } = read;
      const found = value === undefined ? undefined : decode(value, dimension);
      if (found === undefined || value === undefined) continue;
      if (atMs !== nowMs) this.keep([[digest, Buffer.from(value)]]);
      return found;
    }
    return undefined;
  }

  /** Writes vectors while answers go on without waiting. */
  private keep(entries: readonly (readonly [digest: Buffer, value: Buffer])[]): void {
    for (let from = 0; from < entries.length; from += together) {
      const write = this.write(entries.slice(from, from + together));
      this.writing.add(write);
      void write.finally(() => this.writing.delete(write));
    }
  }

  private async write(entries: readonly (readonly [digest: Buffer, value: Buffer])[]): Promise<void> {
    const { store, newUnitId, clock, log } = this.parts;
    const period = periodOf(clock.wallMs());
    const operations = entries.map(([digest, value]): Operation => {
      return { kind: 'put', space: 'embeddings', key: Buffer.concat([period, digest]), value };
    });
    const outcome = await store.commit({ id: newUnitId(), operations });
    if (outcome.kind === 'unavailable') log.warn({ reason: outcome.reason }, 'vectors were not kept');
  }
}

/** A vector among those that were computed. */
function taken(
  computed: Extract<Embedded, { kind: 'vectors' }> | undefined,
  at: number,
  dimension: number,
): { vector: Float32Array; truncated: boolean } {
  if (computed === undefined) throw new Error('a vector is missing that nothing was asked for');
  const vector = computed.vectors.subarray(at * dimension, (at + 1) * dimension);
  return { vector, truncated: computed.truncated[at] ?? false };
}

/** An embedder that looks in the store first, and keeps there what it had to have computed. */
export function storedEmbedder(inner: Embedder, parts: StoredEmbeddingsParts): StoredEmbedder {
  return new StoringEmbedder(inner, parts);
}

/** Removes the vectors that are found no more. Resolves to how many. */
export async function removeEmbeddings(store: Store, nowMs: number): Promise<Reading<number>> {
  const before = periodOf(nowMs - periodMs);
  for (let removed = 0; ;) {
    const pruned = await store.prune('embeddings', before, prunedTogether);
    if (pruned.kind === 'unavailable') return pruned;
    removed += pruned.value;
    if (pruned.value < prunedTogether) return { kind: 'read', value: removed };
  }
}
