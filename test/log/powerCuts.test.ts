/** Power cuts while checkpoints are signed: of store and file at the same moment; needs strace. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { auditLog } from '../../src/log/audit.js';
import { logHandlers } from '../../src/log/handlers.js';
import { native } from '../../src/native/addon.js';
import { findSigned } from '../../src/store/tables/receiptLog.js';
import type { Store } from '../../src/store/store.js';
import { request } from '../support/serving.js';
import { temporaryFolder } from '../support/run.js';
import { naiveRoot } from '../reference/tree.js';
import { Disk, layOut, type Found } from '../store/folderCut.js';
import { buildWithoutSync } from '../store/noSync.js';
import { storeAt } from '../support/openStore.js';
import { cuts, generator, laidOver, pieces, type Piece } from '../store/powerCut.js';
import { skipWithout } from '../store/tools.js';
import { bytesOf, fileEvents, Positions, readTrace, traceArguments, type Call } from '../store/trace.js';
import { roundLeaves, signAll } from './signing.js';
import { keyOf, receiptUnit, sealOf } from './world.js';

const program = fileURLToPath(new URL('signing.js', import.meta.url));
const skip = skipWithout('strace', 'cc');
const rounds = 4;

/** What is there after a cut: the store's file and the data folder, of the same moment. */
interface Remains {
  readonly image: Buffer;
  readonly folder: Found;
  /** The line of the trace before which the power went. */
  readonly line: number;
  readonly how: string;
}

/** Pairs of what may be left of both: each may have lost all since its last sync, a part, or nothing. */
function* remainsAt(
  { durable, loose }: { readonly durable: Buffer; readonly loose: readonly Piece[] },
  disk: Disk,
  line: number,
  choose: (count: number) => number,
): Generator<Remains> {
  const files = [...cuts({ durable, loose, line, random: 1, choose })];
  const folders = [...disk.remains(1, choose)];
  // Every state of each, with one of the other.
  for (let at = 0; at < Math.max(files.length, folders.length); at += 1) {
    const file = files[at] ?? files[choose(files.length)];
    const folder = folders[at] ?? folders[choose(folders.length)];
    if (file === undefined || folder === undefined) continue;
    const how = `store: ${file.how}; folder: ${folder.how}`;
    yield { image: file.image, folder: folder.folder, line, how };
  }
}

/** The remains of cuts before each sync of the store and each change of the folder, and after the last. */
function* cutsIn(base: Buffer, disk: Disk, calls: readonly Call[]): Generator<Remains> {
  const choose = generator(7);
  const positions = new Positions(calls);
  const events = new Map(fileEvents(calls, '/store/data.mdb').map((event) => [event.call, event]));
  let durable = base;
  let loose: Piece[] = [];
  for (const call of calls) {
    const event = events.get(call);
    if (event?.kind === 'write' && !event.synced) loose.push(...pieces(event));
    else if (event !== undefined) {
      yield* remainsAt({ durable, loose }, disk, call.begun, choose);
      durable = (event.kind === 'sync' ? loose : pieces(event)).reduce(laidOver, Buffer.from(durable));
      if (event.kind === 'sync') loose = [];
    } else if (disk.concerns(call)) {
      const before = [...remainsAt({ durable, loose }, disk, call.begun, choose)];
      if (disk.see(call, positions)) yield* before;
    }
  }
  yield* remainsAt({ durable, loose }, disk, Infinity, choose);
}

/** The largest number that was acknowledged under a word before a line. */
function acknowledged(calls: readonly Call[], word: string, line: number): number {
  const said = calls.filter(
    ({ name, args, ended }) => name === 'write' && args.startsWith('1<') && ended < line,
  );
  const numbers = said.map(
    ({ args }) => new RegExp(`^ACK ${word} (\\d+)\\n$`).exec(bytesOf(args).toString())?.[1],
  );
  return Math.max(0, ...numbers.map((each) => Number(each ?? 0)));
}

