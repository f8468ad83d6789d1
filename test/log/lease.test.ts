/** Machines that share a log: which of them signs, what ends it, and what the operator reads about it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startPublishing, type Publishing } from '../../src/log/publishing.js';
import { native } from '../../src/native/addon.js';
import { decodeLease, type LeaseRecord } from '../../src/store/leaseRecord.js';
import { encodeLease } from '../../src/store/leaseRecord.js';
import { StoreUnavailable, type Fence, type Outcome, type Store } from '../../src/store/store.js';
import { findSigned, writeSigned } from '../../src/store/tables/receiptLog.js';
import { HandClock } from '../support/handClock.js';
import { openTestStore } from '../support/serving.js';
import { keyOf, MemoryFile, receiptUnit, sealOf } from './world.js';

/** What a file that cannot be read says. */
const damaged = 'log-seen is damaged';

const leaseKey = Buffer.from('receipt log');

/** A machine that publishes: its file, its key, and everything that it does. */
class Machine {
  readonly file = new MemoryFile();
  key = keyOf(1);
  /** Whether its store answers. */
  isCutOff = false;
  /** Its commits begin only when this is resolved. */
  gate: Promise<void> | undefined;
  /** Called after each commit. */
  afterCommit: () => void = () => undefined;
  /** Calls of its store that began, and those that are under way. */
  calls = 0;
  under = 0;
  /** Number of times that its file was read, and written. */
  reads = 0;
  writes = 0;
  readonly warned: unknown[] = [];
  readonly reported: unknown[] = [];
  /** What its witnesses were asked, and how they answer; undefined: it has none. */
  readonly asked: Fence[] = [];
  witnesses: (() => Promise<void>) | undefined;

  constructor(
    private readonly clock: HandClock,
    private readonly store: Store,
    private readonly holder: string,
  ) {}

  start(): Publishing {
    const { clock, holder, key, file, witnesses } = this;
    return startPublishing({
      store: this.counted(),
      clock,
      tree: native,
      openKey: () => ({ value: key }),
      origin: 'log.example',
      seen: {
        remove: file.remove,
        writeNow: file.writeNow,
        read: () => ((this.reads += 1), file.read()),
        write: (seen) => ((this.writes += 1), file.write(seen)),
      },
      holder,
      log: {
        info: (about) => void this.reported.push(about),
        warn: (about) => void this.warned.push(about),
      },
      ...(witnesses && { witnessing: { cosign: (fence) => (this.asked.push(fence), witnesses()) } }),
    });
  }

  private counted(): Store {
    const { store } = this;
    const call = <Value>(made: () => Promise<Value>): Promise<Value> => {
      this.calls += 1;
      if (this.isCutOff) return Promise.reject(new StoreUnavailable('cut off'));
      this.under += 1;
      return made().finally(() => (this.under -= 1));
    };
    const commit = async (...given: Parameters<Store['commit']>): Promise<Outcome> => {
      if (this.gate !== undefined) {
        // Not under way while the test holds it back.
        this.under -= 1;
        await this.gate.finally(() => (this.under += 1));
      }
      const outcome = await store.commit(...given);
      this.afterCommit();
      return outcome;
    };
    return {
      ...store,
      newUnitId: () => store.newUnitId(),
      commit: (...given) => call(() => commit(...given)),
      get: (...given) => call(() => store.get(...given)),
      scan: (...given) => call(() => store.scan(...given)),
      read: (...given) => call(() => store.read(...given)),
      last: (...given) => call(() => store.last(...given)),
    };
  }
}

/** Machines on one store and one clock. */
class Shared {
  readonly clock = new HandClock();
  private leaves = 0;
  private readonly machines: Machine[] = [];

  private constructor(readonly store: Store) {}

  static async open(): Promise<Shared> {
    return new Shared(await openTestStore());
  }

  machine(holder = 'a'): Machine {
    const machine = new Machine(this.clock, this.store, holder);
    this.machines.push(machine);
    return machine;
  }

  /** Waits until nothing is under way but what the test holds back. */
  async settle(): Promise<void> {
    do for (let turn = 0; turn < 8; turn += 1) await new Promise(setImmediate);
    while (this.machines.some(({ under }) => under > 0));
  }

