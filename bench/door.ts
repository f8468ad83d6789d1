/**
 * `bench door`: the digests of a fragment in one native call; durable POST /dream and GET /receipt/{id}
 * through HTTP with one worker, the store counted afterwards, beside the machine's bare fdatasync; and
 * GET /graph/near among 100,000 fragments.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ReceiptResponse } from '../src/contract/receipt.js';
import { native } from '../src/native/addon.js';
import { entriesAfter } from '../src/store/entries.js';
import { decodeReceipt } from '../src/store/tables/fragments.js';
import { openStore } from '../src/store/open.js';
import { systemClock } from '../src/system/clock.js';
import { systemRandomness } from '../src/system/randomness.js';
import { bareSyncs } from './leads.js';
import { runWrk, withWrk, type Load } from './load.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import { measureNear, NEAR_FRAGMENTS, type NearFigures, type NearTimes } from './near.js';
import type { Server } from './processes.js';
import { startFusegate } from './servers.js';
import { figure, spread } from './statistics.js';

/** What the command line may set. */
export interface DoorOptions extends RecordOptions {
  readonly seconds: number;
  readonly connections: number;
}

/** Most time of a set of digests (µs), least rates (1/s), and most time of /graph/near (ms), that pass. */
const TARGETS = { ascii: 15, cjk: 120, submissions: 4_000, receipts: 8_000, near: 5 } as const;
const CHARACTERS = 2_000;
const ROUNDS = 30;
const CALLS = 200;
/** Receipts that are read again and again. */
const READ_RECEIPTS = 10_000;
/** Receipts whose verification is looked at after the load. */
const CHECKED_RECEIPTS = 200;

/** A text of characters from `first` on, `span` different ones, in a fixed order without a pattern. */
function text(first: number, span: number): string {
  let state = 20_261_121;
  return Array.from({ length: CHARACTERS }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return String.fromCodePoint(first + ((state >>> 8) % span));
  }).join('');
}

/** Shortest mean time (µs) of a native call over some rounds. */
function digestMicroseconds(content: string): number {
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    for (let call = 0; call < CALLS; call += 1) {
      const receipt = 'fr_01M7YQ1WE038NKRKAYDXR834J3';
      native.sealFragment(
        'A title',
        content,
        '',
        '',
        'HYPOTHESIS',
        'bench',
        receipt,
        '2026-11-21T09:30:00.000Z',
      );
    }
    return ((performance.now() - start) * 1000) / CALLS;
  });
  return Math.min(...times);
}

/** Receipts in the store's log. */
async function stored(storeFolder: string): Promise<string[]> {
  const log = { error: () => undefined, warn: () => undefined, info: () => undefined };
  const parts = { clock: systemClock, randomness: systemRandomness, log };
  const store = await openStore(`lmdb:${storeFolder}`, parts);
  const receipts: string[] = [];
  for await (const { value } of entriesAfter(store, 'fragments', 0)) receipts.push(decodeReceipt(value));
  await store.close();
  return receipts;
}

/** @throws when a receipt does not verify: a rate of wrong answers is none */
async function checkReceipts(server: Server, receipts: readonly string[]): Promise<void> {
  for (const receipt of receipts) {
    const response = await fetch(`${server.url}/receipt/${receipt}`);
    const body = (await response.json()) as ReceiptResponse;
    if (!body.cryptographic_verification.verified) throw new Error(`${receipt} does not verify`);
  }
}

/** What the HTTP part measured. */
interface Served {
  readonly submissions: Load;
  readonly receipts: Load;
  /** Fragments in the store after every process was killed; those in flight at the end may be there too. */
  readonly stored: number;
}

async function serve(folder: string, { connections, seconds }: DoorOptions): Promise<Served> {
  const storeFolder = join(folder, 'door', 'store');
  const server = await startFusegate({
    STORE_URL: `lmdb:${storeFolder}`,
    LOG_LEVEL: 'error',
    DOOR_SUBMISSIONS_PER_MINUTE: '0',
    EXPLORATIONS_PER_MINUTE: '0',
    PAGES_PER_MINUTE: '0',
  });
  const run = { script: 'door.lua', path: '/', connections, seconds };
  try {
    const submissions = await runWrk(server, { ...run, argument: 'submit' });
    const known = (await stored(storeFolder)).slice(0, READ_RECEIPTS);
    await checkReceipts(server, known.slice(-CHECKED_RECEIPTS));
    const list = join(folder, 'receipts');
    writeFileSync(list, known.map((receipt) => `${receipt}\n`).join(''));
    const receipts = await runWrk(server, { ...run, argument: list });
    for (const pid of server.pids()) process.kill(pid, 'SIGKILL');
    return { submissions, receipts, stored: (await stored(storeFolder)).length };
  } finally {
    await server.stop();
  }
}

