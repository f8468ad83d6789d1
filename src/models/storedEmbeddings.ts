/**
 * Vectors in the store (EMBED_CACHE_STORE): machines that share it compute each text once. The key begins
 * with the period in which a vector was last used, so that vectors unused for more than a period are pruned
 * by key alone.
 */
import { isAscii } from 'node:buffer';
import { createHash } from 'node:crypto';
import { endianness } from 'node:os';
import { whenUnavailable, type Operation, type Store } from '../store/store.js';
import { dayMs, type Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { single, type Metric } from '../system/metrics.js';
import { inSlice } from '../system/slices.js';
import {
  textAt,
  type Embedded,
  type Embedder,
  type InstalledModel,
  type SomeVectors,
  type Texts,
} from './embedder.js';

/** Least time for which a vector can be found after its last use (days); the most is twice that. */
export const keptDays = 30;

const periodMs = keptDays * dayMs;

/** Most vectors written in one unit. */
const together = 100;

/** Most vectors removed in one step. */
const prunedTogether = 1_000;

/** Dependencies of the embedder. */
export interface StoredEmbeddingsParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly log: Pick<Log, 'warn'>;
  /** Bytes of a text that a tokenizer examines, per token that its model reads. */
  readonly readBytesPerToken: number;
}

/** An embedder whose vectors are stored. */
export interface StoredEmbedder extends Embedder {
  readonly metrics: () => Metric[];
  /** Resolves when all computed vectors are stored, or cannot be. */
  readonly settled: () => Promise<void>;
}

/** A text's vector, and whether the model read only the first part of the text. */
interface One {
  readonly vector: Float32Array;
  readonly truncated: boolean;
}

/** True if numbers are in memory as they are stored: little-endian. */
const isStoredOrder = endianness() === 'LE';

/** A stored vector's bytes: whether the text was cut, then float32, little-endian. */
function encode(vector: Float32Array, truncated: boolean): Buffer {
  const value = Buffer.alloc(1 + vector.byteLength);
  value.writeUInt8(truncated ? 1 : 0);
  value.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), 1);
  if (!isStoredOrder) value.subarray(1).swap32();
  return value;
}

/** The stored vector; undefined if there is none, or it has another number of components. */
function decode(value: Uint8Array | undefined, dimension: number): One | undefined {
  if (value?.byteLength !== 1 + 4 * dimension) return undefined;
  const vector = new Float32Array(dimension);
  const bytes = Buffer.from(vector.buffer);
  bytes.set(value.subarray(1));
  if (!isStoredOrder) bytes.swap32();
  return { vector, truncated: value[0] === 1 };
}

/**
 * Hashed after a text with non-ASCII bytes: older versions stored such texts' vectors always with length 1.
 */
const seen = Buffer.of(0xff);

function textDigest({ digest }: InstalledModel, text: Uint8Array): Buffer {
  const hash = createHash('sha256').update(Buffer.from(digest, 'hex')).update(text);
  return (isAscii(text) ? hash : hash.update(seen)).digest();
}

/** The period of a time, as the first bytes of a key. */
function periodOf(wallMs: number): Buffer {
  const period = Buffer.alloc(4);
  period.writeUInt32BE(Math.floor(wallMs / periodMs));
  return period;
}

class StoringEmbedder implements StoredEmbedder {
  readonly models: readonly InstalledModel[];
  private found = 0;
  /** Resolves once all vectors so far are written, or cannot be. */
  private written: Promise<void> = Promise.resolve();

  constructor(
    private readonly inner: Embedder,
    private readonly parts: StoredEmbeddingsParts,
  ) {
    this.models = inner.models;
  }

  readonly embed = async (model: InstalledModel, texts: Texts, signal: AbortSignal): Promise<Embedded> => {
    const { dimension } = model;
    // As the model's tokenizer examines them: one byte more shows that the text is longer. Texts that differ
    // only after that have one vector, and one key.
    const most = model.maxTokens * this.parts.readBytesPerToken + 1;
    const places = Array.from({ length: texts.length }, (_, at) => at);
    const digest = (at: number): Promise<Buffer> => inSlice(() => textDigest(model, textAt(texts, at, most)));
    const digests = await Promise.all(places.map(digest));
    // If the store does not answer, the vectors are computed.
    const known = await whenUnavailable(this.find(digests, dimension), () => []);
    const missing = places.filter((at) => known[at] === undefined);
    this.found += texts.length - missing.length;
    const computed =
      missing.length === 0 ? nothing : await this.inner.embed(model, chosen(texts, missing), signal);
    if (computed.kind === 'queue_full' || computed.kind === 'failed') return computed;
    const made = madeOf(computed, dimension);
    let next = 0;
    const ones = digests.map((_, at) => known[at] ?? made[next++]);
    this.keep(
      ones.flatMap((one, at): [Buffer, Buffer][] => {
        const digest = digests[at];
        if (one === undefined || digest === undefined || known[at] !== undefined) return [];
        return [[digest, encode(one.vector, one.truncated)]];
      }),
    );
    const some = someOf(ones, dimension);
    if (computed.kind !== 'vectors') return { kind: computed.kind, some };
    return { kind: 'vectors', vectors: some.vectors, truncated: some.truncated };
  };

