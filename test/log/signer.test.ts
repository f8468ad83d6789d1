/** Signing: never a contradiction, whatever crashes, goes back, or believes that it holds the lease. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { openCheckpoint } from '../../src/log/note.js';
import type { SeenFile } from '../../src/log/seen.js';
import { keyless, signRound, type SignerParts } from '../../src/log/signer.js';
import { findLeaf, findSigned, includedAtMs, placeLeaf } from '../../src/store/tables/receiptLog.js';
import { writeSigned, writeTile } from '../../src/store/tables/receiptLog.js';
import type { Operation, Store } from '../../src/store/store.js';
import { naiveRoot } from '../reference/tree.js';
import { fence, idOf, keyOf, MemoryFile, World } from './world.js';

test('checkpoints have the root of all leaves, and the places and times of leaves are recorded', async () => {
  const world = new World();
  assert.deepEqual(await world.round(), { kind: 'signed', size: 0, more: false });
  assert.deepEqual(await world.round(), { kind: 'nothing new' });
  for (const count of [1, 2, 252, 1, 1, 300]) {
    await world.add(count);
    assert.deepEqual(await world.round(), { kind: 'signed', size: world.leaves.length, more: false });
    const signed = await world.signed();
    assert.ok(signed !== undefined);
    assert.deepEqual(Buffer.from(signed.root), naiveRoot(world.leaves));
    const opened = openCheckpoint(signed.note, { name: 'log.example', publicKey: keyOf(1).publicKey });
    assert.ok('size' in opened);
    assert.equal(opened.size, world.leaves.length);
  }
  assert.equal(await findLeaf(world.store.seen, idOf(256)), 256);
  assert.equal(await includedAtMs(world.store.seen, 556), 1_000);
  assert.equal(await includedAtMs(world.store.seen, 557), undefined);
});

test('receipts of earlier versions are added in the order of their log, and get their places', async () => {
  const world = new World();
  await world.add(300, '', true);
  assert.equal(await findLeaf(world.store.seen, idOf(7)), undefined);
  await world.add(5);
  await world.round();
  const signed = await world.signed();
  assert.deepEqual(Buffer.from(signed?.root ?? []), naiveRoot(world.leaves));
  for (const number of [0, 7, 299, 300, 304]) {
    assert.equal(await findLeaf(world.store.seen, idOf(number)), number);
  }
});

test('a store that went back is refused until it has everything again', async () => {
  const world = new World();
  await world.add(3);
  await world.round();
  const backup = world.store.length;
  await world.add(4);
  await world.round();
  const whole = world.store.length;
  const kept = world.file.state;
  const { leaves } = world;
  assert.equal(whole - backup, 5);
  world.store.restore(backup);
  const fewer = await world.round();
  assert.ok(fewer.kind === 'refused');
  assert.match(fewer.reason, /knows a signed checkpoint of 7 leaves; the store has 3/);
  // Other receipts came meanwhile: as many, and more.
  leaves.length = 3;
  await world.add(9, 'other');
  const other = await world.round();
  assert.ok(other.kind === 'refused');
  assert.match(other.reason, /not the one whose checkpoint of 7 leaves was signed/);
  assert.deepEqual(world.file.state, kept, 'what was seen stays noted');
});

test('a restored store waits for the operator', async () => {
  const world = new World();
  await world.add(1);
  await world.round();
  const found = await findSigned(world.store.seen);
  assert.ok(found !== undefined);
  await world.store.commit([writeSigned(found.record, { ...found.signed, restored: true })]);
  await world.add(1);
  const refused = await world.round();
  assert.ok(refused.kind === 'refused');
  assert.match(refused.reason, /restored from a backup/);
});

test('another key is refused', async () => {
  const world = new World();
  await world.add(1);
  await world.round();
  const parts = world.partsOf(new MemoryFile(), keyOf(2));
  const refused = await signRound(parts, fence);
  assert.ok(refused.kind === 'refused');
  assert.match(refused.reason, /signed by another key, log\.example\+/);
});

/** Retires the key of a world's log, as `fusegate log resolve --new-key` does. */
async function retire(world: World): Promise<void> {
  const found = await findSigned(world.store.seen);
  assert.ok(found !== undefined);
  const retired = writeSigned(found.record, keyless(found.signed));
  assert.equal((await world.store.commit([retired])).kind, 'done');
  world.file.remove();
}

