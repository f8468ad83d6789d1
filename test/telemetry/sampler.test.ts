/** Which requests are recorded, under each of OpenTelemetry's rules. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandomness } from '../../src/system/randomness.js';
import { Sampler } from '../../src/telemetry/sampler.js';
import type { SamplerName } from '../../src/telemetry/settings.js';

/** Ids whose random bits are the least and the greatest. */
const [low, high] = ['4bf92f3577b34da6a3'.padEnd(32, '0'), '4bf92f3577b34da6a3'.padEnd(32, 'f')];
const parent = (traceId: string, sampled: boolean) => ({ traceId, spanId: '00f067aa0ba902b7', sampled });

/** Choices without a parent, of a parent that is recorded, of one that is not. */
function choices(name: SamplerName, ratio: number): readonly boolean[] {
  const sampler = new Sampler(name, ratio, systemRandomness);
  return [undefined, parent(low, true), parent(high, false)].map(
    (each) => sampler.choose(each) !== undefined,
  );
}

test('every rule chooses as its name says', () => {
  assert.deepEqual(choices('always_on', 0), [true, true, true]);
  assert.deepEqual(choices('always_off', 1), [false, false, false]);
  assert.deepEqual(choices('traceidratio', 1), [true, true, true]);
  assert.deepEqual(choices('traceidratio', 0), [false, false, false]);
  assert.deepEqual(
    choices('traceidratio', 0.5).slice(1),
    [false, true],
    'by the id, whatever the caller does',
  );
  assert.deepEqual(choices('parentbased_always_on', 0), [true, true, false]);
  assert.deepEqual(choices('parentbased_always_off', 1), [false, true, false]);
  assert.deepEqual(choices('parentbased_traceidratio', 0), [false, true, false]);
  assert.deepEqual(choices('parentbased_traceidratio', 1), [true, true, false]);
});

test('a trace keeps its id, and a new one gets an id that the same ratio chooses elsewhere too', () => {
  const sampler = new Sampler('parentbased_traceidratio', 0.1, systemRandomness);
  const other = new Sampler('traceidratio', 0.1, systemRandomness);
  assert.equal(sampler.choose(parent(low, true)), low);
  const ids = Array.from({ length: 20_000 }, () => sampler.choose(undefined)).filter(
    (id) => id !== undefined,
  );
  // Of 20,000 at 0.1 the standard deviation is 42.
  assert.ok(ids.length > 1_600 && ids.length < 2_400, String(ids.length));
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) {
    assert.match(id, /^[0-9a-f]{32}$/);
    assert.equal(other.choose(parent(id, false)), id);
  }
});

test('an id is never all zeros', () => {
  let drawn = 0;
  const zerosFirst = (count: number): Buffer => ((drawn += 1), Buffer.alloc(count, drawn === 1 ? 0 : 7));
  assert.equal(new Sampler('always_on', 1, zerosFirst).spanId(), '07'.repeat(8));
});