  readonly metrics = (): Metric[] => [
    single(
      'counter',
      'fusegate_embeddings_stored_hits_total',
      'Texts whose vectors were in the store.',
      this.found,
    ),
  ];

  readonly settled = (): Promise<void> => this.written;

  /** Vectors of this period or the last, in the order of the digests; those of the last are written again. */
  private async find(digests: readonly Buffer[], dimension: number): Promise<(One | undefined)[]> {
    const nowMs = this.parts.clock.wallMs();
    const found = (await this.read(nowMs, digests)).map((value) => decode(value, dimension));
    const absent = [...digests.entries()].filter(([at]) => found[at] === undefined);
    const older = await this.read(
      nowMs - periodMs,
      absent.map(([, digest]) => digest),
    );
    const again: [Buffer, Buffer][] = [];
    for (const [next, [at, digest]] of absent.entries()) {
      const value = older[next];
      found[at] = decode(value, dimension);
      if (value !== undefined && found[at] !== undefined) again.push([digest, Buffer.from(value)]);
    }
    this.keep(again);
    return found;
  }

  private read(wallMs: number, digests: readonly Buffer[]): Promise<readonly (Uint8Array | undefined)[]> {
    const period = periodOf(wallMs);
    return this.parts.store.getMany(
      'embeddings',
      digests.map((digest) => Buffer.concat([period, digest])),
    );
  }

  /** Writes vectors in the background, without delaying answers. */
  private keep(entries: readonly (readonly [digest: Buffer, value: Buffer])[]): void {
    const earlier = this.written;
    this.written = this.writeAll(entries).then(() => earlier);
  }

  /** Writes one unit after the other: all at once would be one long turn of the event loop. */
  private async writeAll(entries: readonly (readonly [digest: Buffer, value: Buffer])[]): Promise<void> {
    for (let from = 0; from < entries.length; from += together) {
      await this.write(entries.slice(from, from + together));
    }
  }

  private async write(entries: readonly (readonly [digest: Buffer, value: Buffer])[]): Promise<void> {
    const { store, clock, log } = this.parts;
    const period = periodOf(clock.wallMs());
    const operations = entries.map(([digest, value]): Operation => {
      return { kind: 'put', space: 'embeddings', key: Buffer.concat([period, digest]), value };
    });
    await whenUnavailable(store.commit(operations), ({ message }) => {
      log.warn({ reason: message }, 'vectors were not kept');
    });
  }
}

/** Some of a call's texts, by their indexes. */
function chosen(texts: Texts, places: readonly number[]): Texts {
  const at = (index: number, most: number): Uint8Array | undefined => {
    const place = places[index];
    return place === undefined ? undefined : texts.at(place, most);
  };
  return { length: places.length, at };
}

/** Result for no texts. */
const nothing: Embedded = { kind: 'vectors', vectors: new Float32Array(), truncated: [] };

/** The computed vectors, by index of their texts. */
function madeOf(
  computed: Extract<Embedded, { kind: 'vectors' | 'too_late' | 'cancelled' }>,
  dimension: number,
): One[] {
  const { vectors, truncated } = computed.kind === 'vectors' ? computed : computed.some;
  const made: One[] = [];
  for (const [next, cut] of truncated.entries()) {
    const at = computed.kind === 'vectors' ? next : computed.some.places[next];
    const vector = vectors.subarray(next * dimension, (next + 1) * dimension);
    if (at !== undefined) made[at] = { vector, truncated: cut };
  }
  return made;
}

/** The vectors that exist, concatenated. */
function someOf(ones: readonly (One | undefined)[], dimension: number): SomeVectors {
  const there = ones.flatMap((one, at) => (one === undefined ? [] : [{ ...one, at }]));
  const vectors = new Float32Array(there.length * dimension);
  for (const [next, { vector }] of there.entries()) vectors.set(vector, next * dimension);
  return {
    places: there.map(({ at }) => at),
    vectors,
    truncated: there.map(({ truncated }) => truncated),
  };
}

/** An embedder that looks in the store first, and stores newly computed vectors there. */
export function storedEmbedder(inner: Embedder, parts: StoredEmbeddingsParts): StoredEmbedder {
  return new StoringEmbedder(inner, parts);
}

/** Removes the vectors that can no longer be found. Resolves to their number. */
export async function removeEmbeddings(store: Store, nowMs: number): Promise<number> {
  const before = periodOf(nowMs - periodMs);
  for (let removed = 0; ;) {
    const pruned = await store.prune('embeddings', before, prunedTogether);
    removed += pruned;
    if (pruned < prunedTogether) return removed;
  }
}