test('a retired key never signs again, though its server runs on; one that never signed does', async () => {
  const world = new World();
  const round = (number: number) => signRound(world.partsOf(world.file, keyOf(number)), fence);
  const refused = async (number: number, why: RegExp): Promise<void> => {
    const outcome = await round(number);
    assert.match(outcome.kind === 'refused' ? outcome.reason : outcome.kind, why);
  };
  await world.add(1);
  assert.equal((await round(1)).kind, 'signed');
  await world.add(1);
  // The key is retired while a round of it is under way.
  world.store.before = () => retire(world);
  assert.deepEqual(await round(1), { kind: 'overtaken' });
  await refused(1, /^The key of the log here was retired\. Give this machine .+ log resolve --new-key\.$/);
  assert.deepEqual(await round(2), { kind: 'signed', size: 2, more: false });
  await refused(1, /signed by another key, log\.example\+/);
  await world.add(1);
  assert.deepEqual(await round(2), { kind: 'signed', size: 3, more: false });
  await retire(world);
  await retire(world);
  for (const number of [1, 2]) await refused(number, /^The key of the log here was retired/);
  assert.deepEqual((await world.signed())?.retiredKeys, [keyOf(1).publicKey, keyOf(2).publicKey]);
  assert.deepEqual(await round(3), { kind: 'signed', size: 3, more: false });
});

test('of two machines that believe they hold the lease, one signs', async () => {
  const world = new World();
  const other = new MemoryFile();
  await world.add(2);
  await world.round();
  await world.add(2);
  assert.deepEqual(await world.round(other, 6), { kind: 'overtaken' }, 'an older fencing number');
  await world.add(1);
  // The other signs between this one's reads and its unit.
  world.store.before = async () => {
    assert.equal((await world.round(other)).kind, 'signed');
  };
  assert.deepEqual(await world.round(), { kind: 'overtaken' });
  // The other signed what it had noted before it lost its lease; this one goes on from there.
  assert.deepEqual(await world.round(), { kind: 'signed', size: 5, more: false });
  assert.deepEqual(Buffer.from((await world.signed())?.root ?? []), naiveRoot(world.leaves));
});

test('a round adds at most 4096 leaves, and the next ones add the rest', async () => {
  const world = new World();
  await world.addAll(4_097);
  assert.deepEqual(await world.round(), { kind: 'signed', size: 4_096, more: true });
  assert.deepEqual(await world.round(), { kind: 'signed', size: 4_097, more: false });
  assert.deepEqual(Buffer.from((await world.signed())?.root ?? []), naiveRoot(world.leaves));
});

test('what was noted before a crash is signed exactly, whatever has been added since', async () => {
  const world = new World();
  for (const [before, since] of [
    [1, 2],
    [3, 4],
  ] as const) {
    await world.add(before, '', true);
    const size = world.leaves.length;
    world.store.fault = 'not written';
    await assert.rejects(world.round(), /crash/);
    await world.add(since, '', true);
    assert.deepEqual(await world.round(), { kind: 'signed', size, more: true });
    assert.deepEqual(Buffer.from((await world.signed())?.root ?? []), naiveRoot(world.leaves.slice(0, size)));
    assert.equal(await findLeaf(world.store.seen, idOf(size - 1)), size - 1);
    assert.equal(await findLeaf(world.store.seen, idOf(size)), undefined, 'it is in no checkpoint yet');
    assert.deepEqual(await world.round(), { kind: 'signed', size: size + since, more: false });
  }
});

test('what was noted is signed exactly, also if it is further ahead than a round goes', async () => {
  const world = new World();
  await world.addAll(4_098);
  world.file.state = { size: 4_097, root: naiveRoot(world.leaves.slice(0, 4_097)) };
  assert.deepEqual(await world.round(), { kind: 'signed', size: 4_097, more: true });
  assert.deepEqual(Buffer.from((await world.signed())?.root ?? []), naiveRoot(world.leaves.slice(0, 4_097)));
});

