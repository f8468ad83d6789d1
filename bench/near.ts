/**
 * The part of `bench door` that explores: GET /graph/near among 100,000 fragments, exactly and by the index,
 * one request after the other. Its answers are compared with the obvious reading of every vector.
 */
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import type { NearResponse } from '../src/contract/near.js';
import { textEmbedding } from '../src/explore/embedding.js';
import { rounded } from '../src/explore/explore.js';
import { native } from '../src/native/addon.js';
import { openStore } from '../src/store/open.js';
import { systemClock } from '../src/system/clock.js';
import { systemRandomness } from '../src/system/randomness.js';
import { fill, receiptOf, textsOf } from '../test/support/fillFragments.js';
import { staticMode, staticModel } from '../test/support/embedding.js';
import { startFusegate } from './servers.js';

const { embedText, method } = textEmbedding([staticModel], staticMode().dense);

/** Fragments that are looked among. */
export const NEAR_FRAGMENTS = 100_000;
/** Number of timed queries, of queries whose answers are compared with the exact ones, and of results. */
const SIZES = { queries: 300, checked: 25, results: 10 } as const;
/** Most time until every fragment is there, and until the index is (ms). */
const PATIENCE_MS = 600_000;

/** Times of one kind of search (ms), and how much of the right answer it gave. */
export interface NearTimes {
  readonly p50: number;
  readonly p99: number;
  /** Share of the exact answer's fragments that were found. */
  readonly recall: number;
}

/** What was measured. */
export interface NearFigures {
  readonly exact: NearTimes;
  readonly index: NearTimes;
  /** From the start until every fragment was there, the file of vectors made anew (s). */
  readonly rebuildSeconds: number;
}

/** Members of an answer that are looked at. */
interface Answered extends Pick<NearResponse, 'search' | 'total'> {
  readonly results: readonly Pick<NearResponse['results'][number], 'receipt' | 'similarity'>[];
}

type Ask = (query: Readonly<Record<string, string>>) => Promise<Answered>;

/** Asks over one connection that is kept. */
function askOver(url: string): Ask {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return (query) =>
    new Promise((resolve, reject) => {
      get(`${url}/graph/near?${new URLSearchParams(query).toString()}`, { agent }, (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () => resolve(JSON.parse(Buffer.concat(parts).toString()) as NearResponse));
      }).on('error', reject);
    });
}

/** The exact scan of a server's file, in this process: the service has the index from fewer fragments on. */
function scanOf(dataFolder: string): Ask {
  const vectors = new native.Vectors(join(dataFolder, 'vectors'), method, 0xffff_ffff);
  return async ({ text = '' }) => {
    const { position, count } = vectors.state();
    const { neighbours } = await vectors.nearest(position, embedText(text), SIZES.results, true, []);
    const results = neighbours.map(({ receipt, similarity }) => ({
      receipt,
      similarity: rounded(similarity),
    }));
    return { search: 'exact', total: count, results };
  };
}

/** A text to look for: words of one fragment's content. */
function question(number: number): string {
  const { content } = textsOf((number * 7_919) % NEAR_FRAGMENTS);
  return content.split(' ').slice(0, 8).join(' ');
}

/** Every vector, as numbers. */
function allVectors(): Int8Array[] {
  return Array.from({ length: NEAR_FRAGMENTS }, (_, number) => {
    const { title, content } = textsOf(number);
    return new Int8Array(embedText(`${title}\n${content}\n`));
  });
}

function dot(a: Int8Array, b: Int8Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}

/** The obvious reading: every similarity, sorted; of equals the earlier first. */
function naive(text: string, vectors: readonly Int8Array[]): { receipt: string; similarity: number }[] {
  const query = new Int8Array(embedText(text));
  const length = dot(query, query);
  return vectors
    .map((vector, number) => ({
      number,
      similarity: dot(query, vector) / Math.sqrt(length * dot(vector, vector)),
    }))
    .sort((a, b) => b.similarity - a.similarity || a.number - b.number)
    .slice(0, SIZES.results)
    .map(({ number, similarity }) => ({
      receipt: receiptOf(number),
      similarity: rounded(similarity),
    }));
}

/** @throws when an exact answer differs, or another has a wrong similarity; else returns the recall */
async function check(ask: Ask, vectors: Int8Array[]): Promise<number> {
  let found = 0;
  for (let number = 0; number < SIZES.checked; number += 1) {
    const text = question(number);
    const { results, search } = await ask({ text });
    const expected = naive(text, vectors);
    const shown = results.map(({ receipt, similarity }) => ({ receipt, similarity }));
    if (search === 'exact' && JSON.stringify(shown) !== JSON.stringify(expected)) {
      throw new Error(`the exact search for "${text}" answers ${JSON.stringify(shown)}`);
    }
    const least = expected.at(-1)?.similarity ?? 1;
    found += shown.filter(({ similarity }) => similarity >= least).length;
  }
  return found / (SIZES.checked * SIZES.results);
}

async function times(ask: Ask, vectors: Int8Array[]): Promise<NearTimes> {
  const recall = await check(ask, vectors);
  const taken: number[] = [];
  for (let number = 0; number < SIZES.queries; number += 1) {
    const text = question(SIZES.checked + number);
    const start = performance.now();
    await ask({ text });
    taken.push(performance.now() - start);
  }
  taken.sort((a, b) => a - b);
  const at = (share: number): number => taken[Math.floor(taken.length * share)] ?? NaN;
  return { p50: at(0.5), p99: at(0.99), recall };
}

async function until(holds: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > end) return false;
    await systemClock.sleep(200);
  }
  return true;
}

async function fillStore(url: string): Promise<void> {
  const log = { error: () => undefined, warn: () => undefined, info: () => undefined };
  const store = await openStore(url, { clock: systemClock, randomness: systemRandomness, log });
  await fill(store, 0, NEAR_FRAGMENTS);
  await store.close();
}

/** Fills a store, explores it, and measures. */
export async function measureNear(folder: string): Promise<NearFigures> {
  const store = `lmdb:${join(folder, 'near', 'store')}`;
  await fillStore(store);
  const start = performance.now();
  const server = await startFusegate({ STORE_URL: store, LOG_LEVEL: 'error' });
  try {
    const ask = askOver(server.url);
    const complete = await until(async () => (await ask({ text: 'x' })).total === NEAR_FRAGMENTS);
    if (!complete) throw new Error('not every fragment came to be explored');
    const rebuildSeconds = (performance.now() - start) / 1000;
    const vectors = allVectors();
    const indexed = await until(async () => (await ask({ text: 'x' })).search === 'index');
    if (!indexed) throw new Error('the index was not made');
    const index = await times(ask, vectors);
    const exact = await times(scanOf(join(folder, 'near')), vectors);
    return { exact, index, rebuildSeconds };
  } finally {
    await server.stop();
  }
}
