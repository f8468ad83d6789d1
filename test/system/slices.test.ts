/** Short work on the event loop: a limited time in one turn, in order; JSON as JSON.stringify writes it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { inSlice, jsonInSlices, Slices } from '../../src/system/slices.js';

/** Slices under a clock that only work moves, whose turns are taken by hand. */
function paced() {
  const time = { nowMs: 0 };
  const turns: (() => void)[] = [];
  const slices = new Slices(
    () => time.nowMs,
    (turn) => void turns.push(turn),
  );
  const done: number[] = [];
  const work = (number: number, tookMs: number): Promise<number> =>
    slices.run(() => {
      time.nowMs += tookMs;
      done.push(number);
      return number;
    });
  return { slices, turns, done, work };
}

describe('pieces of work', () => {
  test('run at once until a turn has had two milliseconds, and otherwise in later turns', async () => {
    const { turns, done, work } = paced();
    const all = [0, 1, 2, 3, 4, 5].map((number) => work(number, 0.9));
    assert.deepEqual(done, [0, 1, 2], 'the third begins before the time is over');
    turns.shift()?.();
    assert.deepEqual(done, [0, 1, 2, 3, 4, 5]);
    assert.deepEqual(await Promise.all(all), [0, 1, 2, 3, 4, 5]);
    turns.shift()?.();
    assert.deepEqual(turns, [], 'a turn with nothing to do plans none');
  });

  test('that arrive while others wait do not overtake them', () => {
    const { turns, done, work } = paced();
    for (const number of [0, 1, 2]) void work(number, 3);
    assert.deepEqual(done, [0]);
    turns.shift()?.();
    void work(3, 3);
    assert.deepEqual(done, [0, 1]);
    turns.shift()?.();
    turns.shift()?.();
    assert.deepEqual(done, [0, 1, 2, 3]);
  });

  test('that fail reject, and the next ones run', async () => {
    const { slices, turns, work } = paced();
    const failed = slices.run(() => {
      throw new Error('broken');
    });
    const next = work(1, 1);
    turns.shift()?.();
    await assert.rejects(failed, /broken/);
    assert.equal(await next, 1);
  });
});

/** Two ends of a connection of this process. */
async function connected(): Promise<{ readonly here: Socket; readonly there: Socket; end: () => void }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const here = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [there] = (await once(server, 'connection')) as [Socket];
  const end = (): void => {
    here.destroy();
    there.destroy();
    server.close();
  };
  return { here, there, end };
}

test('what has arrived is served before another two milliseconds of work', async () => {
  const { here, there, end } = await connected();
  const order: string[] = [];
  const work = (name: string) => (): void => {
    const begunMs = performance.now();
    while (performance.now() - begunMs < 3);
    order.push(name);
  };
  const served = new Promise<void>((resolve) => {
    here.on('data', () => {
      order.push('served');
      resolve();
    });
  });
  const second = new Promise<void>((resolve) => {
    // In a callback of the poll: immediates that it plans follow without another poll.
    there.once('data', () => {
      there.write('b');
      void inSlice(work('first'));
      setImmediate(() => void inSlice(work('second')).then(resolve));
    });
  });
  here.write('a');
  await Promise.all([served, second]);
  end();
  assert.deepEqual(order, ['first', 'served', 'second']);
});

describe('JSON in pieces', () => {
  test('is what JSON.stringify writes', async () => {
    const value = fc.jsonValue();
    const object = fc.dictionary(fc.string(), fc.oneof(value, fc.array(value, { maxLength: 100 })));
    const property = fc.asyncProperty(object, async (any) => {
      assert.equal((await jsonInSlices(any)).toString(), JSON.stringify(any));
    });
    await fc.assert(property, { numRuns: 300 });
  });

  test('leaves out what is undefined, also in long lists', async () => {
    const list = Array.from({ length: 70 }, (_, at) => (at % 3 === 0 ? { at, none: undefined } : undefined));
    const any = { a: undefined, list, b: undefined };
    assert.equal((await jsonInSlices(any)).toString(), JSON.stringify(any));
    assert.equal((await jsonInSlices({ a: undefined })).toString(), '{}');
  });
});
