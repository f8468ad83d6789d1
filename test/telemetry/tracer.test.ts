/** Which span work belongs to, and what spans cost when they have ended. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { systemRandomness } from '../../src/system/randomness.js';
import { Sampler } from '../../src/telemetry/sampler.js';
import { activeSpan, Tracer, type Span } from '../../src/telemetry/tracer.js';
import { HandClock } from '../system/handClock.js';

const tracer = new Tracer({
  ...{ sampler: new Sampler('always_on', 1, systemRandomness), clock: new HandClock() },
  ...{ record: () => undefined, counts: { dropped: 0 } },
});

function begin(): Span {
  const span = tracer.root('a request', 'server');
  assert.ok(span !== undefined);
  return span;
}

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

const tracing = new URL('../../src/telemetry/tracer.js', import.meta.url).href;
/** Prints the async id within a promise's reaction before a span, while it runs, and when it has ended. */
const hooks = `
  const { executionAsyncId } = await import('node:async_hooks');
  const { Tracer } = await import(${JSON.stringify(tracing)});
  const seen = [];
  const look = () => Promise.resolve().then(() => seen.push(executionAsyncId() !== 0));
  const sampler = { choose: () => 'a'.repeat(32), spanId: () => 'b'.repeat(16) };
  const clock = { wallMs: () => 0, monotonicMs: () => 0 };
  const tracer = new Tracer({ sampler, clock, record() {}, counts: { dropped: 0 } });
  setTimeout(async () => {
    await look();
    const span = tracer.root('a request', 'server');
    await span.run(look);
    span.end({});
    setTimeout(async () => { await look(); console.log(JSON.stringify(seen)); });
  });`;

test('promises have no hooks before the first span and after the last', () => {
  const printed = execFileSync(process.execPath, ['--input-type=module', '-e', hooks], { encoding: 'utf8' });
  const [before, , after] = JSON.parse(printed) as boolean[];
  assert.deepEqual([before, after], [false, false]);
});