  /** Lets time pass, and waits for what began in it. */
  async pass(ms: number): Promise<void> {
    await this.clock.pass(ms);
    await this.settle();
  }

  /** Lets time pass in steps in which one thing is due. */
  async passLong(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) await this.pass(500);
  }

  async add(count = 1): Promise<void> {
    const numbers = Array.from({ length: count }, (_, at) => this.leaves + at);
    await this.store.commit(numbers.flatMap((number) => receiptUnit(number, sealOf(number))));
    this.leaves += count;
  }

  async size(): Promise<number | undefined> {
    return (await findSigned(this.store))?.signed.size;
  }

  async lease(): Promise<LeaseRecord | undefined> {
    const found = await this.store.get('leases', leaseKey);
    return found === undefined ? undefined : decodeLease(found);
  }

  async holder(): Promise<string | undefined> {
    return (await this.lease())?.holder;
  }
}

/** A promise that the test resolves. */
function gateOf(): { readonly closed: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const closed = new Promise<void>((resolve) => (open = resolve));
  return { closed, open };
}

/** Whether a promise is settled, after everything that can happen has happened. */
async function isDone(shared: Shared, promise: Promise<void>): Promise<boolean> {
  let done = false;
  void promise.then(() => (done = true));
  await shared.settle();
  return done;
}

test('a machine signs at once, and each leaf at most half a second after it came', async () => {
  const shared = await Shared.open();
  const machine = shared.machine();
  const publishing = machine.start();
  await shared.settle();
  assert.equal(await shared.size(), 0, 'an empty log has a checkpoint');
  await shared.add();
  await shared.pass(499);
  assert.equal(await shared.size(), 0);
  machine.reads = 0;
  await shared.pass(1);
  assert.equal(await shared.size(), 1);
  assert.equal(machine.reads, 1, 'one round signs everything');
  assert.deepEqual([machine.warned, machine.reported], [[], []]);
  await publishing.stop();
});

test('a machine that stops releases the lease, so that another signs at once', async () => {
  const shared = await Shared.open();
  const first = shared.machine('a').start();
  await shared.settle();
  await first.stop();
  assert.equal(shared.clock.timers, 0);
  await shared.add();
  const second = shared.machine('b').start();
  await shared.settle();
  assert.deepEqual([await shared.holder(), await shared.size()], ['b', 1]);
  await second.stop();
});

test('a machine that stops finishes its unit, then releases the lease, and starts nothing new', async () => {
  const shared = await Shared.open();
  const machine = shared.machine();
  const publishing = machine.start();
  await shared.settle();
  await shared.add(4_097);
  const { closed, open } = gateOf();
  machine.gate = closed;
  await shared.pass(500);
  const { calls } = machine;
  const stopped = publishing.stop();
  assert.equal(shared.clock.timers, 1, 'only the lease is renewed');
  assert.ok(!(await isDone(shared, stopped)));
  assert.equal(machine.calls, calls, 'the lease is not released while a unit is under way');
  open();
  await stopped;
  assert.equal(await shared.size(), 4_096, 'the rest is left to the next');
  assert.equal(await shared.holder(), '');
  assert.equal(shared.clock.timers, 0);
});

test('a machine that stops waits for its witnesses before it releases the lease', async () => {
  const shared = await Shared.open();
  const machine = shared.machine();
  const { closed, open } = gateOf();
  machine.witnesses = () => closed;
  const publishing = machine.start();
  await shared.settle();
  const token = (await shared.lease())?.token;
  assert.deepEqual(machine.asked, [{ lease: 'receipt log', token }]);
  const stopped = publishing.stop();
  assert.ok(!(await isDone(shared, stopped)));
  assert.equal(await shared.holder(), 'a', 'their signatures are written under the lease');
  open();
  await stopped;
  assert.equal(await shared.holder(), '');
});

test('a machine that was stopped no longer takes the lease', async () => {
  const shared = await Shared.open();
  const publishing = shared.machine().start();
  await publishing.stop();
  await shared.settle();
  assert.deepEqual([shared.clock.timers, await shared.lease()], [0, undefined]);
});

