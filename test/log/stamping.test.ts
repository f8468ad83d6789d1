/** Stamps: one a day, paid once, whatever crashes and however many run at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readHeader } from '../../src/log/blockHeader.js';
import { completed, dataScript, stamp, type Stamped, type StampWallet } from '../../src/log/stamping.js';
import { mostMessageBytes, openTimestamp } from '../../src/log/timestampFile.js';
import { stampsOf, type Stamp, type StoredStamp } from '../../src/store/tables/logStamps.js';
import { findSigned, writeSigned } from '../../src/store/tables/receiptLog.js';
import { dayMs } from '../../src/system/clock.js';
import { blockWith, transactionOf } from './chain.js';
import { World } from './world.js';

const mostSat = 500n;
const noonMs = Date.UTC(2026, 10, 23, 12);

/** A wallet in memory. Each call may end with a crash, before it takes effect or after. */
class MemoryWallet implements StampWallet {
  feeSat = 300n;
  tip = 900_000;
  private made = 0;
  /** Published transactions in hex: their label, and their height where a block has them. */
  readonly published = new Map<string, { label: string; height: number | undefined }>();
  /** Calls until the one that crashes, and when. */
  fault: { in: number; when: 'before' | 'after' } | undefined;

  private async call<Value>(effect: () => Value): Promise<Value> {
    await Promise.resolve();
    const { fault } = this;
    const isDue = fault !== undefined && fault.in === 0;
    if (fault !== undefined) fault.in -= 1;
    if (isDue && fault.when === 'before') throw new Error('crash');
    const value = effect();
    if (isDue) throw new Error('crash');
    return value;
  }

  readonly sign: StampWallet['sign'] = (data, label) =>
    this.call(() => {
      const earlier = [...this.published.values()].some((each) => each.label === label);
      if (earlier) return { wrong: 'the wallet has paid for it' };
      const transaction = transactionOf((this.made += 1), data);
      const bytes = transaction.byteLength;
      return { transaction, feeSat: this.feeSat, bytes, tipHeight: this.tip };
    });

  readonly publish: StampWallet['publish'] = (transaction, label) =>
    this.call(() => {
      const id = Buffer.from(transaction).toString('hex');
      if (!this.published.has(id)) this.published.set(id, { label, height: undefined });
      return undefined;
    });

  readonly find: StampWallet['find'] = (transaction, fromHeight) =>
    this.call(() => {
      const known = this.published.get(Buffer.from(transaction).toString('hex'));
      if (known === undefined) return { kind: 'absent' };
      const { height } = known;
      if (height === undefined || height < fromHeight) return { kind: 'waiting' };
      return blockWith(Buffer.from(transaction), height, this.tip - height + 1);
    });

  mine(blocks: number): void {
    this.tip += 1;
    for (const known of this.published.values()) known.height ??= this.tip;
    this.tip += blocks - 1;
  }
}

async function run(world: World, wallet: StampWallet, nowMs: number): Promise<Stamped[]> {
  const told: Stamped[] = [];
  const parts = { store: world.store.seen, wallet, clock: { wallMs: () => nowMs } };
  for await (const each of stamp(parts, mostSat)) told.push(each);
  return told;
}

async function stampsIn(world: World): Promise<StoredStamp[]> {
  const found: StoredStamp[] = [];
  for await (const each of stampsOf(world.store.seen)) found.push(each);
  return found;
}

function assertProves({ note, header, timestamp, height }: Stamp): void {
  const opened = openTimestamp(Buffer.from(timestamp), Buffer.from(note));
  const read = readHeader(Buffer.from(header));
  assert.ok('hash' in read && !('wrong' in opened));
  assert.deepEqual(opened, [{ root: read.merkleRoot, height }]);
}

async function logged(count: number): Promise<World> {
  const world = new World();
  await world.add(count);
  await world.round();
  return world;
}

test('a checkpoint is stamped once a day, and proven when its block is deep enough', async () => {
  const world = await logged(3);
  const wallet = new MemoryWallet();
  const day = '2026-11-23';
  assert.deepEqual(await run(world, wallet, noonMs), [{ kind: 'published', day, size: 3, feeSat: 300n }]);
  assert.deepEqual(await run(world, wallet, noonMs), [{ kind: 'waiting', day, confirmations: 0 }]);
  wallet.mine(5);
  assert.deepEqual(await run(world, wallet, noonMs), [{ kind: 'waiting', day, confirmations: 5 }]);
  wallet.mine(1);
  assert.deepEqual(await run(world, wallet, noonMs), [{ kind: 'complete', day, height: 900_001 }]);
  assert.deepEqual(await run(world, wallet, noonMs), []);
  const next = '2026-11-24';
  assert.deepEqual(await run(world, wallet, noonMs + dayMs), [{ kind: 'nothing new', day: next }]);
  await world.add(1);
  await world.round();
  const [made] = await run(world, wallet, noonMs + dayMs);
  assert.deepEqual(made, { kind: 'published', day: next, size: 4, feeSat: 300n });
  const [first, second] = await stampsIn(world);
  assert.ok(first !== undefined && second?.stamp.height === null);
  assertProves(first.stamp);
  assert.equal(wallet.published.size, 2);
});

