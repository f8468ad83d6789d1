/** Which span work belongs to, and that spans cost nothing once they have ended. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { activeSpan } from '../../src/telemetry/tracer.js';
import { begin } from './recording.js';

test('work keeps its span while others begin and end, across awaits', async () => {
  for (let round = 0; round < 2; round += 1) {
    const [first, second] = [begin(), begin()];
    let goOn = (): void => assert.ok(false);
    const waits = new Promise<void>((resolve) => (goOn = resolve));
    const found = second.run(async () => {
      const seen = [activeSpan()];
      await waits;
      seen.push(activeSpan());
      second.end({});
      return [...seen, activeSpan()];
    });
    await first.run(() => Promise.resolve());
    first.end({});
    first.end({});
    goOn();
    assert.deepEqual(await found, [second, second, undefined]);
  }
});

test('a span may run twice, and one that never ran may end', () => {
  const [outer, other] = [begin(), begin()];
  outer.run(() => {
    other.end({});
    assert.equal(activeSpan(), outer);
    outer.run(() => assert.equal(activeSpan(), outer));
    assert.equal(activeSpan(), outer);
  });
  outer.end({});
  outer.run(() => assert.equal(activeSpan(), undefined));
});

const recording = new URL('./recording.js', import.meta.url).href;
/** Prints the async id within a promise's reaction before a span, while it runs, and when it has ended. */
const hooks = `
  const { executionAsyncId } = await import('node:async_hooks');
  const { begin } = await import(${JSON.stringify(recording)});
  const seen = [];
  const look = () => Promise.resolve().then(() => seen.push(executionAsyncId() !== 0));
  setImmediate(async () => {
    await look();
    const span = begin();
    await span.run(look);
    span.end({});
    setImmediate(async () => { await look(); console.log(JSON.stringify(seen)); });
  });`;

test('promises have no hooks before the first span and after the last', () => {
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', hooks], { encoding: 'utf8' });
  const [before, , after] = JSON.parse(printed) as boolean[];
  assert.deepEqual([before, after], [false, false]);
});