test('a round reads the new leaves alone, and writes the places of those that have none', async () => {
  const world = new World();
  await world.add(300);
  await world.round();
  await world.add(2);
  await world.add(1, '', true);
  const reads: number[] = [];
  const written: Operation[] = [];
  const { seen } = world.store;
  const store: Store = {
    ...seen,
    read: (log, range) => (reads.push(range.after), seen.read(log, range)),
    commit: (operations) => (written.push(...operations), seen.commit(operations)),
  };
  const round = await signRound({ ...world.partsOf(world.file), store }, fence);
  assert.deepEqual(round, { kind: 'signed', size: 303, more: false });
  assert.deepEqual(reads, [300]);
  const places = written.filter((each) => each.kind === 'put' && each.space === 'leafPlaces');
  assert.deepEqual(places, [placeLeaf(idOf(302), 302)]);
});

test('another name, and another key that may go on, are signed without new leaves', async () => {
  const world = new World();
  await world.add(1);
  await world.round();
  assert.equal(await includedAtMs(world.store.seen, 0), 1_000);
  const parts = { ...world.partsOf(world.file), clock: { wallMs: () => 2_000 } };
  const renamed = { ...parts, origin: 'other.example' };
  assert.deepEqual(await signRound(renamed, fence), { kind: 'signed', size: 1, more: false });
  assert.equal((await world.signed())?.origin, 'other.example');
  assert.equal((await world.signed())?.atMs, 2_000);
  const found = await findSigned(world.store.seen);
  assert.ok(found !== undefined);
  await world.store.commit([writeSigned(found.record, { ...found.signed, publicKey: Buffer.alloc(0) })]);
  const another = { ...renamed, key: keyOf(2) };
  assert.deepEqual(await signRound(another, fence), { kind: 'signed', size: 1, more: false });
  assert.deepEqual(await signRound(another, fence), { kind: 'nothing new' });
  assert.deepEqual((await world.signed())?.publicKey, keyOf(2).publicKey);
  assert.equal(await includedAtMs(world.store.seen, 0), 1_000, 'the leaf was included before');
});

/** Signs in a world whose store lacks something; why it is refused. */
async function refusal(world: World, given: Partial<SignerParts>): Promise<string> {
  const before = await world.signed();
  const round = await signRound({ ...world.partsOf(world.file), ...given }, fence);
  assert.ok(round.kind === 'refused', round.kind);
  assert.deepEqual(await world.signed(), before, 'nothing is signed');
  return round.reason;
}

test('a log whose tiles or leaves are missing is refused, as is a file that is damaged', async () => {
  const world = new World();
  await world.add(300);
  await world.round();
  const kept = world.file.state;
  await world.add(300);
  await world.round();
  await world.add(1);
  const { seen } = world.store;
  const without = (level: number, index: number): Store => {
    const { key } = writeTile({ level, index, hashes: Buffer.alloc(0) }) as { readonly key: Uint8Array };
    const isIt = (space: string, other: Uint8Array): boolean =>
      space === 'logTiles' && Buffer.compare(key, other) === 0;
    return {
      ...seen,
      get: (space, of) => (isIt(space, of) ? Promise.resolve(undefined) : seen.get(space, of)),
    };
  };
  assert.match(await refusal(world, { store: without(0, 2) }), /^Tiles of the log are missing\. Restore/);
  assert.match(await refusal(world, { store: without(1, 0) }), /^Tiles of the log are missing\. Restore/);
  const unread: Store = { ...seen, read: () => Promise.resolve([]) };
  assert.match(await refusal(world, { store: unread }), /^Tiles of the log are missing\. Restore/);
  // Another machine saw an earlier checkpoint, whose tile is gone.
  const late = new MemoryFile();
  late.state = kept;
  const gone = /not the one whose checkpoint of 300 leaves was signed/;
  assert.match(await refusal(world, { store: without(0, 1), seen: late }), gone);
  const damaged: SeenFile = {
    read: () => ({ wrong: 'log-seen is damaged' }),
    write: () => assert.fail('it stays as it is'),
    writeNow: () => assert.fail('it stays as it is'),
    remove: () => assert.fail('it stays as it is'),
  };
  assert.match(await refusal(world, { seen: damaged }), /^log-seen is damaged\. Restore a store that has it/);
  assert.equal((await world.round()).kind, 'signed');
});

