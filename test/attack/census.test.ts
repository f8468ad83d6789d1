/**
 * The worst requests that `npm run bench -- census` found last cost no more than was decided. A slower
 * machine may take longer in proportion: the parsing of a MiB of JSON says how fast this one is now.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { canMeasure, CostServer, leastOf, most, shareOf, type Cost } from './costs.js';
import { bodyOf, requestOf, subjects, type Genome } from './shapes.js';

interface Recorded {
  readonly found: readonly (Cost & { readonly route: string; readonly genome: Genome })[];
}

const newest = readdirSync('bench/record')
  .filter((name) => name.endsWith('-census.json'))
  .sort()
  .at(-1);
const { found } = JSON.parse(readFileSync(`bench/record/${newest ?? ''}`, 'utf8')) as Recorded;

/** Least processor time of JSON.parse for a MiB of small objects on the machine of the record (ms). */
const recordedParseMs = 20;

/** How many times slower than the machine of the record this one is now; 1 where it is faster. */
function slowness(): number {
  const text = `[${'{"id":"","text":"","dense_score":1},'.repeat(29_000)}0]`;
  const before = process.cpuUsage();
  JSON.parse(text);
  const { user, system } = process.cpuUsage(before);
  return Math.max(1, (user + system) / 1_000 / recordedParseMs);
}

/** Most that a request may hold the event loop up beside other tests, which use the same cores (ms). */
const busyLoopMs = 3 * most.loopMs;

/** Most tries of a request that seems to cost too much. */
const mostRounds = 60;

test('every route is in the record', () => {
  const names = subjects().map(({ name }) => name);
  assert.deepEqual(
    found.map(({ route }) => route),
    names,
  );
});

const skip = canMeasure ? false : 'the kernel does not say how long threads run';

test('no request costs more than was decided', { skip }, async () => {
  const server = await CostServer.start();
  try {
    for (const subject of subjects()) {
      const genome = found.find(({ route }) => route === subject.name)?.genome;
      assert.ok(genome !== undefined);
      const request = requestOf(subject, genome, server.key);
      const bytes = subject.kind === 'target' ? 0 : Buffer.byteLength(bodyOf(subject, genome));
      let least = await server.cost(request, bytes, 1);
      let best = shareOf(least, subject, busyLoopMs) / slowness();
      // Other processes only add, to each figure at moments of its own: the request is sent until it fits.
      for (let round = 1; round < mostRounds && best > 1; round += 1) {
        least = leastOf(least, await server.cost(request, bytes, 1));
        best = Math.min(best, shareOf(least, subject, busyLoopMs) / slowness());
      }
      const told = JSON.stringify(least);
      assert.ok(best <= 1, `${subject.name}: ${best.toFixed(2)} times what it may cost: ${told}`);
    }
  } finally {
    await server.stop();
  }
});
