/** What must hold of the records that `workload.ts` writes, whatever happened to the process or the disk. */
import assert from 'node:assert/strict';
import { decodeCount } from '../../src/store/bytes.js';
import type { Store } from '../../src/store/store.js';

function nameIn(value: Uint8Array): string {
  return Buffer.from(value).toString().split(' ', 1)[0] ?? '';
}

/**
 * Checks that every acknowledged unit is there exactly once, that every unit is there whole or not at all,
 * and that the log has no gap. Returns how many units there are.
 */
export async function checkWorkload(store: Store, acknowledged: readonly string[]): Promise<number> {
  const entries = await store.read('leads', { after: 0, limit: 1e6 });
  const records = await store.scan('keysById', { limit: 1e6 });
  assert.deepEqual(
    entries.map(({ position }) => position),
    entries.map((_, index) => index + 1),
  );
  assert.equal(await store.last('leads'), entries.length, 'the head is the last position');
  const byName = new Map(records.map(({ key, value }) => [Buffer.from(key).toString(), value]));
  const logged = entries.map(({ value }) => nameIn(value));
  assert.equal(new Set(logged).size, logged.length, 'no unit twice');
  assert.deepEqual([...byName.keys()].sort(), [...logged].sort(), 'units whole or not at all');
  for (const { value } of entries) {
    const record = byName.get(nameIn(value));
    assert.ok(record !== undefined && Buffer.compare(record, value) === 0, 'no record torn');
  }
  const places = await store.scan('leafPlaces', { limit: 1e6 });
  assert.deepEqual(
    places.map(({ key, value }) => [Buffer.from(key).toString(), decodeCount(value)]).sort(),
    entries.map(({ position, value }) => [nameIn(value), position]).sort(),
    'every entry has its place, and there is no other',
  );
  const present = new Set(logged);
  assert.deepEqual(
    acknowledged.filter((name) => !present.has(name)),
    [],
    'nothing acknowledged is lost',
  );
  return logged.length;
}
