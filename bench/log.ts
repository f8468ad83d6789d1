/**
 * `bench log`: submissions into a store on disk with the log of receipts and without it, the two in turns; a
 * proof's CPU and a tile's from a store with 1,000,000 leaves; and a full audit of that log. All in one
 * process, so that nothing but the log differs: over HTTP its share is smaller.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endlessRoom } from '../src/receipts/total.js';
import { submit } from '../src/receipts/submit.js';
import { auditLog } from '../src/log/audit.js';
import { logKey, signCheckpoint } from '../src/log/note.js';
import { proofText } from '../src/log/proof.js';
import { startPublishing, type Publishing } from '../src/log/publishing.js';
import { seenFile } from '../src/log/seen.js';
import { parseTilePath } from '../src/log/tilePath.js';
import { edgeOf, hashBytes, laidOver, proofOf, rootOf, storedTiles, tileWidth } from '../src/log/tree.js';
import { native } from '../src/native/addon.js';
import { encodeReceipt } from '../src/store/tables/fragments.js';
import { openStore } from '../src/store/open.js';
import { findTile, writeTile } from '../src/store/tables/receiptLog.js';
import type { Operation, Store } from '../src/store/store.js';
import { systemClock } from '../src/system/clock.js';
import { systemRandomness } from '../src/system/randomness.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import { figure, figures, ratios, spread } from './statistics.js';

/** What the command line may set. */
export interface LogOptions extends RecordOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly leaves: number;
}

/** Least share of the rate without the log; most CPU of a proof (ms), and most time of the audit (s). */
const TARGETS = { share: 0.9, proofMs: 0.2, auditSeconds: 20 } as const;

/** Submissions on their way at once, and proofs that are made. */
const TOGETHER = 256;
const PROOFS = 2_000;
const ORIGIN = 'log.example';
const KEY = logKey(Buffer.alloc(32, 1));

const quiet = { error: () => undefined, warn: () => undefined, info: () => undefined };
const open = (folder: string): Promise<Store> =>
  openStore(`lmdb:${folder}`, { clock: systemClock, randomness: systemRandomness, log: quiet });

/** An operation as it is without the log: no seal, no place. */
function unlogged(operation: Operation): Operation {
  if (operation.kind !== 'append' || operation.log !== 'fragments' || operation.place === undefined) {
    return operation;
  }
  return {
    kind: 'append',
    log: 'fragments',
    value: encodeReceipt(Buffer.from(operation.place.key).toString()),
  };
}

/** Submits for a while; fragments a second. */
async function submissions(store: Store, seconds: number, mark: string): Promise<number> {
  const began = performance.now();
  const until = began + seconds * 1_000;
  let done = 0;
  const parts = { store, clock: systemClock, sealFragment: native.sealFragment, room: endlessRoom };
  const one = async (lane: number): Promise<void> => {
    for (let number = 0; performance.now() < until; number += 1) {
      const title = `Title ${mark} ${lane} ${number}`;
      await submit(parts, { title, content: `${title} has a content of its own. `.repeat(8) }, undefined);
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, (_, lane) => one(lane)));
  return done / ((performance.now() - began) / 1_000);
}

interface Rates {
  readonly with: number[];
  readonly without: number[];
}

async function measureRates(folder: string, { rounds, seconds }: LogOptions): Promise<Rates> {
  const [logged, plain] = [await open(join(folder, 'with')), await open(join(folder, 'without'))];
  const without: Store = {
    ...plain,
    get: plain.get.bind(plain),
    read: plain.read.bind(plain),
    scan: plain.scan.bind(plain),
    newUnitId: plain.newUnitId.bind(plain),
    commit: (operations, ...rest) => plain.commit(operations.map(unlogged), ...rest),
  };
  const rates: Rates = { with: [], without: [] };
  const publish = (): Publishing =>
    startPublishing({
      ...{
        store: logged,
        clock: systemClock,
        tree: native,
        openKey: () => ({ value: KEY }),
        origin: ORIGIN,
        log: quiet,
      },
      ...{ seen: seenFile(folder, String(process.pid)), holder: 'bench' },
    });
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? (['with', 'without'] as const) : (['without', 'with'] as const)) {
      const publishing = name === 'with' ? publish() : undefined;
      const store = name === 'with' ? logged : without;
      rates[name].push(await submissions(store, seconds, `${round}`));
      await publishing?.stop();
    }
  }
  await logged.close();
  await plain.close();
  return rates;
}

/** The entries of a log, one after the other. */
function entriesOf(leaves: number): Buffer {
  const all = Buffer.alloc(leaves * hashBytes);
  for (let at = 0; at < leaves; at += 1) {
    createHash('sha256')
      .update(String(at))
      .digest()
      .copy(all, at * hashBytes);
  }
  return all;
}

/** Entries with their lengths, as bundles have them. */
function bundleOf(entries: Buffer, index: number, width: number): Buffer {
  const bundle = Buffer.alloc(width * (2 + hashBytes));
  for (let at = 0; at < width; at += 1) {
    const from = (index * tileWidth + at) * hashBytes;
    bundle.writeUInt16BE(hashBytes, at * (2 + hashBytes));
    entries.copy(bundle, at * (2 + hashBytes) + 2, from, from + hashBytes);
  }
  return bundle;
}