test('a machine that is cut off is replaced by another six seconds later', async () => {
  const shared = await Shared.open();
  const first = shared.machine('a');
  const second = shared.machine('b');
  const running = [first.start()];
  await shared.settle();
  running.push(second.start());
  await shared.settle();
  assert.equal(shared.clock.timers, 4, 'each polls, and each has an eye on the lease');
  first.isCutOff = true;
  await shared.add();
  await shared.passLong(5_500);
  assert.deepEqual([await shared.holder(), await shared.size()], ['a', 0]);
  assert.equal(shared.clock.timers, 4);
  await shared.pass(500);
  assert.deepEqual([await shared.holder(), await shared.size()], ['b', 1]);
  first.isCutOff = false;
  await shared.add();
  await shared.pass(500);
  assert.equal(await shared.size(), 2);
  assert.deepEqual(first.file.state?.size, 1, 'it has seen what the other signed before');
  assert.deepEqual([first.warned, second.warned], [[], []], 'a store that does not answer is no refusal');
  for (const each of running) await each.stop();
});

test('a machine that lost its lease unnoticed asks no witnesses', async () => {
  const shared = await Shared.open();
  const machine = shared.machine();
  machine.witnesses = () => Promise.resolve();
  const publishing = machine.start();
  await shared.settle();
  const taken = { token: 99, holder: 'b', expiresAtMs: shared.clock.wallMs() + 60_000 };
  await shared.store.commit([{ kind: 'put', space: 'leases', key: leaseKey, value: encodeLease(taken) }]);
  await shared.add();
  const before = machine.asked.length;
  await shared.pass(500);
  assert.deepEqual([await shared.size(), machine.asked.length], [0, before]);
  assert.deepEqual(machine.warned, []);
  await publishing.stop();
  assert.equal(await shared.holder(), 'b', 'it releases only its own');
});

test('a waiting machine records what others sign, if it is newer', async () => {
  const shared = await Shared.open();
  const signer = shared.machine('a');
  const waiting = shared.machine('b');
  await shared.add(3);
  const running = [signer.start()];
  await shared.settle();
  running.push(waiting.start());
  await shared.settle();
  assert.deepEqual([waiting.file.state?.size, waiting.writes], [3, 1]);
  assert.deepEqual(waiting.file.state?.root, signer.file.state?.root);
  await shared.passLong(1_000);
  assert.equal(waiting.writes, 1, 'what it has seen is not written again');
  await shared.add(2);
  await shared.passLong(1_000);
  assert.deepEqual([waiting.file.state?.size, waiting.writes], [5, 2]);
  const longer = { size: 9, root: Buffer.alloc(32, 9) };
  waiting.file.state = longer;
  await shared.pass(500);
  assert.deepEqual(waiting.file.state, longer, 'what reveals a store that went back stays');
  waiting.file.wrong = damaged;
  await shared.pass(500);
  assert.deepEqual(waiting.file.state, longer, 'what cannot be read is not replaced');
  waiting.file.wrong = undefined;
  const found = await findSigned(shared.store);
  assert.ok(found !== undefined);
  waiting.file.state = undefined;
  await shared.store.commit([writeSigned(found.record, { ...found.signed, restored: true })]);
  await shared.pass(500);
  assert.equal(waiting.file.state, undefined, 'a restored checkpoint may be older than what was signed');
  for (const each of running) await each.stop();
});

test('a file that cannot be written is a reason not to sign', async () => {
  const shared = await Shared.open();
  const signer = shared.machine('a').start();
  await shared.settle();
  const waiting = shared.machine('b');
  waiting.file.fault = 'not written';
  const publishing = waiting.start();
  await shared.settle();
  assert.deepEqual(waiting.warned, [{ reason: 'Error: crash' }]);
  await shared.passLong(9_500);
  assert.equal(waiting.writes, 1, 'it rests');
  await shared.pass(500);
  assert.deepEqual([waiting.writes, waiting.file.state?.size], [2, 0]);
  for (const each of [signer, publishing]) await each.stop();
});

