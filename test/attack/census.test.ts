/**
 * The worst requests that `npm run bench -- census` found last, and those of `worst.ts`, cost no more than
 * was decided. A slower machine may take longer in proportion: see `slowness`.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { canMeasure, CostServer, leastOf, most, shareOf, type Cost } from './costs.js';
import { bodyOf, requestOf, subjects, type Genome } from './shapes.js';
import { worstCases, worstRequest } from './worst.js';

interface Recorded {
  readonly bodies: number;
  readonly found: readonly (Cost & { readonly route: string; readonly genome: Genome })[];
}

const newest = readdirSync('bench/record')
  .filter((name) => name.endsWith('-census.json'))
  .sort()
  .at(-1);
const { bodies, found } = JSON.parse(readFileSync(`bench/record/${newest ?? ''}`, 'utf8')) as Recorded;

/** Made before a server starts, which would close a connection that waits for them. */
const handmade = worstCases();

/** Least processor time of JSON.parse for a MiB of small objects on the machine of the record (ms). */
const recordedParseMs = 20;

/** Least processor time of `manyAtOnce` on a core of which nobody else used a half (ms). */
const recordedManyMs = 3.2;

/** Steps that do not wait for each other. They take up to twice as long while another uses the same core. */
function manyAtOnce(): number {
  let a = 1;
  let b = 2;
  let c = 3;
  let d = 4;
  for (let step = 0; step < 4_000_000; step += 1) {
    a = (a + step) | 0;
    b = (b ^ step) | 0;
    c = (c + (step << 1)) | 0;
    d = (d ^ (step >> 1)) | 0;
  }
  return a ^ b ^ c ^ d;
}

/** Processor time of a call (ms). */
function timeOf(call: () => unknown): number {
  const before = process.cpuUsage();
  call();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

// Before it is compiled it takes longer.
for (let call = 0; call < 10; call += 1) manyAtOnce();

/** How many times slower than the machine of the record this one is now; 1 where it is faster. */
function slowness(): number {
  const text = `[${'{"id":"","text":"","dense_score":1},'.repeat(29_000)}0]`;
  const parsing = timeOf(() => JSON.parse(text) as unknown) / recordedParseMs;
  return Math.max(1, parsing, timeOf(manyAtOnce) / recordedManyMs);
}

/** Most that a request may hold the event loop up beside other tests, which use the same cores (ms). */
const busyLoopMs = 3 * most.loopMs;

/** Most tries of a request that seems to cost too much. */
const mostRounds = 40;

test('every route is in the record', () => {
  // The default of the command: fewer bodies find little.
  assert.ok(bodies >= 60, `${bodies} bodies`);
  const names = subjects().map(({ name }) => name);
  assert.deepEqual(
    found.map(({ route }) => route),
    names,
  );
});

const skip = canMeasure ? false : 'the kernel does not say how long threads run';

/** A request as it is judged: see `shareOf`. */
interface Judged {
  /** Its bytes, with the key of a server. */
  readonly requestOf: (key: string) => Buffer;
  readonly name: string;
  readonly bytes: number;
  readonly byBytes: boolean;
  readonly mibMs?: number | undefined;
}

/** The least that a request costs a server, and that in parts of what it may: it is sent until it fits. */
async function leastCost(
  server: CostServer,
  { bytes, requestOf, ...judged }: Judged,
): Promise<{ readonly best: number; readonly least: Cost }> {
  const request = requestOf(server.key);
  let least = await server.cost(request, bytes, 1);
  let best = shareOf(least, judged, busyLoopMs) / slowness();
  // Other processes only add, to each figure at moments of its own: the request is sent until it fits.
  for (let round = 1; round < mostRounds && best > 1; round += 1) {
    least = leastOf(least, await server.cost(request, bytes, 1));
    best = Math.min(best, shareOf(least, judged, busyLoopMs) / slowness());
  }
  return { best, least };
}

/** Judges requests by what they cost a server. */
class Judge {
  private constructor(private server: CostServer) {}

  static async start(): Promise<Judge> {
    return new Judge(await CostServer.start());
  }

  /**
   * Fails where a request costs more than was decided. One that does is sent to two new servers, too: a fifth
   * is how much servers of one program differ, by how their code was compiled and placed.
   */
  async assertFits(judged: Judged): Promise<Cost> {
    let { best, least } = await leastCost(this.server, judged);
    for (let more = 0; more < 2 && best > 1; more += 1) {
      await this.server.stop();
      this.server = await CostServer.start();
      ({ best, least } = await leastCost(this.server, judged));
    }
    const told = JSON.stringify(least);
    assert.ok(best <= 1, `${judged.name}: ${best.toFixed(2)} times what it may cost: ${told}`);
    return least;
  }

  stop(): Promise<void> {
    return this.server.stop();
  }
}

describe('what requests cost', { skip }, () => {
  let judge: Judge;
  before(async () => {
    judge = await Judge.start();
  });
  after(() => judge.stop());

  test('no request costs more than was decided', async () => {
    for (const subject of subjects()) {
      const genome = found.find(({ route }) => route === subject.name)?.genome;
      assert.ok(genome !== undefined);
      const bytes = subject.kind === 'target' ? 0 : Buffer.byteLength(bodyOf(subject, genome));
      const { name, byBytes } = subject;
      await judge.assertFits({
        requestOf: (key) => requestOf(subject, genome, key),
        ...{ name, bytes, byBytes },
      });
    }
  });

  test('valid requests made by hand cost no more than was decided', async () => {
    for (const one of handmade) {
      // A long target and long fields are sent, too.
      const sent = [one.path, one.body, ...Object.values(one.fields ?? {})];
      const bytes = sent.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
      const { name, byBytes = true, mibMs } = one;
      const { status } = await judge.assertFits({
        requestOf: (key) => worstRequest(one, key),
        ...{ name, bytes, byBytes, mibMs },
      });
      if (one.status !== null) assert.equal(status, one.status, one.name);
    }
  });
});