/** The sentence that says what an audit of a store finds. */
async function audited(store: Store): Promise<string> {
  const handlers = logHandlers({ store, tree: native });
  const fetch = async (path: string): Promise<Buffer> => {
    const [, level = '', n1 = '', n2, n3] = path.split('/');
    const tile = { level, n1, ...(n2 === undefined ? {} : { n2 }), ...(n3 === undefined ? {} : { n3 }) };
    const asked = { ...request({ input: undefined }), path: path === 'checkpoint' ? {} : tile };
    const answer = await (path === 'checkpoint' ? handlers.logCheckpoint : handlers.logTile)(asked);
    assert.ok('body' in answer && answer.status === 200, path);
    return Buffer.from((answer.body as { bytes: string | Uint8Array }).bytes);
  };
  const key = { name: 'log.example', publicKey: keyOf(1).publicKey };
  const outcome = await auditLog({ tree: native, fetch, progress: () => undefined }, key);
  return 'wrong' in outcome ? outcome.wrong : 'right';
}

/** What must hold of a log after a cut, and that it goes on. */
async function check(place: string, calls: readonly Call[], line: number): Promise<void> {
  const store = await storeAt(`lmdb:${join(place, 'store')}`);
  try {
    const leaves = await store.last('fragments');
    assert.ok(leaves >= acknowledged(calls, 'leaves', line), 'no acknowledged receipt is lost');
    const before = (await findSigned(store))?.signed;
    const size = before?.size ?? 0;
    assert.ok(size >= acknowledged(calls, 'signed', line), 'no published checkpoint is lost');
    const all = Array.from({ length: leaves + 1 }, (_, at) => sealOf(at));
    if (before !== undefined) assert.deepEqual(Buffer.from(before.root), naiveRoot(all.slice(0, size)));
    await store.commit(receiptUnit(leaves, sealOf(leaves)));
    assert.deepEqual(await signAll(store, join(place, 'data'), 1e9), { kind: 'nothing new' });
    const after = (await findSigned(store))?.signed;
    assert.equal(after?.size, leaves + 1);
    assert.deepEqual(Buffer.from(after.root), naiveRoot(all));
    assert.equal(await audited(store), 'right');
  } finally {
    await store.close();
  }
}

/** Signs under a trace, cuts the power everywhere, and checks what is left; returns the count of cuts. */
async function checkCuts(preload: readonly string[] = []): Promise<number> {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  mkdirSync(data);
  await (await storeAt(`lmdb:${join(folder, 'store')}`)).close();
  const base = readFileSync(join(folder, 'store', 'data.mdb'));
  const disk = new Disk(data);
  const file = join(folder, 'trace');
  const run = spawnSync(
    'strace',
    [...preload, ...traceArguments(file), process.execPath, program, folder, String(rounds)],
    { encoding: 'utf8' },
  );
  assert.equal(run.status, 0, run.stderr);
  const calls = readTrace(readFileSync(file, 'latin1'));
  assert.equal(acknowledged(calls, 'signed', Infinity), rounds * roundLeaves);
  const remains = temporaryFolder();
  let count = 0;
  for (const { image, folder: found, line, how } of cutsIn(base, disk, calls)) {
    const place = join(remains, String((count += 1)));
    mkdirSync(join(place, 'store'), { recursive: true });
    writeFileSync(join(place, 'store', 'data.mdb'), image);
    layOut(join(place, 'data'), found);
    await check(place, calls, line).catch((error: unknown) => {
      throw new Error(`after a cut before line ${line}, ${how}`, { cause: error });
    });
  }
  return count;
}

describe('a power cut while checkpoints are signed', { skip }, () => {
  test('leaves a log that continues without contradiction', async () => {
    const count = await checkCuts();
    assert.ok(count > 150, `${count} cuts`);
  });

  test('is detected to lose data in a build that does not sync what it published', async () => {
    const preload = ['-E', `LD_PRELOAD=${buildWithoutSync(temporaryFolder())}`];
    await assert.rejects(checkCuts(preload), (error: Error) => {
      assert.match(String(error.cause), /is lost/);
      return true;
    });
  });
});
