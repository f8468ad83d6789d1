/** The engine on LMDB in one process: writes that fail, snapshots, and what a store leaves in its folder. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { native } from '../../src/native/addon.js';
import type { Engine } from '../../src/store/engine.js';
import { openLmdb, type LmdbParts } from '../../src/store/engines/lmdb/lmdb.js';
import { createStore } from '../../src/store/groupCommit.js';
import { openStore } from '../../src/store/open.js';
import { everything } from '../../src/store/records.js';
import { whenUnavailable } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { HandClock } from '../support/handClock.js';
import { engineAt, newUnitId, storeAt, testParts } from '../support/openStore.js';
import { temporaryFolder } from '../support/run.js';
import { bytes } from './subject.js';
import { skipWithout } from './tools.js';

const peerProgram = fileURLToPath(new URL('peer.js', import.meta.url));
const fresh = (): string => join(temporaryFolder(), 'store');
const all = { ...everything, limit: 99 };
const onLinux = { skip: process.platform === 'linux' ? false : '/proc is needed' };
const withFullDisk = { skip: onLinux.skip === false ? skipWithout('prlimit') : onLinux.skip };

/** A key of the engine by a name. */
const keyOf = (name: string): Buffer => Buffer.concat([Buffer.of(1), bytes(name)]);

function write(engine: Engine, name: string, value: Uint8Array): Promise<void> {
  const key = keyOf(name);
  return engine.transact(
    () => [key],
    () => [{ key, value }],
  );
}

/** The outcome of each way to use an engine: what it said, or that it was available. */
async function answers(engine: Engine): Promise<readonly string[]> {
  const uses: Promise<unknown>[] = [
    ...[engine.get(keyOf('a')), engine.scan(all), engine.count()],
    ...[engine.snapshot((scan) => scan(all)), write(engine, 'b', bytes('b')), engine.removeRange(all)],
  ];
  return Promise.all(
    uses.map((use) =>
      whenUnavailable(
        use.then(() => 'available'),
        ({ message }) => message,
      ),
    ),
  );
}

const six = (answer: string): readonly string[] => Array.from({ length: 6 }, () => answer);

/** Files of a folder that this process holds open. */
function heldIn(folder: string): readonly string[] {
  const found = readdirSync('/proc/self/fd').map((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      return ''; // The listing's own descriptor.
    }
  });
  return found.filter((path) => path.startsWith(folder));
}

/** Lets no file of this process grow beyond so many bytes. */
function limitFiles(most: number | 'unlimited'): void {
  execFileSync('prlimit', [`--pid=${process.pid}`, `--fsize=${most}:`]);
}

/** Does something while the disk of a store is full: its file cannot grow. */
async function whileFull(folder: string, step: () => Promise<unknown>): Promise<void> {
  // The system sends it to a process whose file may not grow; without a listener the process ends.
  const stays = (): void => undefined;
  process.on('SIGXFSZ', stays);
  limitFiles(statSync(join(folder, 'data.mdb')).size);
  try {
    await step();
  } finally {
    limitFiles('unlimited');
    process.off('SIGXFSZ', stays);
  }
}

/** An engine with one record, a clock set by hand, and what it logged. */
async function working() {
  const folder = fresh();
  const clock = new HandClock();
  const logged: unknown[] = [];
  const log = { error: (about: unknown) => logged.push(about), info: () => logged.push('open again') };
  const engine = await openLmdb({ folder, clock, log });
  await write(engine, 'a', bytes('kept'));
  /** Fails to write a large record; resolves to the reason. */
  const fail = async (): Promise<string> => {
    let reason = '';
    const large = Buffer.alloc(4 * 1024 * 1024, 1);
    await whileFull(folder, async () => {
      reason = await whenUnavailable(
        write(engine, 'large', large).then(() => 'written'),
        ({ message }) => message,
      );
    });
    return reason;
  };
  return { folder, clock, logged, engine, fail };
}

/** Flags of the kernel for the memory into which a store's file is mapped (proc(5), VmFlags). */
function flagsOfMap(folder: string): string[] {
  const maps = readFileSync('/proc/self/smaps', 'utf8');
  const own = maps.slice(maps.indexOf(`${folder}/data.mdb`));
  return /^VmFlags: (.*)$/m.exec(own)?.[1]?.trim().split(' ') ?? [];
}

test('the system reads ahead, unless a server’s store takes half of the memory', onLinux, async () => {
  const parts = { folder: fresh(), clock: systemClock, log: testParts.log };
  await (await openLmdb(parts)).close();
  const { size } = statSync(join(parts.folder, 'data.mdb'));
  const isAnywhere = async (more: Partial<LmdbParts>): Promise<boolean> => {
    const engine = await openLmdb({ ...parts, ...more });
    const flags = flagsOfMap(parts.folder);
    await engine.close();
    assert.ok(flags.includes('sh'), flags.join(' '));
    return flags.includes('rr');
  };
  assert.equal(await isAnywhere({ isServer: true, memory: 2 * size - 1 }), true);
  assert.equal(await isAnywhere({ isServer: true, memory: 2 * size }), false);
  assert.equal(await isAnywhere({ isServer: true }), false);
  assert.equal(await isAnywhere({ memory: size }), false);
});

