/**
 * `bench access`: what the check of a known key, its limit and the header lines cost a request, in process,
 * beside a native call that does nothing, in turns.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Head } from '../src/access/address.js';
import { Access, type Admission } from '../src/access/admission.js';
import type { KnownKey } from '../src/access/keyring.js';
import { keyTiers, readTiers, type Tiers } from '../src/access/tiers.js';
import { limitLines } from '../src/http/answer.js';
import { native } from '../src/native/addon.js';
import { systemClock } from '../src/system/clock.js';
import { createLog } from '../src/system/log.js';
import { systemRandomness } from '../src/system/randomness.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import { figure, figures, spread } from './statistics.js';
import type { Spread } from './statistics.js';

/** What the command line may set. */
export interface AccessOptions extends RecordOptions {
  readonly rounds: number;
  readonly requests: number;
}

/** Greatest cost (ns) of a request with a known key. */
const TARGET_NS = 2_000;
const MANY = 10_000;
/** The most that a bucket holds, so that no measured request is refused. */
const PER_MINUTE = 1_000_000;
const LINES = /^\r\nratelimit: "minute";r=\d+;t=\d+\r\nratelimit-policy: "minute";q=1000000;w=60$/;

/** One thing to measure: does it `count` times. */
interface Lane {
  readonly name: string;
  readonly run: (count: number) => void;
}

/** Heads of requests with these keys (`""`: none) from one address. */
function heads(keys: readonly string[], peer: Uint8Array = Uint8Array.of(192, 0, 2, 1)): Head[] {
  return keys.map((key) => ({
    field: (name) => (name === 'x-api-key' ? key : ''),
    allOf: () => '',
    peer: () => peer,
    isHead: () => false,
  }));
}

function tiers(): Tiers {
  const read = readTiers(null, { anonymousRequestsPerMinute: PER_MINUTE, anonymousCharactersPerMonth: null });
  if ('errors' in read) throw new Error(read.errors.join('\n'));
  const growth = { ...read.tiers.growth, requests_per_minute: PER_MINUTE };
  const developer = { ...read.tiers.developer, requests_per_minute: 1 };
  return { ...read.tiers, growth, developer };
}

interface Subject {
  readonly access: Access;
  /** Makes a key of a tier. */
  readonly issue: (tier: string) => string;
}

function build(folder: string): Subject {
  const file = join(folder, 'limits');
  native.createLimits(file, systemRandomness(16));
  const records = new Map<string, KnownKey>();
  const access = new Access({
    native: new native.Access(file, keyTiers(tiers())),
    hashKey: native.hashKey,
    tiers: tiers(),
    routeLimits: {
      ...{ audits: 6, leads: 0, checkout: 0, submissions: 0, previews: 0, markers: 0, clicks: 0 },
      ...{ explorations: 0, polls: 0, pages: 0, cardEvents: 0 },
    },
    trustedProxies: [],
    keys: { find: (hash) => Promise.resolve(records.get(Buffer.from(hash).toString('hex'))) },
    clock: systemClock,
    log: createLog('silent'),
  });
  const issue = (tier: string): string => {
    const key = native.writeKey(systemRandomness(32));
    const hash = native.hashKey(key);
    if (hash === null) throw new Error('a written key is none');
    const times = { issuedAtMs: systemClock.wallMs(), expiresAtMs: null, countedAs: null };
    records.set(hash.toString('hex'), { hash, id: key, tier, ...times, status: 'active' });
    return key;
  };
  return { access, issue };
}

/** The admission of a caller that is known: it must not have to wait. */
function admitted(access: Access, head: Head): Admission {
  const admission = access.keyed(head);
  if (admission instanceof Promise) throw new Error('a known caller was looked up');
  return admission;
}