/** What is wrong with the store, as a sentence; undefined when nothing is. */
function fault({ submissions, stored: count }: Served, connections: number): string | undefined {
  if (count < submissions.requests)
    return `${submissions.requests - count} acknowledged fragments are not there`;
  if (count > submissions.requests + connections)
    return `${count - submissions.requests} were not acknowledged`;
  return undefined;
}

/** Runs it, prints and judges the figures, and writes the record; resolves to the exit code. */
export function benchDoor(options: DoorOptions): Promise<number> {
  return withWrk(async (folder, startedAt) => {
    const digests = {
      ascii: digestMicroseconds(text(0x61, 26)),
      cjk: digestMicroseconds(text(0x4e00, 20_000)),
    };
    const before = bareSyncs(folder);
    const served = await serve(folder, options);
    const near = await measureNear(folder);
    return report(options, startedAt, digests, served, [before, bareSyncs(folder)], near);
  });
}

type Digests = Readonly<Record<'ascii' | 'cjk', number>>;

function report(
  options: DoorOptions,
  startedAt: Date,
  digests: Digests,
  served: Served,
  syncs: readonly number[],
  near: NearFigures,
): number {
  const wrong = fault(served, options.connections);
  const { submissions, receipts } = served;
  const verdicts = {
    ascii: digests.ascii < TARGETS.ascii,
    cjk: digests.cjk < TARGETS.cjk,
    submissions: wrong === undefined && submissions.requestsPerSecond >= TARGETS.submissions,
    receipts: receipts.requestsPerSecond >= TARGETS.receipts,
    near: Math.max(near.exact.p50, near.index.p50) < TARGETS.near,
  };
  const host = machine();
  const record = {
    startedAt: startedAt.toISOString(),
    machine: host,
    options,
    digests,
    ...served,
    syncs,
    near,
    verdicts,
  };
  if (options.json) console.log(JSON.stringify(record, null, 2));
  else {
    print(digests, served, syncs, verdicts, wrong);
    printNear(near, verdicts.near);
  }
  if (options.record) {
    for (const file of writeRecord('door', startedAt, record, plot(host, served, syncs))) {
      console.error(`Wrote ${file}`);
    }
  }
  return Object.values(verdicts).every((passed) => passed) ? 0 : 2;
}

function print(
  digests: Digests,
  { submissions, receipts, stored: count }: Served,
  syncs: readonly number[],
  verdicts: Readonly<Record<keyof typeof TARGETS, boolean>>,
  wrong: string | undefined,
): void {
  const judged = (name: keyof typeof TARGETS): string =>
    `[target ${figure(TARGETS[name])}: ${verdicts[name] ? 'pass' : 'missed'}]`;
  const latency = ({ p50Microseconds: p50, p99Microseconds: p99 }: Load): string =>
    `p50 ${figure(p50 / 1000)} ms, p99 ${figure(p99 / 1000)} ms`;
  console.log(`bare fdatasync of 4 KiB: ${syncs.map(figure).join(' and ')} a second, before and after`);
  for (const name of ['ascii', 'cjk'] as const) {
    console.log(`digests of ${CHARACTERS} ${name} characters: ${figure(digests[name])} µs  ${judged(name)}`);
  }
  console.log(
    `${figure(submissions.requestsPerSecond)} submissions a second, ${latency(submissions)}; ` +
      `${figure(submissions.requests)} acknowledged, ${figure(count)} in the store` +
      `${wrong === undefined ? '' : `; ${wrong}`}  ${judged('submissions')}`,
  );
  console.log(
    `${figure(receipts.requestsPerSecond)} verified receipts a second, ${latency(receipts)}  ` +
      judged('receipts'),
  );
}

function printNear({ exact, index, rebuildSeconds }: NearFigures, passed: boolean): void {
  const line = ({ p50, p99, recall }: NearTimes): string =>
    `p50 ${figure(p50)} ms, p99 ${figure(p99)} ms, recall ${recall.toFixed(3)}`;
  console.log(
    `/graph/near among ${figure(NEAR_FRAGMENTS)}: by the index ${line(index)}; ` +
      `the exact scan in process ${line(exact)}  ` +
      `[target ${figure(TARGETS.near)} ms: ${passed ? 'pass' : 'missed'}]`,
  );
  console.log(`the file of vectors was rebuilt in ${figure(rebuildSeconds)} s`);
}

function plot(host: ReturnType<typeof machine>, served: Served, syncs: readonly number[]): string {
  const row = (label: string, values: readonly number[]) => ({
    label,
    values: [spread(values)],
    note: `${figure(spread(values).median)}/s`,
  });
  return dotPlot({
    title: 'Durable fragments and verified receipts through HTTP',
    subtitle: `500 characters, one worker, wrk on the same machine. ${host.cpu}, Node ${host.node.slice(1)}`,
    axis: 'per second (logarithmic)',
    series: ['rate'],
    rows: [
      row('bare fdatasync', syncs),
      row('POST /dream', [served.submissions.requestsPerSecond]),
      row('GET /receipt/{id}', [served.receipts.requestsPerSecond]),
    ],
  });
}