/** Stores the tiles of a log; its root. */
async function growTo(store: Store, leaves: number, entries: Buffer): Promise<Buffer> {
  const step = 65_536;
  for (let size = 0; size < leaves; size = Math.min(leaves, size + step)) {
    const edge = await edgeOf(size, storedTiles(store));
    if (edge === undefined) throw new Error('tiles are missing');
    const to = Math.min(leaves, size + step);
    const own = entries.subarray(size * hashBytes, to * hashBytes);
    await store.commit(native.logGrow(size, edge, own).map(writeTile));
  }
  const root = await rootOf(native, leaves, laidOver([], storedTiles(store)));
  if (root === undefined) throw new Error('tiles are missing');
  return root;
}

/** CPU of each call (ms), all of this process' threads. */
async function cpuOf(calls: number, call: (at: number) => Promise<unknown>): Promise<number> {
  for (let at = 0; at < 100; at += 1) await call(at);
  const before = process.cpuUsage();
  for (let at = 0; at < calls; at += 1) await call(at);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / calls;
}

interface Large {
  readonly proofMs: number;
  readonly tileMs: number;
  readonly auditSeconds: number;
}

async function measureLarge(folder: string, { leaves }: LogOptions): Promise<Large> {
  const store = await open(join(folder, 'large'));
  const entries = entriesOf(leaves);
  const root = await growTo(store, leaves, entries);
  const note = signCheckpoint({ origin: ORIGIN, size: leaves, root }, KEY);
  const place = (at: number): number => (at * 7_919) % leaves;
  const find = storedTiles(store);
  const proofMs = await cpuOf(PROOFS, async (at) => {
    const hashes = await proofOf(native, 'inclusion', place(at), leaves, find);
    if (hashes === undefined) throw new Error('there is no proof');
    return proofText(place(at), hashes, note);
  });
  const tileMs = await cpuOf(PROOFS, (at) => findTile(store, 0, Math.floor(place(at) / tileWidth)));
  const fetch = async (path: string): Promise<Buffer> => {
    if (path === 'checkpoint') return Buffer.from(note);
    const parsed = parseTilePath(path.split('/').slice(1));
    if (parsed === undefined) throw new Error(`no tile ${path}`);
    const { level, index, width } = parsed;
    return level === 'entries'
      ? bundleOf(entries, index, width)
      : (await find(level, index)).subarray(0, width * hashBytes);
  };
  const began = performance.now();
  const parts = { tree: native, fetch, progress: () => undefined };
  const audited = await auditLog(parts, { name: ORIGIN, publicKey: KEY.publicKey });
  if ('wrong' in audited) throw new Error(audited.wrong);
  const auditSeconds = (performance.now() - began) / 1_000;
  await store.close();
  return { proofMs, tileMs, auditSeconds };
}

/** Runs it, prints and judges the figures, and writes the record; resolves to the exit code. */
export async function benchLog(options: LogOptions): Promise<number> {
  const startedAt = new Date();
  const host = machine();
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-log-'));
  try {
    const rates = await measureRates(folder, options);
    const large = await measureLarge(folder, options);
    const share = ratios(rates.with, rates.without);
    const judged = [
      share.median >= TARGETS.share,
      large.proofMs < TARGETS.proofMs,
      options.leaves < 1_000_000 || large.auditSeconds < TARGETS.auditSeconds,
    ];
    const passed = judged.every((each) => each);
    const record = { startedAt: startedAt.toISOString(), machine: host, options, rates, large, passed };
    const [rateWords = '', proofWords = '', auditWords = ''] = judged.map((each) =>
      each ? 'pass' : 'missed',
    );
    if (options.json) console.log(JSON.stringify(record, null, 2));
    else {
      console.log(`without the log: ${figures(spread(rates.without))} submissions a second`);
      console.log(`with it: ${figures(spread(rates.with))}, ${figures(share)} of that  [${rateWords}]`);
      console.log(`a proof: ${figure(large.proofMs)} ms of CPU  [${proofWords}]`);
      console.log(`a tile from the store: ${figure(large.tileMs)} ms of CPU`);
      console.log(`an audit of ${options.leaves} leaves: ${figure(large.auditSeconds)} s  [${auditWords}]`);
    }
    if (options.record) {
      const row = (label: string, values: readonly number[]) => {
        const of = spread(values);
        return { label, values: [of], note: `${figure(of.median)}/s` };
      };
      const plot = dotPlot({
        title: `Submissions in process, ${TOGETHER} at once, LMDB`,
        subtitle: `${host.cpu}, Node ${host.node.slice(1)}, load ${host.uptimeLoad}`,
        axis: 'fragments a second (logarithmic)',
        series: ['rate'],
        rows: [row('with the log of receipts', rates.with), row('without it', rates.without)],
      });
      for (const file of writeRecord('log', startedAt, record, plot)) console.error(`Wrote ${file}`);
    }
    return passed ? 0 : 2;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