/** Fails unless keys are told apart, counted and refused as they must be. */
async function verify({ access, issue }: Subject, known: readonly Head[]): Promise<void> {
  for (const head of known) await access.keyed(head);
  const lines = limitLines(admitted(access, known[0] as Head));
  if (!LINES.test(lines)) throw new Error(`wrong header lines: ${JSON.stringify(lines)}`);
  const [once, mistyped] = heads([issue('developer'), issue('developer').replace(/.$/, '*')]);
  const statuses = [await access.keyed(once as Head), await access.keyed(once as Head)].map(
    ({ refusal }) => refusal?.status ?? 200,
  );
  const refused = (await access.keyed(mistyped as Head)).refusal?.status;
  if (statuses.join() !== '200,429' || refused !== 401)
    throw new Error(`wrong: ${statuses.join()}, ${refused}`);
}

/** A lane of requests with these heads in turn; fails when one is refused. */
function requests(name: string, access: Access, given: readonly Head[]): Lane {
  return {
    name,
    run: (count) => {
      let bytes = 0;
      for (let at = 0; at < count; at += 1) {
        const admission = admitted(access, given[at % given.length] as Head);
        if (admission.refusal !== undefined) throw new Error(`request ${at} was refused`);
        bytes += limitLines(admission).length;
      }
      if (bytes < count * 50) throw new Error('header lines are missing');
    },
  };
}

/** Nanoseconds a call. */
function measure({ run }: Lane, count: number): number {
  const beginning = process.hrtime.bigint();
  run(count);
  return Number(process.hrtime.bigint() - beginning) / count;
}

async function lanes(subject: Subject, folder: string): Promise<Lane[]> {
  const { access, issue } = subject;
  const many = heads(Array.from({ length: MANY }, () => issue('growth')));
  const anonymous = heads(['']);
  const subnets = heads([''], Uint8Array.of(0x20, 1, 0xd, 0xb8, 0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 1));
  await verify(subject, many);
  const empty = new native.Access(join(folder, 'limits'), []);
  const nothing = (count: number): void => {
    for (let at = 0; at < count; at += 1) empty.forgetKeys();
  };
  return [
    { name: 'empty native call', run: nothing },
    requests('one key', access, many.slice(0, 1)),
    requests(`${figure(MANY)} keys in turn`, access, many),
    requests('an address', access, anonymous),
    requests('an IPv6 address', access, subnets),
  ];
}

/** Runs it, prints and judges the cost, and writes the record; resolves to the exit code. */
export async function benchAccess(options: AccessOptions): Promise<number> {
  const startedAt = new Date();
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-bench-'));
  const costs = new Map<string, number[]>();
  try {
    const all = await lanes(build(folder), folder);
    for (const lane of all) measure(lane, options.requests / 10);
    for (let round = 0; round < options.rounds; round += 1) {
      for (const lane of all) {
        costs.set(lane.name, [...(costs.get(lane.name) ?? []), measure(lane, options.requests)]);
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return report(options, startedAt, costs);
}

function report(
  options: AccessOptions,
  startedAt: Date,
  costs: ReadonlyMap<string, readonly number[]>,
): number {
  const rows = [...costs].map(([name, values]): [string, Spread] => [name, spread(values)]);
  const worst = Math.max(...rows.map(([, { median }]) => median));
  const verdict = worst <= TARGET_NS ? 'pass' : 'missed';
  const host = machine();
  const record = { startedAt: startedAt.toISOString(), machine: host, options, nanoseconds: rows, verdict };
  if (options.json) console.log(JSON.stringify(record, null, 2));
  else {
    for (const [name, values] of rows) console.log(`${name.padEnd(24)} ${figures(values)} ns`);
    console.log(`[target <= ${figure(TARGET_NS)} ns: ${verdict}]`);
  }
  if (options.record) {
    const svg = dotPlot({
      title: 'Key check, limit and header lines of a request',
      subtitle: `In process, ${options.rounds} rounds. ${host.cpu}, Node ${host.node.slice(1)}`,
      axis: 'nanoseconds (logarithmic)',
      series: ['cost'],
      rows: rows.map(([label, value]) => ({ label, values: [value], note: `${figure(value.median)} ns` })),
    });
    for (const file of writeRecord('access', startedAt, record, svg)) console.error(`Wrote ${file}`);
  }
  return verdict === 'missed' ? 2 : 0;
}