describe('a write that fails', () => {
  test('is told with its reason, as is every use until the store is open again', withFullDisk, async () => {
    const { clock, logged, engine, fail } = await working();
    const reason = await fail();
    assert.match(reason, /File too large|EFBIG/);
    assert.deepEqual(logged, [{ reason, retryInMs: 250 }]);
    await clock.pass(249);
    assert.deepEqual(await answers(engine), six(reason));
    await clock.pass(1);
    assert.deepEqual(logged.slice(1), ['open again']);
    assert.deepEqual(await engine.scan(all), [{ key: keyOf('a'), value: bytes('kept') }]);
    assert.equal(clock.timers, 0);
    assert.deepEqual(await answers(engine), six('available'));
    await engine.close();
  });

  test('is followed by attempts to open the store until one succeeds', withFullDisk, async () => {
    const { folder, clock, logged, engine, fail } = await working();
    const reason = await fail();
    const room = join(folder, 'gate.room');
    rmSync(room);
    mkdirSync(room);
    await clock.pass(250);
    const [told] = await answers(engine);
    assert.ok(told !== 'available' && told !== reason, 'the reason of the last try counts');
    await clock.pass(250);
    rmSync(room, { recursive: true });
    await clock.pass(249);
    assert.deepEqual(logged.length, 1);
    await clock.pass(1);
    assert.deepEqual(logged.slice(1), ['open again']);
    assert.deepEqual(await engine.get(keyOf('a')), bytes('kept'));
    await engine.close();
  });

  test('is followed by no attempts once the store is closed', withFullDisk, async () => {
    const { folder, clock, engine, fail } = await working();
    await fail();
    await engine.close();
    assert.equal(clock.timers, 0);
    assert.deepEqual(heldIn(folder), []);
    await (await engineAt(`lmdb:${folder}`)).close();
  });

  test('leaves a store that is closed while it waits to be reopened closed', withFullDisk, async () => {
    const { folder, clock, engine, fail } = await working();
    await fail();
    const gate = new native.Gate(folder);
    assert.ok(gate.tryClose());
    await clock.pass(250);
    assert.equal(clock.timers, 1, 'it waits for the gate');
    await engine.close();
    gate.close();
    await clock.pass(10);
    assert.deepEqual([clock.timers, heldIn(folder)], [0, []]);
  });

  test('is not confused with an error of the code that decides, which only fails itself', async () => {
    const { logged, engine } = await working();
    const mistake = (): never => {
      throw new Error('a mistake');
    };
    await assert.rejects(
      engine.transact(() => [], mistake),
      /^Error: a mistake$/,
    );
    assert.deepEqual([logged, await engine.get(keyOf('a'))], [[], bytes('kept')]);
    await engine.close();
  });
});

describe('a store that is closed', () => {
  test('says so', onLinux, async () => {
    const { folder, engine } = await working();
    assert.ok(heldIn(folder).length > 0);
    await engine.close();
    assert.deepEqual(heldIn(folder), []);
    await assert.rejects(engine.get(keyOf('a')), /The store is closed\./);
    await assert.rejects(engine.scan(all), /The store is closed\./);
    await assert.rejects(engine.count(), /The store is closed\./);
    await assert.rejects(
      engine.snapshot(() => Promise.resolve()),
      /The store is closed\./,
    );
  });

  test('while a snapshot is read ends it', async () => {
    const { engine } = await working();
    const seen = engine.snapshot(async (scan) => {
      assert.equal((await scan(all)).length, 1);
      await engine.close();
      return scan(all);
    });
    await assert.rejects(seen, { name: 'StoreUnavailable', message: 'The store is closed.' });
  });

  test('waits for a process that opens it, a millisecond at a time', onLinux, async () => {
    const { folder, clock, engine } = await working();
    const gate = new native.Gate(folder);
    assert.ok(gate.tryClose() && gate.tryBeAlone());
    const closed = engine.close();
    await clock.pass(0.9);
    gate.leave();
    assert.ok(heldIn(folder).includes(join(folder, 'data.mdb')));
    await clock.pass(0.1);
    await closed;
    gate.close();
    assert.deepEqual(heldIn(folder), []);
  });
});

