/** The disk's reserve: when it is reached, and what is said about it. */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { systemClock } from '../../src/system/clock.js';
import { DiskReserve, isLow } from '../../src/system/diskReserve.js';
import { HandClock } from '../support/handClock.js';
import { recordingLog, type Logged } from '../support/http.js';

const gib = 1024 ** 3;
const room = (blocks: number, bavail: number) => ({
  bsize: 4096,
  blocks: blocks / 4096,
  bavail: bavail / 4096,
});

test('the reserve is 2 GiB, or 5 % of a small disk, or what the operator says', () => {
  assert.equal(isLow(room(1000 * gib, 2 * gib), null), false);
  assert.equal(isLow(room(1000 * gib, 2 * gib - 4096), null), true);
  assert.equal(isLow(room(20 * gib, gib), null), false);
  assert.equal(isLow(room(20 * gib, gib - 4096), null), true);
  assert.equal(isLow(room(20 * gib, 5 * gib), 6 * gib), true);
});

test('it is reached and left as the disk fills and empties, each reported once', async () => {
  const logged: Logged[] = [];
  let left = 10 * gib;
  let broken = false;
  const look = () => (broken ? Promise.reject(new Error('EIO')) : Promise.resolve(room(100 * gib, left)));
  const parts = { clock: systemClock, log: recordingLog(logged), look };
  const reserve = new DiskReserve({ ...parts, folder: tmpdir(), bytes: 1 });
  assert.equal(reserve.isReserved(), false);
  left = 0;
  await reserve.look();
  await reserve.look();
  assert.equal(reserve.isReserved(), true);
  broken = true;
  await reserve.look();
  assert.equal(reserve.isReserved(), true, 'a disk that tells nothing changes nothing');
  broken = false;
  left = gib;
  await reserve.look();
  assert.equal(reserve.isReserved(), false);
  assert.deepEqual(
    logged.map(({ level, fields }) => [level, fields['freeMb'], fields['folder']]),
    [
      ['warn', 0, tmpdir()],
      ['info', 1_073, tmpdir()],
    ],
  );
  reserve.stop();
});

test('it is checked at the beginning, and every second until it is stopped', async () => {
  const clock = new HandClock();
  let looks = 0;
  const look = () => Promise.resolve(room(0, (looks += 1)));
  const parts = { clock, log: recordingLog([]), look };
  const reserve = new DiskReserve({ ...parts, folder: tmpdir(), bytes: Infinity });
  assert.deepEqual([reserve.isReserved(), looks], [true, 0]);
  await clock.pass(999);
  assert.equal(looks, 0);
  await clock.pass(1_001);
  assert.equal(looks, 2);
  reserve.stop();
  assert.equal(clock.timers, 0);
});

test('0 means no reserve', () => {
  const never = () => Promise.reject(new Error('looked'));
  const clock = new HandClock();
  const parts = { clock, log: recordingLog([]), look: never };
  assert.equal(new DiskReserve({ ...parts, folder: '/no/such/folder', bytes: 0 }).isReserved(), false);
  assert.equal(clock.timers, 0);
});
