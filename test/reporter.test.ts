/** The summary below a test run. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import type { TestEvent } from 'node:test/reporters';
import summary from './reporter.js';

async function textOf(...events: readonly object[]): Promise<string> {
  async function* run(): AsyncGenerator<TestEvent> {
    for (const event of events) yield await Promise.resolve(event as TestEvent);
  }
  let text = '';
  for await (const part of summary(run())) text += part;
  return text;
}

function passed(file: string, durationMs: number, more: object = {}): object {
  const details = { duration_ms: durationMs };
  return { type: 'test:pass', data: { nesting: 0, file: resolve(file), details, ...more } };
}

test('names what did not run with its reason, and the slowest ten files', async () => {
  const files = Array.from({ length: 12 }, (_, at) => passed(`f${at}.ts`, 1_000 * at));
  const text = await textOf(
    ...files,
    { type: 'test:start', data: {} },
    passed('f11.ts', 500, { skip: 'Go is not installed' }),
    passed('f11.ts', 900_000, { nesting: 1, skip: 'Go is not installed' }),
    { ...passed('f0.ts', 1, { skip: true }), type: 'test:fail' },
  );
  assert.match(text, /^\nTests and groups that did not run, and what they need:$/m);
  assert.match(text, /^ {4}2 {2}Go is not installed\n {4}1 {2}no reason given$/m);
  const named = [...text.matchAll(/^ *([\d.]+) s {2}(f\d+\.ts)$/gm)].map(
    ([, time, file]) => `${file} ${time}`,
  );
  assert.deepEqual(named.slice(0, 2), ['f11.ts 11.5', 'f10.ts 10.0']);
  assert.equal(named.length, 10);
});

test('names each test that failed, with where it stands and why', async () => {
  const failed = (name: string, failureType: string, message: string): object => {
    const error = Object.assign(new Error(message), { failureType });
    const details = { duration_ms: 1, error };
    return { type: 'test:fail', data: { name, nesting: 0, file: resolve('a.ts'), line: 7, details } };
  };
  const text = await textOf(
    failed('pays twice', 'testCodeFailure', 'Expected 1\nfound 2'),
    failed('money', 'subtestsFailed', '1 subtest failed'),
    passed('a.ts', 10),
  );
  assert.match(
    text,
    /^\nFailed:\n {4}a\.ts:7 {2}pays twice\n {8}Expected 1\n {8}found 2\n\nEvery test ran\./,
  );
});

test('says so where every test ran', async () => {
  assert.match(
    await textOf(passed('a.ts', 10)),
    /^\nEvery test ran\.\n\nSlowest files:\n {4}0\.0 s {2}a\.ts\n$/,
  );
});
