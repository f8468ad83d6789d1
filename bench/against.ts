/**
 * `bench against FOLDER`: the program of this working tree and that of another, which is built, in turns:
 * requests a second and server CPU a request of POST /v1/fuse with every body, of embed mode from the cache
 * and by the static model, and of POST /v1/normalize.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../test/support/python.js';
import { readBodies } from './bodies.js';
import { checkFusegate } from './check.js';
import { cranfield, start, STATIC, type Fusegate } from './embed.js';
import { runWrk, withWrk, type Load } from './load.js';
import { machine, writeRecord } from './machine.js';
import { benchTexts } from './normalizeTexts.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import { figure, figures, ratios, spread, type Spread } from './statistics.js';

/** What the command line may set. */
export interface AgainstOptions extends RecordOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly only: string;
}

/** Least median of the rates' ratios: two runs of one program differ by as much. */
const LEAST_RATE = 0.97;

/** A request that both get. */
interface Case {
  readonly name: string;
  readonly route: string;
  readonly bytes: string | Uint8Array;
  readonly keyed?: boolean;
  /** @throws where an answer is not right; `others`: the other tree's answer */
  check(answer: string, others: string): void;
}

/** How this tree compares with the other, round by round. */
interface Compared {
  readonly name: string;
  /** Requests a second of this tree, divided by those of the other. */
  readonly rate: Spread;
  /** Server CPU a request of this tree, divided by that of the other. */
  readonly cpu: Spread;
  readonly loads: Readonly<Record<'this' | 'other', readonly Load[]>>;
}

interface Tiers {
  readonly enterprise: object;
}

interface Ranked {
  readonly results: readonly { readonly id: string }[];
}

function sameOrder(answer: string, others: string): void {
  const [ids, theirs] = [answer, others].map((text) =>
    (JSON.parse(text) as Ranked).results.map(({ id }) => id).join(' '),
  );
  if (ids !== theirs) throw new Error('the two trees rank docs in different orders');
}

function sameText(answer: string, others: string): void {
  const [text, theirs] = [answer, others].map(
    (each) => (JSON.parse(each) as { normalized: string }).normalized,
  );
  if (text === undefined || text !== theirs) throw new Error('the two trees repair a text in different ways');
}

function cases(): Case[] {
  const all: Case[] = readBodies().map(({ name, bytes, request }) => ({
    ...{ name, route: '/v1/fuse', bytes },
    check: (answer, others) => {
      checkFusegate(request, JSON.parse(answer));
      sameOrder(answer, others);
    },
  }));
  const [smallest] = all;
  if (smallest !== undefined) all.push({ ...smallest, name: `${smallest.name}, with a key`, keyed: true });
  const requests = cranfield();
  const [request] = 'missing' in requests ? [] : requests;
  if (request !== undefined) {
    const fixed = { ...request, embed_model: STATIC };
    all.push(
      ...[
        { name: 'embed mode, cached', bytes: JSON.stringify(request) },
        { name: 'embed mode, static', bytes: JSON.stringify(fixed) },
      ].map((each) => ({ ...each, route: '/v1/fuse', keyed: true, check: sameOrder })),
    );
  }
  for (const { name, text } of benchTexts()) {
    const bytes = JSON.stringify({ text });
    all.push({ name: `normalize, ${name}`, route: '/v1/normalize', bytes, check: sameText });
  }
  return all;
}

async function post({ server, key }: Fusegate, { name, route, bytes, keyed }: Case): Promise<string> {
  const headers = { 'content-type': 'application/json', 'x-api-key': keyed === true ? key : '' };
  const answer = await fetch(`${server.url}${route}`, { method: 'POST', headers, body: bytes });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${answer.status} to ${name}: ${text.slice(0, 500)}`);
  return text;
}

async function compare(
  [own, other]: readonly [Fusegate, Fusegate],
  each: Case,
  path: string,
  { rounds, seconds, connections }: AgainstOptions,
): Promise<Compared> {
  each.check(await post(own, each), await post(other, each));
  writeFileSync(path, each.bytes);
  const run = ({ server, key }: Fusegate, time: number): Promise<Load> =>
    runWrk(server, {
      ...{ script: 'post.lua', path: each.route, argument: path, connections, seconds: time },
      ...(each.keyed === true && { key }),
    });
  for (const tree of [own, other]) await run(tree, 1);
  const loads = { this: [] as Load[], other: [] as Load[] };
  for (let round = 0; round < rounds; round += 1) {
    const both = [
      { tree: own, into: loads.this },
      { tree: other, into: loads.other },
    ];
    // The first of a round may find the machine in another state than the second.
    for (const { tree, into } of round % 2 === 0 ? both : both.reverse()) into.push(await run(tree, seconds));
  }
  const of = (what: keyof Load): Spread =>
    ratios(
      loads.this.map((load) => load[what]),
      loads.other.map((load) => load[what]),
    );
  return { name: each.name, rate: of('requestsPerSecond'), cpu: of('cpuMicroseconds'), loads };
}

/** Runs it, prints what it measured, and writes the record; resolves to the exit code. */
export function benchAgainst(options: AgainstOptions, folder: string): Promise<number> {
  return withWrk(async (scratch, startedAt) => {
    const all: Compared[] = [];
    const tiers = JSON.parse(readFileSync(join(projectRoot, 'dist/tiers.json'), 'utf8')) as Tiers;
    const TIERS_FILE = join(scratch, 'tiers.json');
    // The limits that are sold end the first run, or a fast machine's last.
    const limits = { requests_per_minute: 1_000_000, characters_per_month: 1e12 };
    const enterprise = { ...tiers.enterprise, ...limits };
    writeFileSync(TIERS_FILE, JSON.stringify({ ...tiers, enterprise }));
    const own = await start(projectRoot, { TIERS_FILE });
    let other: Fusegate | undefined;
    try {
      other = await start(folder, { TIERS_FILE });
      for (const each of cases().filter(({ name }) => name.includes(options.only))) {
        const compared = await compare([own, other], each, join(scratch, 'body.json'), options);
        all.push(compared);
        if (!options.json) console.log(lineOf(compared));
      }
    } finally {
      await Promise.all([own.stop(), other?.stop()]);
    }
    return report(options, startedAt, all);
  });
}

function lineOf({ name, rate, cpu, loads }: Compared): string {
  const median = figure(spread(loads.this.map(({ requestsPerSecond }) => requestsPerSecond)).median);
  return `${name}: ${figures(rate)} times the other's rate (${median}/s), ${figures(cpu)} times its CPU`;
}

function report(options: AgainstOptions, startedAt: Date, all: readonly Compared[]): number {
  const record = { startedAt: startedAt.toISOString(), machine: machine(), options, all };
  if (options.json) console.log(JSON.stringify(record, null, 2));
  if (options.record) {
    const svg = dotPlot({
      title: 'Requests by this program and by another version of it, in turns',
      subtitle: `Rates divided round by round; one worker. ${machine().cpu}`,
      axis: 'times the rate of the other (logarithmic)',
      series: ['rate'],
      rows: all.map(({ name, rate }) => ({ label: name, values: [rate], note: figures(rate) })),
    });
    for (const file of writeRecord('against', startedAt, record, svg)) console.error(`Wrote ${file}`);
  }
  return all.every(({ rate }) => rate.median >= LEAST_RATE) ? 0 : 2;
}