test('nothing is spent over the limit, without a valid checkpoint, or twice', async () => {
  const world = await logged(1);
  const wallet = new MemoryWallet();
  wallet.feeSat = mostSat + 1n;
  const day = '2026-11-23';
  const dear = { kind: 'failed', day, reason: 'it would cost 501 sat' };
  assert.deepEqual(await run(world, wallet, noonMs), [dear]);
  wallet.feeSat = mostSat;
  const found = await findSigned(world.store.seen);
  assert.ok(found !== undefined);
  await world.store.commit([writeSigned(found.record, { ...found.signed, restored: true })]);
  const [restored] = await run(world, wallet, noonMs);
  assert.ok(restored?.kind === 'failed');
  assert.deepEqual([restored.day, /was restored/.test(restored.reason)], [day, true]);
  const keyless = await logged(1);
  const own = await findSigned(keyless.store.seen);
  assert.ok(own !== undefined);
  await keyless.store.commit([writeSigned(own.record, { ...own.signed, publicKey: Buffer.alloc(0) })]);
  for (const unsigned of [keyless, new World()]) {
    const [refused] = await run(unsigned, wallet, noonMs);
    assert.ok(refused?.kind === 'failed');
    assert.match(refused.reason, /has signed nothing yet, .* or waits for a key/);
  }
  assert.deepEqual([await stampsIn(world), wallet.published.size], [[], 0]);
  const fresh = await logged(1);
  const before = fresh.store.length;
  await run(fresh, wallet, noonMs);
  fresh.store.restore(before);
  const [again] = await run(fresh, wallet, noonMs);
  assert.ok(again?.kind === 'failed');
  assert.deepEqual([again.day, again.reason], [day, 'the wallet has paid for it']);
  assert.equal(wallet.published.size, 1);
});

test('a block without the transaction completes nothing', async () => {
  const world = await logged(1);
  const wallet = new MemoryWallet();
  await run(world, wallet, noonMs);
  const [stored] = await stampsIn(world);
  assert.ok(stored !== undefined);
  const transaction = Buffer.from(stored.stamp.transaction);
  const good = blockWith(transaction, 900_001, 6);
  assert.ok(completed(stored.stamp, good) !== undefined);
  const other = blockWith(transactionOf(9, Buffer.alloc(32)), 900_001, 6);
  for (const bad of [
    { ...good, header: other.header },
    { ...good, txids: other.txids },
    { ...good, hashed: other.hashed },
    { ...other, hashed: transaction },
    { ...good, header: good.header.subarray(1) },
  ]) {
    assert.equal(completed(stored.stamp, bad), undefined);
  }
});

test('an error of the wallet is reported, and the next run continues with what was signed', async () => {
  const world = await logged(1);
  const wallet = new MemoryWallet();
  const day = '2026-11-23';
  const { sign, publish, find } = wallet;
  const refuses = (call: 'find' | 'publish'): StampWallet => ({
    ...{ sign, publish, find },
    [call]: () => Promise.resolve({ wrong: `it cannot ${call}` }),
  });
  const failed = (reason: string): Stamped => ({ kind: 'failed', day, reason });
  assert.deepEqual(await run(world, refuses('find'), noonMs), [failed('it cannot find')]);
  assert.deepEqual(await run(world, refuses('publish'), noonMs), [failed('it cannot publish')]);
  assert.equal((await run(world, wallet, noonMs))[0]?.kind, 'published');
  const other = blockWith(transactionOf(9, Buffer.alloc(32)), 900_001, 6);
  const misled: StampWallet = { sign, publish, find: () => Promise.resolve(other) };
  assert.deepEqual(await run(world, misled, noonMs), [failed('block 900001 does not prove the stamp')]);
  wallet.mine(6);
  assert.deepEqual(await run(world, wallet, noonMs), [{ kind: 'complete', day, height: 900_001 }]);
  assert.equal(wallet.published.size, 1);
});

test('a transaction too large for a timestamp is not stored, and not published', async () => {
  const world = await logged(1);
  const wallet = new MemoryWallet();
  const withBytes = (bytes: number): StampWallet => ({
    ...{ publish: wallet.publish, find: wallet.find },
    sign: async (...asked) => ({ ...(await wallet.sign(...asked)), bytes }),
  });
  const [large] = await run(world, withBytes(mostMessageBytes + 1), noonMs);
  const reason = 'the transaction spends more coins than a timestamp can have';
  assert.deepEqual(large, { kind: 'failed', day: '2026-11-23', reason });
  assert.deepEqual([await stampsIn(world), wallet.published.size], [[], 0]);
  assert.equal((await run(world, withBytes(mostMessageBytes), noonMs))[0]?.kind, 'published');
});