test('a log that loses a tile during a round is refused', async () => {
  const world = new World();
  await world.add(3);
  await world.round();
  const { seen } = world.store;
  let isRead = false;
  const lossy: Store = {
    ...seen,
    get(space, key) {
      if (space !== 'logTiles') return seen.get(space, key);
      const found = isRead ? Promise.resolve(undefined) : seen.get(space, key);
      isRead = true;
      return found;
    },
  };
  // Another name is signed over the same leaves.
  const reason = await refusal(world, { store: lossy, origin: 'other.example' });
  assert.match(reason, /^Tiles of the log are missing\. Restore/);
});

test('a store that contradicts its own checkpoint is refused, also by a machine that saw none', async () => {
  const world = new World();
  await world.add(3);
  await world.round();
  const found = await findSigned(world.store.seen);
  assert.ok(found !== undefined);
  await world.store.commit([writeSigned(found.record, { ...found.signed, root: Buffer.alloc(32, 9) })]);
  await world.add(1);
  const reason = await refusal(world, { seen: new MemoryFile() });
  assert.match(reason, /not the one whose checkpoint of 3 leaves was signed/);
});

type Step =
  | { readonly kind: 'add'; readonly count: number }
  | { readonly kind: 'sign'; readonly machine: 0 | 1; readonly crash: Crash }
  | { readonly kind: 'back'; readonly share: number };
type Crash = 'none' | 'before file' | 'after file' | 'before store' | 'after store';

const crash = fc.constantFrom<Crash>(
  'none',
  'none',
  'before file',
  'after file',
  'before store',
  'after store',
);
const machine = fc.constantFrom<0 | 1>(0, 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('add' as const), count: fc.integer({ min: 1, max: 9 }) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('sign' as const), machine, crash }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('back' as const),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
);

/** Runs one step; a crash ends it with an error, as a process ends. */
async function take(
  world: World,
  files: readonly MemoryFile[],
  each: Step & { kind: 'sign' },
): Promise<void> {
  const file = files[each.machine] ?? world.file;
  const state = (at: string): 'not written' | 'written' | undefined =>
    each.crash === `before ${at}` ? 'not written' : each.crash === `after ${at}` ? 'written' : undefined;
  file.fault = state('file');
  world.store.fault = state('store');
  try {
    await world.round(file);
  } catch (error) {
    assert.match(String(error), /crash/);
  }
  file.fault = undefined;
  world.store.fault = undefined;
}

test('whatever crashes between two steps, no two signed checkpoints contradict each other', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 30 }), async (steps) => {
    const world = new World();
    const files = [world.file, new MemoryFile()];
    /** The leaves of every checkpoint that was ever published, however it ended. */
    const published: { readonly size: number; readonly root: Buffer; readonly leaves: readonly Buffer[] }[] =
      [];
    let branch = 0;
    for (const each of steps) {
      if (each.kind === 'add') await world.add(each.count, String(branch));
      else if (each.kind === 'back') {
        world.store.restore(Math.floor(world.store.length * each.share));
        world.leaves.length = await world.store.seen.last('fragments');
        branch += 1;
      } else {
        await take(world, files, each);
        const signed = await world.signed();
        if (signed === undefined) continue;
        const root = Buffer.from(signed.root);
        published.push({ size: signed.size, root, leaves: world.leaves.slice(0, signed.size) });
        // Every machine sees a published checkpoint within a second.
        for (const file of files)
          if ((file.state?.size ?? -1) < signed.size) await file.write({ size: signed.size, root });
      }
    }
    for (const { root, leaves } of published) assert.deepEqual(root, naiveRoot(leaves));
    const longest = published.reduce<readonly Buffer[]>(
      (most, { leaves }) => (leaves.length > most.length ? leaves : most),
      [],
    );
    for (const { leaves } of published) assert.deepEqual(leaves, longest.slice(0, leaves.length));
  });
  await fc.assert(property, { numRuns: 150 });
});
