/**
 * Rates of requests of 100 docs that ask for more than the usual, as shares of the rate of the same docs and
 * query without it. All kinds take turns in one process, in another order each round, and the shares are
 * those of the fastest tenth of each.
 */
import { native } from '../src/native/addon.js';
import type { FuseRequest } from '../src/contract/fuse.js';
import type { Fuser } from '../src/native/index.js';
import { staticMode } from '../test/support/embedding.js';
import { readBodies } from './bodies.js';

/** One kind of request. */
interface Kind {
  readonly name: string;
  readonly members: Partial<FuseRequest>;
  /** Least share of the plain rate; absent: it is told, not judged. */
  readonly least?: number;
  /** The kind whose rate it is a share of, where that is not the plain one. */
  readonly of?: string;
}

/** Names of statistics: of plain words, of stems, and one that learns. */
const NAMES = { words: 'words', stems: 'stems', learns: 'learns' } as const;

const legs = { bm25: {}, dense: {}, engine: { weight: 2 }, clicks: { normalize: 'log1p' } } as const;
const boosts: FuseRequest['boosts'] = [
  { value: 'age_days', origin: 0, scale: 30, weight: 0.3 },
  { value: 'price', origin: 20, scale: 10, offset: 5, function: 'gauss', weight: 0.2 },
];

const KINDS: readonly Kind[] = [
  { name: 'plain', members: {} },
  { name: 'plain again', members: {} },
  { name: 'english', members: { analyzer: 'english' }, least: 0.7 },
  { name: 'named corpus', members: { corpus: { name: NAMES.words } }, least: 0.95 },
  { name: 'english, named corpus', members: { analyzer: 'english', corpus: { name: NAMES.stems } } },
  { name: 'legs and boosts', members: { legs, boosts }, least: 0.8 },
  { name: 'diversify by terms', members: { diversify: { diversity: 0.3 } }, least: 0.3 },
  { name: 'highlight', members: { highlight: {} }, least: 0.7 },
  { name: 'highlight, top 10', members: { highlight: {}, top_k: 10 }, of: 'top 10' },
  { name: 'top 10', members: { top_k: 10 } },
  {
    name: 'learn',
    members: { corpus: { name: NAMES.learns }, learn: true },
    of: 'named corpus',
  },
];

/** The docs with the scores and values that legs and boosts are of. */
function withNumbers(docs: FuseRequest['docs']): FuseRequest['docs'] {
  return docs.map((doc, at) => ({
    ...doc,
    scores: { engine: Number((12.7 - at * 0.0931).toFixed(3)), clicks: (at * 7919) % 1009 },
    values: { age_days: (at * 37) % 365, price: Number((9.99 + ((at * 13) % 40)).toFixed(2)) },
  }));
}

function bodyOf(request: FuseRequest, { members }: Kind): Buffer {
  const docs = members.legs === undefined ? request.docs : withNumbers(request.docs);
  return Buffer.from(JSON.stringify({ ...request, ...members, docs }));
}

/** The statistics that kinds name: of the request's docs a few times over. */
async function corporaOf({ docs }: FuseRequest) {
  const key = Buffer.alloc(16, 7);
  const corpora = new native.Corpora(key);
  const texts = Buffer.from(docs.map(({ text }) => JSON.stringify(text)).join('\n'));
  for (const [name, analyzer] of [
    [NAMES.words, 'plain'],
    [NAMES.stems, 'english'],
  ] as const) {
    const counter = new native.CorpusCounter(key, JSON.stringify(analyzer), 'ws');
    if ((await counter.add(texts)) !== null) throw new Error('a text cannot be counted');
    const { bytes } = await counter.finish();
    if (!(await corpora.add(name, 1, bytes))) throw new Error('statistics cannot be read');
  }
  return corpora;
}

/** Seconds of one answer. */
function timed(fuse: Fuser['fuse'], body: Buffer, out: Uint8Array, facts: Float64Array): number {
  const began = process.hrtime.bigint();
  const outcome = fuse(body, out, facts, 1_000, '');
  const took = Number(process.hrtime.bigint() - began) / 1e9;
  if (outcome !== native.FuseOutcome.Written) throw new Error(`a request came to ${outcome}`);
  return took;
}

/** The mean of the fastest tenth: what the code costs where nothing else has the core. */
function fastest(times: readonly number[]): number {
  const sorted = times.toSorted((left, right) => left - right).slice(0, Math.ceil(times.length / 10));
  return sorted.reduce((sum, time) => sum + time, 0) / sorted.length;
}

/** Figures of one kind. */
interface Rate {
  readonly name: string;
  readonly microseconds: number;
  readonly bytes: number;
  /** Share of the rate of the kind that it is compared with. */
  readonly share: number;
  readonly of: string;
  readonly least?: number;
  readonly passed: boolean;
}

/** Figures of one body. */
export interface Rates {
  readonly rounds: number;
  readonly bodies: readonly { readonly body: string; readonly rates: readonly Rate[] }[];
  readonly passed: boolean;
}

async function ratesOfBody(request: FuseRequest, rounds: number): Promise<Rate[]> {
  const { fuse } = staticMode(await corporaOf(request)).fuser;
  const bodies = KINDS.map((kind) => bodyOf(request, kind));
  const [out, facts] = [new Uint8Array(8 << 20), new Float64Array(2)];
  const times = KINDS.map(() => [] as number[]);
  for (let round = -Math.ceil(rounds / 10); round < rounds; round += 1) {
    for (let step = 0; step < KINDS.length; step += 1) {
      const kind = (step + Math.abs(round)) % KINDS.length;
      const took = timed(fuse, bodies[kind] ?? Buffer.of(), out, facts);
      if (round >= 0) times[kind]?.push(took);
    }
  }
  const best = new Map(KINDS.map(({ name }, at) => [name, fastest(times[at] ?? [])]));
  return KINDS.map(({ name, least, of = 'plain' }, at) => {
    const share = (best.get(of) ?? NaN) / (best.get(name) ?? NaN);
    const microseconds = (best.get(name) ?? NaN) * 1e6;
    const target = least === undefined ? {} : { least };
    const bytes = bodies[at]?.length ?? 0;
    return { name, microseconds, bytes, share, of, ...target, passed: share >= (least ?? 0) };
  });
}

/** Measures the rates on the bodies of 100 docs in ASCII. */
export async function ratesOf(rounds: number): Promise<Rates> {
  const bodies: Rates['bodies'][number][] = [];
  for (const { name, bytes, docs, kind } of readBodies()) {
    if (docs !== 100 || kind !== 'ascii') continue;
    const request = JSON.parse(Buffer.from(bytes).toString()) as FuseRequest;
    bodies.push({ body: name, rates: await ratesOfBody(request, Math.ceil(rounds)) });
  }
  const passed = bodies.every(({ rates }) => rates.every((rate) => rate.passed));
  return { rounds, bodies, passed };
}

/** The figures for people. */
export function printedRates({ bodies }: Rates): string {
  return bodies
    .flatMap(({ body, rates }) => [
      `${body}: shares of the rate of the same request without it`,
      ...rates.map(({ name, microseconds, share, of, least, passed }) => {
        const target = least === undefined ? '' : `  [target ${least}: ${passed ? 'pass' : 'missed'}]`;
        const time = `${microseconds.toFixed(0)} µs`.padStart(9);
        return `  ${name.padEnd(24)}${time}  ${share.toFixed(3)} of ${of}${target}`;
      }),
    ])
    .join('\n');
}