test('a transaction that no block took for two weeks is given up', async () => {
  const world = await logged(1);
  const wallet = new MemoryWallet();
  await run(world, wallet, noonMs);
  assert.equal((await run(world, wallet, noonMs + 14 * dayMs - 1))[0]?.kind, 'waiting');
  const told = await run(world, wallet, noonMs + 14 * dayMs);
  assert.deepEqual(
    told.map(({ kind, day }) => [kind, day]),
    [['published', '2026-12-07']],
    'its checkpoint is stamped again',
  );
});

test('a stamp whose transaction is in a block is completed however old it is', async () => {
  const world = await logged(1);
  const wallet = new MemoryWallet();
  await run(world, wallet, noonMs);
  wallet.mine(6);
  const told = await run(world, wallet, noonMs + 30 * dayMs);
  assert.deepEqual(
    told.map(({ kind, day }) => [kind, day]),
    [
      ['complete', '2026-11-23'],
      ['nothing new', '2026-12-23'],
    ],
  );
});

test('a checkpoint that is cosigned after its stamp is not paid for again', async () => {
  const world = await logged(1);
  const wallet = new MemoryWallet();
  await run(world, wallet, noonMs);
  wallet.mine(6);
  await run(world, wallet, noonMs);
  const found = await findSigned(world.store.seen);
  assert.ok(found !== undefined);
  const note = `${found.signed.note}\u2014 witness.example AAAA\n`;
  await world.store.commit([writeSigned(found.record, { ...found.signed, note })]);
  const next = await run(world, wallet, noonMs + dayMs);
  assert.deepEqual(next, [{ kind: 'nothing new', day: '2026-11-24' }]);
});

test('a transaction has the digest in a data output, and a label with its day and log', async () => {
  const data = Buffer.alloc(32, 7);
  assert.equal(dataScript(data).toString('hex'), `6a20${data.toString('hex')}`);
  const world = await logged(1);
  const wallet = new MemoryWallet();
  await run(world, wallet, noonMs);
  const labels = (): string[] => [...wallet.published.values()].map(({ label }) => label);
  assert.deepEqual(labels(), ['fusegate log stamp 2026-11-23 log.example']);
  const found = await findSigned(world.store.seen);
  assert.ok(found !== undefined);
  const note = found.signed.note.replace('log.example', `${'x'.repeat(300)}y`).replace('\n1\n', '\n2\n');
  await world.store.commit([writeSigned(found.record, { ...found.signed, note })]);
  await run(world, wallet, noonMs + dayMs);
  assert.equal(labels()[1], `fusegate log stamp 2026-11-24 ${'x'.repeat(300)}`);
});

const step = fc.oneof(
  fc.record({ kind: fc.constant('grow' as const) }),
  fc.record({ kind: fc.constant('day' as const) }),
  fc.record({ kind: fc.constant('mine' as const), blocks: fc.integer({ min: 1, max: 8 }) }),
  fc.record({
    kind: fc.constant('stamp' as const),
    wallet: fc.option(
      fc.record({
        in: fc.integer({ min: 0, max: 3 }),
        when: fc.constantFrom('before' as const, 'after' as const),
      }),
      { nil: undefined },
    ),
    store: fc.constantFrom(undefined, undefined, 'not written' as const, 'written' as const),
    together: fc.boolean(),
  }),
);

test('whatever crashes and however many run at once, no day is paid for twice', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 40 }), async (steps) => {
    const world = await logged(1);
    const wallet = new MemoryWallet();
    let nowMs = noonMs;
    const attempt = (): Promise<unknown> =>
      run(world, wallet, nowMs).catch((error: unknown) => assert.match(String(error), /crash/));
    for (const each of steps) {
      if (each.kind === 'grow') {
        await world.add(1);
        await world.round();
      } else if (each.kind === 'day') nowMs += dayMs;
      else if (each.kind === 'mine') wallet.mine(each.blocks);
      else {
        wallet.fault = each.wallet === undefined ? undefined : { ...each.wallet };
        world.store.fault = each.store;
        await Promise.all(each.together ? [attempt(), attempt()] : [attempt()]);
        wallet.fault = undefined;
        world.store.fault = undefined;
      }
      const days = [...wallet.published.values()].map(({ label }) => label);
      assert.equal(new Set(days).size, days.length, 'a day was paid twice');
    }
    // Without a crash every stamp is finished.
    await attempt();
    wallet.mine(6);
    await attempt();
    const stamps = await stampsIn(world);
    assert.equal(stamps.length, wallet.published.size);
    for (const { stamp: each } of stamps) if (each.height !== null) assertProves(each);
    assert.ok(stamps.length > 0);
  });
  await fc.assert(property, { numRuns: 200 });
});
