/**
 * Opening a store that other processes write to. When LMDB opens an environment it reads the number of the
 * last transaction, and a moment later sets it for every process (mdb_env_open2). A commit between the two is
 * taken back: the next one writes over it (OpenLDAP ITS#9496).
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../processes/run.js';
import { openBare } from './bareLmdb.js';
import { checkWorkload } from './invariants.js';
import { storeAt } from './open.js';
import { runToEnd, runUntil, workUntil } from './processesAtWork.js';
import { skipWithout } from './tools.js';

const bare = fileURLToPath(new URL('bareLmdb.js', import.meta.url));
const workload = fileURLToPath(new URL('workload.js', import.meta.url));
const skip = skipWithout('cc');

/** A library that makes opening slow: it waits before LMDB maps its file, between the read and the set. */
const slowOpening = `
  #define _GNU_SOURCE
  #include <dlfcn.h>
  #include <stdio.h>
  #include <string.h>
  #include <sys/mman.h>
  #include <unistd.h>
  static int data(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = fd < 0 ? -1 : readlink(link, path, sizeof path - 1);
    if (length < 8) return 0;
    path[length] = 0;
    return strcmp(path + length - 8, "data.mdb") == 0;
  }
  #define MMAP(name) void *name(void *at, size_t length, int protection, int flags, int fd, off_t offset) { \\
    void *(*next)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap"); \\
    if (data(fd)) usleep(20000); \\
    return next(at, length, protection, flags, fd, offset); }
  MMAP(mmap)
  MMAP(mmap64)
`;

function buildSlowOpening(folder: string): NodeJS.ProcessEnv {
  const library = join(folder, 'slow.so');
  writeFileSync(join(folder, 'slow.c'), slowOpening);
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
  const environment = openBare(folder);
  const lost = acknowledged.filter((name) => environment.getBinary(Buffer.from(name)) === undefined);
  await environment.close();
  return lost.length > 0;
}

test('a store that is opened all the time loses nothing', async () => {
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

test('nor when opening takes its time', { skip }, async () => {
  const folder = temporaryFolder();
  const slow = buildSlowOpening(folder);
  const data = join(folder, 'store');
  const acknowledged = await workUntil(data, 'w', async () => {
    for (let round = 0; round < 10; round += 1) await runToEnd([workload, data, 'o', '0', '1'], slow);
  });
  const store = await storeAt(`lmdb:${data}`);
  assert.ok((await checkWorkload(store, acknowledged)) > 100);
  await store.close();
});

test('LMDB alone crashes then, or loses what it acknowledged', { skip }, async (context) => {
  const folder = temporaryFolder();
  const slow = buildSlowOpening(folder);
  const most = 60;
  let rounds = 1;
  while (!(await bareGoesWrong(join(folder, `bare-${rounds}`), slow))) {
    rounds += 1;
    assert.ok(rounds <= most, `${most} slow openings went well: is the gate still needed?`);
  }
  context.diagnostic(`went wrong in round ${rounds}`);
});