describe('a snapshot', () => {
  test('sees one moment while the store goes on', async () => {
    const { engine } = await working();
    const seen = await engine.snapshot(async (scan) => {
      const first = await scan({ ...all, limit: 1 });
      await write(engine, 'b', bytes('late'));
      return [...first, ...(await scan(all))];
    });
    assert.deepEqual(
      seen.map(({ value }) => Buffer.from(value).toString()),
      ['kept', 'kept'],
    );
    assert.equal((await engine.scan(all)).length, 2);
    await engine.close();
  });

  test('takes no space in the file once it has ended', async () => {
    const { folder, engine } = await working();
    const value = Buffer.alloc(256 * 1024, 7);
    await write(engine, 'large', value);
    await engine.snapshot((scan) => scan(all));
    for (let count = 0; count < 40; count += 1) await write(engine, 'large', value);
    assert.ok(statSync(join(folder, 'data.mdb')).size < 8 * value.byteLength);
    await engine.close();
  });

  test('sees what another process was told is done before it', async () => {
    const folder = fresh();
    const engine = await engineAt(`lmdb:${folder}`);
    const count = (): Promise<number> => engine.snapshot(async (scan) => (await scan(all)).length);
    // From inside an answer of the disk: no timer fires until what is asked for here has been read.
    await access(folder);
    const before = await engine.get(keyOf('a'));
    execFileSync(process.execPath, [peerProgram, `lmdb:${folder}`, 'append', '1']);
    assert.equal(before, undefined);
    assert.ok((await count()) > 0);
    await engine.close();
  });
});

test('a read of many records lets other work run first', async () => {
  const { engine } = await working();
  const goesFirst = async (read: () => Promise<unknown>): Promise<boolean> => {
    let done = false;
    setImmediate(() => (done = true));
    await read();
    return done;
  };
  assert.ok(await goesFirst(() => engine.scan(all)));
  assert.ok(await goesFirst(() => engine.snapshot((scan) => scan(all))));
  await engine.close();
});

test('keys are looked up together, 100 in a turn of the event loop', async () => {
  const engine = await engineAt(`lmdb:${fresh()}`);
  const keys = Array.from({ length: 201 }, (_, at) => keyOf(`k${at}`));
  const writes = keys.map((key, at) => ({ key, value: Buffer.of(at) }));
  await engine.transact(
    () => [],
    () => writes,
  );
  for (const [count, turns] of [
    [0, 0],
    [100, 0],
    [101, 1],
    [200, 1],
    [201, 2],
  ] as const) {
    let passed = 0;
    let timer = setImmediate(function next() {
      passed += 1;
      timer = setImmediate(next);
    });
    const found = await engine.getMany(keys.slice(0, count));
    assert.equal(passed, turns, `${count} keys`);
    clearImmediate(timer);
    assert.deepEqual(
      found,
      writes.slice(0, count).map(({ value }) => value),
    );
  }
  await engine.close();
});

test('a unit without an id leaves only what it writes, and every record is counted', async () => {
  const engine = await engineAt(`lmdb:${fresh()}`);
  assert.equal(await engine.count(), 0);
  const store = createStore(engine, newUnitId);
  await store.commit([{ kind: 'put', space: 'keys', key: bytes('k'), value: bytes('v') }]);
  assert.equal(await engine.count(), 1);
  await engine.transact(
    () => [],
    () => [{ key: Buffer.of(1), value: bytes('first of all') }],
  );
  assert.equal(await engine.count(), 2);
  await store.close();
});

test('of two that create a store at once both find it whole, and one has it', async () => {
  const url = `lmdb:${fresh()}`;
  const outcomes = await Promise.allSettled([storeAt(url), storeAt(url)]);
  const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []));
  assert.equal(refused.length, 1);
  assert.match(refused[0] ?? '', /is open in this process already/);
  for (const each of outcomes) if (each.status === 'fulfilled') await each.value.close();
});

test('a newly created store keeps no deleted file open', onLinux, async () => {
  const folder = fresh();
  const engine = await engineAt(`lmdb:${folder}`);
  assert.deepEqual(
    heldIn(folder).filter((path) => path.endsWith('(deleted)')),
    [],
  );
  await engine.close();
});

test('an existing store is opened without a new file in its folder', async () => {
  const folder = fresh();
  await (await engineAt(`lmdb:${folder}`)).close();
  const then = new Date(1_000_000_000_000);
  utimesSync(folder, then, then);
  await (await engineAt(`lmdb:${folder}`)).close();
  assert.equal(statSync(folder).mtimeMs, then.getTime());
});

test('a store that cannot be created says why', async () => {
  const folder = fresh();
  mkdirSync(folder);
  symlinkSync(join(folder, 'nowhere'), join(folder, 'data.mdb'));
  await assert.rejects(openStore(`lmdb:${folder}`, testParts), /cannot be opened \(EEXIST: /);
  assert.deepEqual(readdirSync(folder), ['data.mdb']);
});

test('a store whose gate cannot be created is opened once it can', async () => {
  const folder = fresh();
  mkdirSync(join(folder, 'gate.room'), { recursive: true });
  await assert.rejects(storeAt(`lmdb:${folder}`), { name: 'StoreUnavailable' });
  rmSync(join(folder, 'gate.room'), { recursive: true });
  await (await storeAt(`lmdb:${folder}`)).close();
});
