/**
 * Opening a store that other processes write to. When LMDB opens an environment it reads the number of the
 * last transaction, and a moment later sets it for every process (mdb_env_open2). A commit between the two is
 * undone: the next one overwrites it (OpenLDAP ITS#9496). And the last process that closes it destroys the
 * locks, which another process that opens it at that moment believes to be intact (mdb_env_close0).
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { native } from '../../src/native/addon.js';
import { openEnvironment, openLmdb } from '../../src/store/engines/lmdb/lmdb.js';
import { HandClock } from '../support/handClock.js';
import { run, temporaryFolder } from '../support/run.js';
import { checkWorkload } from './invariants.js';
import { newUnitId, storeAt, testParts } from '../support/openStore.js';
import { runToEnd, runUntil, workUntil } from './processesAtWork.js';
import { skipWithout } from './tools.js';
import { workloadUnit } from './workload.js';

const bare = fileURLToPath(new URL('bareLmdb.js', import.meta.url));
const workload = fileURLToPath(new URL('workload.js', import.meta.url));
const skip = skipWithout('cc');

/** The beginning of a library that stands between LMDB and the system: whether a descriptor is of a file. */
const between = `
  #define _GNU_SOURCE
  #include <dlfcn.h>
  #include <stdio.h>
  #include <string.h>
  #include <sys/mman.h>
  #include <unistd.h>
  static int is(int fd, const char *name) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = fd < 0 ? -1 : readlink(link, path, sizeof path - 1);
    if (length < 8) return 0;
    path[length] = 0;
    return strcmp(path + length - 8, name) == 0;
  }
`;

/** Makes opening slow: it waits before LMDB maps its file, between the read and the set. */
const slowOpening = `${between}
  #define MMAP(name) void *name(void *at, size_t length, int protection, int flags, int fd, off_t offset) { \\
    void *(*next)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap"); \\
    if (is(fd, "data.mdb")) usleep(20000); \\
    return next(at, length, protection, flags, fd, offset); }
  MMAP(mmap)
  MMAP(mmap64)
`;

/** Makes closing slow: it waits, and says so, before LMDB closes the file of its locks. */
const slowClosing = `${between}
  int close(int fd) {
    int (*next)(int) = dlsym(RTLD_NEXT, "close");
    if (is(fd, "lock.mdb") && write(2, "closing\\n", 8)) usleep(500000);
    return next(fd);
  }
`;

/** Compiles a library; the environment of a process that loads it. */
function preload(folder: string, text: string): { LD_PRELOAD: string } {
  const library = join(folder, 'slow.so');
  writeFileSync(join(folder, 'slow.c'), text);
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, join(folder, 'slow.c'), '-ldl']);
  return { LD_PRELOAD: library };
}

/** Opens an environment slowly while another process writes; whether that one crashed or lost a record. */
async function bareGoesWrong(folder: string, slow: NodeJS.ProcessEnv): Promise<boolean> {
  mkdirSync(folder);
  const { acknowledged, signal } = await runUntil([bare, 'write', folder], async () => {
    await runToEnd([bare, 'open', folder], slow);
    await pause(20);
  });
  if (signal !== 'SIGKILL') return true;
  const environment = openEnvironment(folder);
  const lost = acknowledged.filter((name) => environment.getBinary(Buffer.from(name)) === undefined);
  await environment.close();
  return lost.length > 0;
}

test('a store that is opened again and again loses nothing', async () => {
  const folder = join(temporaryFolder(), 'store');
  await (await storeAt(`lmdb:${folder}`)).close();
  let opened = 0;
  const acknowledged = await workUntil(folder, 'w', async () => {
    for (const end = performance.now() + 3000; performance.now() < end; opened += 1) {
      await (await storeAt(`lmdb:${folder}`)).close();
      await pause(1);
    }
  });
  assert.ok(opened > 50, `opened ${opened} times`);
  const store = await storeAt(`lmdb:${folder}`);
  assert.ok((await checkWorkload(store, acknowledged)) > 100);
  await store.close();
});

test('a store loses nothing even if opening it is slow', { skip }, async () => {
  const folder = temporaryFolder();
  const slow = preload(folder, slowOpening);
  const data = join(folder, 'store');
  const acknowledged = await workUntil(data, 'w', async () => {
    for (let round = 0; round < 10; round += 1) await runToEnd([workload, data, 'o', '0', '1'], slow);
  });
  const store = await storeAt(`lmdb:${data}`);
  assert.ok((await checkWorkload(store, acknowledged)) > 100);
  await store.close();
});

test('a store is not broken by being opened while its last user closes it', { skip }, async () => {
  const folder = temporaryFolder();
  const data = join(folder, 'store');
  await (await storeAt(`lmdb:${data}`)).close();
  const closing = run(workload, [data, 'o', '3', '1'], preload(folder, slowClosing));
  await closing.prints(/closing/);
  const store = await storeAt(`lmdb:${data}`);
  const { operations, id } = workloadUnit(newUnitId(), 'p');
  assert.equal((await store.commit(operations, id)).kind, 'done');
  await closing.ended();
  await checkWorkload(store, ['o1', 'o2', 'o3', 'p']);
  await store.close();
});

test('LMDB alone crashes then, or loses what it acknowledged', { skip }, async (context) => {
  const folder = temporaryFolder();
  const slow = preload(folder, slowOpening);
  const most = 60;
  let rounds = 1;
  while (!(await bareGoesWrong(join(folder, `bare-${rounds}`), slow))) {
    rounds += 1;
    assert.ok(rounds <= most, `${most} slow openings went well: is the gate still needed?`);
  }
  context.diagnostic(`went wrong in round ${rounds}`);
});

test('opening waits until no process writes, a millisecond at a time', async () => {
  const folder = join(temporaryFolder(), 'store');
  await (await storeAt(`lmdb:${folder}`)).close();
  const gate = new native.Gate(folder);
  assert.ok(gate.tryEnter(), 'as a process does that writes');
  const clock = new HandClock();
  let isOpen = false;
  const opened = openLmdb({ folder, clock, log: testParts.log }).finally(() => (isOpen = true));
  await clock.pass(9.5);
  assert.deepEqual([clock.timers, isOpen], [1, false]);
  gate.leave();
  await clock.pass(1);
  const engine = await opened;
  await engine.close();
  gate.close();
});