test('a machine with another key takes no lease, says why once, and retries every ten seconds', async () => {
  const shared = await Shared.open();
  const first = shared.machine('a').start();
  await shared.settle();
  await first.stop();
  const machine = shared.machine('b');
  machine.key = keyOf(2);
  const publishing = machine.start();
  await shared.settle();
  assert.match(JSON.stringify(machine.warned), /signed by another key/);
  const { calls } = machine;
  const token = (await shared.lease())?.token;
  await shared.passLong(9_500);
  assert.equal(machine.calls, calls);
  await shared.pass(500);
  assert.ok(machine.calls > calls);
  await shared.passLong(10_000);
  assert.deepEqual([machine.warned.length, machine.writes], [1, 0]);
  assert.deepEqual([(await shared.lease())?.token, shared.clock.timers], [token, 1]);
  await publishing.stop();
});

test('a machine that may not sign leaves the lease to others, and signs again when it may', async () => {
  const shared = await Shared.open();
  const machine = shared.machine('a');
  machine.file.wrong = damaged;
  const publishing = machine.start();
  await shared.settle();
  assert.match(JSON.stringify(machine.warned), /log-seen is damaged/);
  assert.deepEqual([await shared.holder(), shared.clock.timers], ['', 1]);
  const other = shared.machine('b').start();
  await shared.settle();
  assert.deepEqual([await shared.holder(), await shared.size()], ['b', 0]);
  await other.stop();
  await shared.passLong(10_000);
  assert.equal(machine.warned.length, 1, 'the same reason is logged once');
  machine.file.wrong = undefined;
  await shared.add();
  await shared.passLong(9_500);
  assert.equal(await shared.size(), 0);
  await shared.pass(500);
  assert.deepEqual([await shared.holder(), await shared.size()], ['a', 1]);
  assert.equal(machine.warned.length, 1);
  machine.file.wrong = damaged;
  await shared.pass(500);
  assert.equal(machine.warned.length, 2, 'the same reason after a success is news');
  await publishing.stop();
});

test('a machine that gives up its lease counts as stopped only when that is done', async () => {
  const causes: readonly ((file: MemoryFile) => void)[] = [
    (file) => (file.wrong = damaged),
    (file) => (file.fault = 'not written'),
  ];
  for (const cause of causes) {
    const shared = await Shared.open();
    const machine = shared.machine();
    const publishing = machine.start();
    await shared.settle();
    await shared.add();
    cause(machine.file);
    const { closed, open } = gateOf();
    machine.gate = closed;
    await shared.pass(500);
    const stopped = publishing.stop();
    assert.ok(!(await isDone(shared, stopped)));
    open();
    await stopped;
    assert.equal(await shared.holder(), '');
    assert.equal(machine.warned.length, 1);
  }
});

test('a failure of the witnesses is a refusal, and no lease is taken while one is given up', async () => {
  const shared = await Shared.open();
  const machine = shared.machine();
  const { closed, open } = gateOf();
  machine.witnesses = () => {
    machine.gate = closed;
    return Promise.reject(new Error('no policy'));
  };
  const publishing = machine.start();
  await shared.settle();
  await shared.pass(500);
  assert.equal(shared.clock.timers, 1, 'only the polling');
  machine.gate = undefined;
  open();
  await shared.passLong(9_000);
  assert.deepEqual(machine.warned, [{ reason: 'Error: no policy' }]);
  assert.equal(await shared.holder(), '');
  assert.equal(machine.asked.length, 1);
  await shared.pass(500);
  assert.equal(machine.asked.length, 2, 'ten seconds after the failure');
  await publishing.stop();
});

test('a long addition is reported every two seconds, and is signed without a pause', async () => {
  const shared = await Shared.open();
  const machine = shared.machine();
  const publishing = machine.start();
  await shared.passLong(5_000);
  await shared.add(12_289);
  const took = [1_999, 1, 1_999];
  machine.afterCommit = () => shared.clock.leap(took.shift() ?? 0);
  await shared.pass(500);
  assert.equal(await shared.size(), 12_289);
  assert.deepEqual(machine.reported, [{ signed: 8_192, of: 12_289 }]);
  assert.deepEqual([machine.warned, took], [[], []]);
  await publishing.stop();
});
