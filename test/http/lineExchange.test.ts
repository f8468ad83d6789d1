/** A request of lines on a connection in memory: turns, pauses, and memory that is released. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Admission } from '../../src/access/admission.js';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import { LineExchange } from '../../src/http/lineExchange.js';
import { MemoryBudget } from '../../src/http/memory.js';
import { StoreUnavailable } from '../../src/store/store.js';
import { inSlice } from '../../src/system/slices.js';
import { WatchedPool } from '../support/watchedPool.js';
import { until } from '../support/until.js';
import { admission, ask, chunked, pending, serverState, turn, type Connection } from './connection.js';
import { text } from './routes.js';

const KiB = 1_024;

const given = { method: 'POST', bodyLimit: Infinity, lineLimit: 1_000 } as const;
const withLength = { method: 'post', fields: { 'content-length': '100000' } };

type Asked = NonNullable<Parameters<typeof ask>[1]>;

/** Sends a request of lines. */
function askLines(handler: (request: RouteRequest) => Answer | Promise<Answer>, more: Asked = {}) {
  return ask(handler, { kind: LineExchange, sent: withLength, ...more, given: { ...given, ...more.given } });
}

const encode = (written: string): Uint8Array => new TextEncoder().encode(written);

const echo = ({ body }: RouteRequest): Answer => text(`<${Buffer.from(body).toString()}>`);

/** The lines that were answered so far. */
const linesOf = (connection: Connection): string[] => connection.body.toString().split('\n').slice(0, -1);

/** An answer that comes when it is told to. */
function later() {
  const waiting: ((answer: Answer) => void)[] = [];
  const failing: ((error: Error) => void)[] = [];
  const handler = (): Promise<Answer> =>
    new Promise((resolve, reject) => {
      waiting.push(resolve);
      failing.push(reject);
    });
  return { waiting, failing, handler };
}

/**
 * Waits until everything that can be done was done. On a busy machine each line may be left for a later turn
 * (two at most), whose time others have used.
 */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 50; turns += 1) await turn();
}

/** Uses up this turn's time for short pieces of work: those that follow run in a later one. */
function useUpTurn(): void {
  void inSlice(() => {
    const end = performance.now() + 5;
    while (performance.now() < end);
  });
}

describe('a request of lines', () => {
  test('answers each line as it comes, and ends with the last, keeping its connection', async () => {
    const asked = askLines(echo);
    const { connection, server, mounted } = asked;
    assert.equal(server.receiving.size, 1);
    connection.piece('one\ntw');
    await settled();
    assert.deepEqual(linesOf(connection), ['<one>']);
    assert.equal(connection.lines, 'x-request-id: ours\r\ncontent-type: application/x-ndjson');
    connection.piece('o\nthree', true);
    await settled();
    assert.deepEqual(linesOf(connection), ['<one>', '<two>', '<three>']);
    assert.deepEqual([connection.ended, connection.isPaused], ['with a body', false]);
    assert.deepEqual([server.receiving.size, server.inFlight, server.bodies.memory.held], [0, 0, 0]);
    const { meter } = mounted;
    assert.deepEqual([meter.bytesIn, meter.bytesOut], [13, connection.body.byteLength]);
    assert.deepEqual(meter.statusValues(), [{ value: 1, labels: { route: 'r', status: 200 } }]);
  });

  test('without lines gets an empty answer with a head', async () => {
    const { connection } = askLines(echo);
    connection.piece('\n\n', true);
    await settled();
    assert.deepEqual([connection.body.byteLength, connection.ended], [0, 'with a body']);
    assert.equal(connection.line('content-type'), 'application/x-ndjson');
  });

  test('has its connection end after a chunked body, or while the server drains', async () => {
    for (const [sent, draining] of [
      [chunked, false],
      [withLength, true],
      [withLength, false],
    ] as const) {
      const { connection } = askLines(echo, { sent, state: serverState({ draining }) });
      connection.piece('one\n', true);
      await settled();
      const isLast = sent === chunked || draining;
      assert.deepEqual(
        [connection.line('connection'), connection.isPaused],
        [isLast ? 'close' : undefined, isLast],
      );
      assert.deepEqual(linesOf(connection), ['<one>']);
    }
  });

  test('after a chunked body ends in a later turn than that of its last line', async () => {
    for (const sent of [chunked, withLength]) {
      let hadEnded: boolean | undefined;
      const { connection } = askLines(
        (request) => {
          // What is planned now runs before what is planned once the line was answered.
          setImmediate(() => (hadEnded = connection.isAnswered));
          return echo(request);
        },
        { sent },
      );
      connection.piece('one\n', true);
      await settled();
      assert.deepEqual([hadEnded, connection.isAnswered], [sent === withLength, true]);
    }
  });

  test('ends in a later turn if this one is long', async () => {
    const state = serverState();
    let hadEnded: boolean | undefined;
    askLines(echo, { sent: withLength, state });
    state.clock.leap(20);
    const { connection } = askLines(
      (request) => {
        setImmediate(() => (hadEnded = connection.isAnswered));
        return echo(request);
      },
      { sent: withLength, state },
    );
    connection.piece('one\n', true);
    await settled();
    assert.deepEqual([hadEnded, connection.isAnswered, connection.isPaused], [false, true, false]);
  });

  test('with a chunked body is over if its client goes before that turn', async () => {
    const { connection, server } = askLines(echo, { sent: chunked });
    connection.piece('one\n', true);
    assert.deepEqual([linesOf(connection), connection.isAnswered], [['<one>'], false]);
    connection.leave();
    await settled();
    assert.equal(server.inFlight, 0);
  });

  test('takes one turn after others, whatever comes meanwhile; none if its client goes', async () => {
    const { connection } = askLines(echo);
    const gone = askLines(echo);
    useUpTurn();
    gone.connection.piece('one\n');
    connection.piece('one\n');
    connection.piece('two\n', true);
    gone.connection.leave();
    assert.deepEqual([linesOf(connection), connection.isAnswered], [[], false]);
    await settled();
    assert.deepEqual([linesOf(connection), connection.writes], [['<one>', '<two>'], 1]);
    assert.deepEqual([gone.connection.writes, gone.server.inFlight], [0, 0]);
  });

  test('is not paused if its client goes while a line is answered', async () => {
    const { connection, server } = askLines(later().handler);
    connection.piece('one\n');
    connection.leave();
    await settled();
    assert.deepEqual([connection.isPaused, server.inFlight], [false, 0]);
  });

  test('shows each line to its handler as a request with the head of the whole', async () => {
    const seen: unknown[] = [];
    const { connection } = askLines(
      (request) => {
        const { id, path, query, key, keyed, mayAct, head } = request;
        seen.push([id, { ...path }, { ...query }, key, keyed, mayAct, head, request.input]);
        seen.push([[...request.peer()], [...request.caller()], request.aborted(), request.signal().aborted]);
        seen.push(request.header('accept'));
        return text('');
      },
      {
        sent: {
          ...withLength,
          fields: { ...withLength.fields, accept: 'a/b' },
          query: 'q=1',
          parameters: ['v'],
        },
        given: { headers: ['accept'] },
        more: {
          parameters: ['p'],
          admit: () => admission({ key: 'k', address: Uint8Array.of(10, 0, 0, 1) }).admitted,
        },
      },
    );
    connection.piece('one\n');
    await settled();
    assert.deepEqual(seen, [
      ['ours', { p: 'v' }, { q: '1' }, 'k', true, true, false, undefined],
      [[192, 0, 2, 1], [10, 0, 0, 1], false, false],
      'a/b',
    ]);
  });
});

describe('a line', () => {
  test('is answered after the one before it, whatever that waits for', async () => {
    const { waiting, handler } = later();
    const { connection, server } = askLines(handler);
    connection.piece('one\ntwo\n', true);
    await settled();
    assert.deepEqual([waiting.length, connection.isPaused], [1, true]);
    assert.equal(server.receiving.size, 0, 'the pace of a client that has sent all is not looked at');
    waiting[0]?.(text('1'));
    await settled();
    assert.deepEqual([waiting.length, linesOf(connection), connection.isAnswered], [2, ['1'], false]);
    assert.equal(connection.isPaused, true);
    waiting[1]?.(text('2'));
    await settled();
    assert.deepEqual([linesOf(connection), connection.isAnswered], [['1', '2'], true]);
  });

  test('is answered together with the others that are there, for two milliseconds in a turn', async () => {
    const state = serverState();
    let now = 0;
    const turns: number[] = [];
    const { connection } = askLines(
      (request) => {
        state.clock.leap(1);
        turns.push(now);
        return echo(request);
      },
      { state },
    );
    connection.piece('1\n2\n3\n4\n5\n', true);
    while (!connection.isAnswered) {
      now += 1;
      await turn();
    }
    assert.deepEqual(linesOf(connection), ['<1>', '<2>', '<3>', '<4>', '<5>']);
    const each = [...new Set(turns)].map((at) => turns.filter((other) => other === at).length);
    assert.deepEqual(each, [2, 2, 1]);
    assert.equal(connection.writes, 3);
  });

  test('that is retained is copied once, and counts as memory while it waits', async () => {
    const { waiting, handler } = later();
    const kept: Uint8Array[] = [];
    const { connection, server } = askLines((request) => {
      kept.push(request.retain(), request.retain(), request.body);
      return handler();
    });
    const { memory } = server.bodies;
    connection.piece('one\n');
    await settled();
    assert.equal(memory.held, 3);
    assert.deepEqual([kept[0] === kept[1], kept[1] === kept[2]], [true, true]);
    assert.equal(Buffer.from(kept[0] ?? []).toString(), 'one');
    waiting[0]?.(text('1'));
    await settled();
    assert.equal(memory.held, 0);
  });

  test('that takes more than its bytes counts with it, until it is answered or fails', async () => {
    const { waiting, handler } = later();
    const held: number[] = [];
    let answerOne: (() => Answer | Promise<Answer>) | undefined;
    const { connection, server } = askLines((request) => {
      request.hold(100);
      held.push(server.bodies.memory.held);
      if (answerOne === undefined) throw new Error('it fails');
      return answerOne();
    });
    const { memory } = server.bodies;
    for (const [line, answer] of [
      ['one\n', undefined],
      ['two\n', () => text('2')],
    ] as const) {
      answerOne = answer;
      connection.piece(line);
      await settled();
      assert.equal(memory.held, 0);
    }
    answerOne = handler;
    connection.piece('three\n');
    await settled();
    assert.equal(memory.held, 100);
    waiting[0]?.(text('3'));
    await settled();
    assert.deepEqual([held, memory.held], [[100, 100, 100], 0]);
  });

  test('that is not retained does not count as memory', async () => {
    const { handler } = later();
    const { connection, server } = askLines(handler);
    connection.piece('one\n');
    await settled();
    assert.equal(server.bodies.memory.held, 0);
  });

  test('that fails is answered by an error line, with what its answer says', async () => {
    const answers: (() => Answer | Promise<Answer>)[] = [
      () => text('{"detail":"Bad."}', 422),
      () => ({ ...text('{"detail":"No."}', 429), headers: { 'retry-after': '7' } }),
      () => ({ status: 404, body: { json: { detail: 'None.' } }, charge: 0 }),
      () => ({ ...text(''), status: 400, body: { bytes: encode('{"detail":"Bytes."}'), type: '' } }),
      () => {
        throw new Error('broken');
      },
      () => Promise.reject(new Error('broken later')),
      () => {
        throw new StoreUnavailable();
      },
      () => Promise.reject(new StoreUnavailable()),
    ];
    let at = 0;
    const { connection, logged } = askLines(() => answers[at++]?.() ?? text('fine'));
    connection.piece('x\n'.repeat(9), true);
    await settled();
    const lines = linesOf(connection).map((line) => {
      const { error } = JSON.parse(line.startsWith('{') ? line : '{}') as { error?: Record<string, unknown> };
      return error === undefined
        ? line
        : [error['line'], error['status'], error['detail'], error['retry_after']];
    });
    const away = lines[6]?.[2];
    assert.deepEqual(lines, [
      [1, 422, 'Bad.', undefined],
      [2, 429, 'No.', 7],
      [3, 404, 'None.', undefined],
      [4, 400, 'Bytes.', undefined],
      [5, 500, 'Internal Server Error', undefined],
      [6, 500, 'Internal Server Error', undefined],
      [7, 503, away, 1],
      [8, 503, away, 1],
      'fine',
    ]);
    assert.deepEqual(
      logged.map(({ level, fields, message }) => [
        level,
        fields['requestId'],
        fields['route'],
        fields['line'],
        message,
      ]),
      [
        ['error', 'ours', 'r', 5, 'line failed'],
        ['error', 'ours', 'r', 6, 'line failed'],
      ],
    );
  });

  test('that is too long, or that there is no memory for, is refused alone', async () => {
    // Room for whole pieces: they wait in it where a turn has no time left.
    const memory = new MemoryBudget(80);
    const { connection } = askLines(echo, {
      given: { lineLimit: 10 },
      state: serverState({ bodies: { memory, pool: new WatchedPool(0) } }),
    });
    connection.piece(`${'a'.repeat(11)}\nshort\n`);
    await settled();
    memory.take('another', 36);
    connection.piece('12345');
    await settled();
    memory.give('another', 36);
    connection.piece('6\nshort\n', true);
    await settled();
    const [long, first, second, third] = linesOf(connection);
    assert.match(long ?? '', /^\{"error":\{"line":1,"status":413,"detail":".*10 bytes/);
    assert.equal(first, '<short>');
    assert.match(
      second ?? '',
      /^\{"error":\{"line":3,"status":503,.*"code":"overloaded".*"retry_after":1\}\}$/,
    );
    assert.equal(third, '<short>');
  });

  test('has a limited answer for a caller without a key', async () => {
    for (const [key, status] of [
      [undefined, 413],
      ['k', 200],
    ] as const) {
      const { admitted, charged } = admission({ key });
      const charges = [3, 0];
      const handle = (request: RouteRequest): Answer => {
        assert.equal(request.mostAnswerBytes, key === undefined ? 10 : 256 << 20);
        return { ...text('a'.repeat(11)), charge: charges.shift() ?? 0 };
      };
      const { connection } = askLines(handle, {
        given: { keylessAnswerLimit: 10 },
        more: { admit: () => admitted },
      });
      connection.piece('one\ntwo\n');
      await settled();
      assert.equal(linesOf(connection)[0]?.includes('"status":413'), status === 413);
      assert.deepEqual(charged, status === 413 ? [] : [3]);
    }
    const fits = askLines(() => text('a'.repeat(10)), { given: { keylessAnswerLimit: 10 } });
    fits.connection.piece('one\n');
    await settled();
    assert.deepEqual(linesOf(fits.connection), ['a'.repeat(10)]);
  });

  test('releases what its answer holds, even if its client has gone', async () => {
    const given = { back: 0 };
    const owned = (): Answer => ({
      ...text(''),
      body: { bytes: 'all', type: '', release: () => void (given.back += 1) },
    });
    const { waiting, handler } = later();
    let isLate = false;
    const { admitted, charged } = admission();
    const { connection } = askLines(() => (isLate ? handler() : owned()), {
      more: { admit: () => admitted },
    });
    connection.piece('one\n');
    await settled();
    assert.equal(given.back, 1);
    isLate = true;
    connection.piece('two\n');
    await settled();
    connection.leave();
    waiting[0]?.({ ...owned(), charge: 1 });
    await settled();
    assert.deepEqual([given.back, linesOf(connection), charged], [2, ['all'], []]);
  });
});

describe('the sender of lines', () => {
  /** Decides of each line; the first decision is the request's own. */
  const deciding = (decisions: readonly (Admission | Promise<Admission>)[]) => {
    let at = 0;
    return () => decisions[Math.min(at++, decisions.length - 1)] ?? admission().admitted;
  };

  test('is admitted once for its request and the first line, then for each, and charged', async () => {
    const all = [admission(), admission(), admission()];
    let asked = 0;
    const admit = () => all[asked++]?.admitted ?? admission().admitted;
    const { connection } = askLines(() => ({ ...text('x'), charge: 2 }), { more: { admit } });
    connection.piece('one\n\ntwo\nthree\n', true);
    await settled();
    assert.deepEqual([asked, all.map(({ charged }) => charged)], [3, [[2], [2], [2]]]);
  });

  test('is looked up by the head that was sent, even after that is gone', async () => {
    const heads: unknown[] = [];
    const { connection } = askLines(echo, {
      sent: { ...withLength, fields: { ...withLength.fields, 'x-api-key': 'k' } },
      more: {
        admit: (head) => {
          heads.push([head.field('x-api-key'), [...head.peer()]]);
          return admission().admitted;
        },
      },
    });
    connection.piece('one\ntwo\n', true);
    await settled();
    const head = ['k', [192, 0, 2, 1]];
    assert.deepEqual(heads, [head, head]);
  });

  test('gets an error line for a refused line, and later lines may be answered', async () => {
    const refusal = { ...text('{"detail":"No."}', 429), headers: { 'retry-after': '3' } };
    const { admitted, charged } = admission();
    const refused = admission({ refusal }).admitted;
    const { connection } = askLines(() => ({ ...text('x'), charge: 1 }), {
      more: { admit: deciding([admitted, refused, Promise.resolve(refused), Promise.resolve(admitted)]) },
    });
    connection.piece('1\n2\n3\n4\n', true);
    await settled();
    const no = (line: number): string =>
      `{"error":{"line":${line},"status":429,"detail":"No.","retry_after":3}}`;
    assert.deepEqual(linesOf(connection), ['x', no(2), no(3), 'x']);
    assert.deepEqual(charged, [1, 1]);
  });

  test('that must be looked up for a line has it kept meanwhile, even if the store is away', async () => {
    const { admit, decide } = pending();
    const { admitted } = admission();
    const decisions = [() => admitted, admit, () => Promise.reject(new StoreUnavailable())];
    const { connection } = askLines(echo, { more: { admit: () => decisions.shift()?.() ?? admitted } });
    connection.piece('1\n2\n3\n', true);
    await settled();
    assert.deepEqual(linesOf(connection), ['<1>']);
    decide(admitted);
    await settled();
    const [, second, third] = linesOf(connection);
    assert.equal(second, '<2>');
    assert.match(third ?? '', /"line":3,"status":503/);
  });

  test('that must be looked up at the beginning gets no line answered before', async () => {
    const { admit, decide } = pending();
    const { connection } = askLines(echo, { more: { admit } });
    connection.piece('1\n');
    await settled();
    assert.deepEqual([linesOf(connection), connection.isPaused], [[], true]);
    decide(admission().admitted);
    await settled();
    assert.deepEqual([linesOf(connection), connection.isPaused], [['<1>'], false]);
  });

  test('that is refused has no memory held for what comes before the answer leaves', async () => {
    for (const sent of [chunked, withLength]) {
      const { admit, decide } = pending();
      const { connection, server } = askLines(echo, { sent, more: { admit } });
      decide(admission({ refusal: text('no', 401) }).admitted);
      connection.piece('1\n');
      await Promise.resolve();
      assert.equal(connection.isAnswered, sent === withLength);
      connection.piece('2\n');
      const { held } = server.bodies.memory;
      await settled();
      assert.deepEqual([connection.status, held], ['401 Unauthorized', sent === chunked ? 2 : 0]);
      assert.equal(server.bodies.memory.held, 0);
    }
  });

  test('that is refused after a look-up is read from again, and its connection goes on', async () => {
    const { admit, decide } = pending();
    const { connection, server } = askLines(echo, { more: { admit } });
    connection.piece('1\n');
    await settled();
    decide(admission({ refusal: text('no', 401) }).admitted);
    await settled();
    assert.deepEqual(
      [connection.status, connection.isPaused, connection.isLast],
      ['401 Unauthorized', false, false],
    );
    assert.deepEqual([server.receiving.size, server.bodies.memory.held], [0, 0]);
    connection.piece('2\n', true);
    await settled();
    assert.equal(connection.body.toString(), 'no');
  });
});

describe('too many lines that fail', () => {
  const bad = (): Answer => text('{"detail":"Bad."}', 422);

  test('end the answers after 500, and one more for each 128 bytes', async () => {
    for (const [bytes, most] of [
      [2, 501 + (2 * 704) / 128],
      [128, 704],
    ] as const) {
      const { connection, server } = askLines(bad);
      connection.piece(`${'x'.repeat(bytes - 1)}\n`.repeat(704), true);
      await until(() => connection.isAnswered);
      const lines = linesOf(connection);
      assert.equal(lines.length, bytes === 2 ? most + 1 : most);
      const isCutOff = lines.at(-1)?.includes('Too many short lines') === true;
      assert.deepEqual([isCutOff, connection.isPaused], [bytes === 2, false]);
      if (isCutOff) assert.match(lines.at(-1) ?? '', new RegExp(`"line":${most + 1},"status":400`));
      assert.deepEqual([server.receiving.size, server.inFlight], [0, 0]);
    }
  });

  test('are fewer if their errors are long: each 512 characters count as one more', async () => {
    for (const [characters, most] of [
      [511, 512],
      [512, 256],
      [1_023, 256],
      [1_024, 171],
    ] as const) {
      let line = 0;
      const { connection } = askLines(() => {
        line += 1;
        const rest = `{"error":{"line":${line},"status":422,"detail":""}}`;
        return text(`{"detail":"${'y'.repeat(characters - rest.length)}"}`, 422);
      });
      connection.piece('x\n'.repeat(704), true);
      await until(() => connection.isAnswered);
      const lines = linesOf(connection);
      assert.deepEqual([lines.length, lines[most - 1]?.length], [most + 1, characters]);
      assert.match(lines[most] ?? '', /Too many short lines/);
    }
  });

  test('end nothing if no line follows', async () => {
    const { connection } = askLines(bad);
    connection.piece('x\n'.repeat(501 + 7), true);
    await until(() => connection.isAnswered);
    const lines = linesOf(connection);
    assert.deepEqual(
      [lines.length, lines.at(-1)],
      [508, '{"error":{"line":508,"status":422,"detail":"Bad."}}'],
    );
  });

  test('have their rest dropped as it comes if the client does not read', async () => {
    const state = serverState();
    const { connection, server } = askLines(bad, { state, room: 0 });
    connection.piece('x\n'.repeat(700));
    await until(() => server.sending.size === 1);
    await settled();
    connection.piece('rest without an end');
    await settled();
    assert.deepEqual([server.bodies.memory.held, connection.isPaused], [0, false]);
    connection.take(Infinity);
    await until(() => connection.isAnswered);
    assert.deepEqual([connection.isPaused, server.receiving.size, server.answers.held], [true, 0, 0]);
    assert.match(linesOf(connection).at(-1) ?? '', /Too many short lines/);
  });

  test('end the connection if the body has not ended, and the rest is not read', async () => {
    const { connection, server, mounted } = askLines(bad);
    connection.piece('x\n'.repeat(700));
    await until(() => connection.isAnswered);
    assert.deepEqual([connection.isPaused, server.receiving.size], [true, 0]);
    const had = mounted.meter.bytesIn;
    connection.piece('x\n');
    await settled();
    assert.deepEqual([mounted.meter.bytesIn, had], [1_400, 1_400]);
  });
});

describe('a client that does not read', () => {
  const state = () => serverState({ answers: new MemoryBudget(8 * KiB * KiB) });
  const large = 'y'.repeat(200 * KiB);

  test('is not read from while lines wait for it, and is checked ever less often', async () => {
    const { connection, server, clock } = askLines(() => text(large), { state: state(), room: 0 });
    connection.piece('1\n2\n3\n');
    await settled();
    assert.deepEqual([connection.isPaused, server.sending.size, clock.timers], [true, 1, 1]);
    assert.ok(server.answers.held > 0);
    // It is read from again for a moment, which tells whether it has gone; then it waits twice as long.
    for (const ms of [20, 40, 80, 160, 320, 640, 1_000, 1_000]) {
      await clock.pass(ms - 1);
      assert.deepEqual([connection.isPaused, clock.timers], [true, 1], `${ms}`);
      await clock.pass(1);
      assert.deepEqual([connection.isPaused, clock.timers], [false, 0], `${ms}`);
      connection.piece('4\n');
      connection.piece('5\n');
      await settled();
      assert.deepEqual([connection.isPaused, clock.timers], [true, 1], `${ms}`);
    }
    connection.take(Infinity);
    await settled();
    assert.equal(linesOf(connection).length, 0, 'a server that does not read hears nothing of it');
    await clock.pass(1_000);
    await until(() => linesOf(connection).length === 19);
    assert.equal(server.answers.held, 0);
    connection.room = -1;
    connection.piece('6\n7\n');
    await settled();
    await clock.pass(20);
    assert.equal(connection.isPaused, false, 'the first look is early again');
    connection.leave();
    assert.deepEqual(
      [server.sending.size, server.answers.held, server.receiving.size, clock.timers],
      [0, 0, 0, 0],
    );
  });

  test('is read from while no lines wait for it, and its pace is that of its reading', async () => {
    const { connection, server, clock } = askLines(() => text(large), { state: state(), room: 0 });
    const check = (ms: number): void => {
      clock.leap(ms);
      for (const sender of server.receiving) sender.check(clock.monotonicMs());
    };
    connection.piece('1\n');
    await settled();
    assert.deepEqual([connection.isPaused, clock.timers], [false, 0]);
    check(1_000);
    check(50);
    connection.take(Infinity);
    await until(() => linesOf(connection).length === 1);
    check(99);
    await settled();
    assert.equal(connection.isAnswered, false, 'its own pace counts from the last look');
    check(1);
    await settled();
    assert.equal(connection.isAnswered, true);
  });

  test('is closed if there is no memory for its answers', async () => {
    for (const isLast of [true, false]) {
      const { connection, server } = askLines(() => text(large), { room: 0, state: serverState() });
      server.answers.take('another', 1_024 * KiB);
      connection.piece('1\n', isLast);
      await settled();
      assert.deepEqual([connection.ended, server.inFlight, server.sending.size], ['closed', 0, 0]);
    }
  });

  test('but has sent everything is waited for without a pause', async () => {
    const { connection, clock } = askLines(() => text(large), { state: state(), room: 0 });
    connection.piece('1\n2\n', true);
    await settled();
    assert.deepEqual([connection.isPaused, clock.timers], [false, 0]);
    connection.take(Infinity);
    await until(() => connection.isAnswered);
    assert.equal(linesOf(connection).length, 2);
  });

  test('leaves no timer behind when it goes', async () => {
    const { connection, clock, server } = askLines(() => text(large), { state: state(), room: 0 });
    connection.piece('1\n2\n3\n');
    await settled();
    assert.equal(clock.timers, 1);
    connection.leave();
    assert.deepEqual([clock.timers, server.inFlight, server.bodies.memory.held], [0, 0, 0]);
    await settled();
  });
});

describe('the pace of lines', () => {
  const paced = (handler: Parameters<typeof askLines>[0] = echo, more: Asked = {}) => {
    const asked = askLines(handler, more);
    const { server, clock } = asked;
    const check = async (ms: number): Promise<void> => {
      clock.leap(ms);
      for (const sender of server.receiving) sender.check(clock.monotonicMs());
      await settled();
    };
    return { ...asked, check };
  };

  test('is measured from the beginning: nothing in a window is 408', async () => {
    const state = serverState();
    state.clock.leap(1_000);
    const { connection, server, check } = paced(echo, { state });
    await check(99);
    assert.equal(connection.isAnswered, false);
    await check(1);
    assert.deepEqual(
      [connection.status, connection.isLast, server.receiving.size],
      ['408 Request Timeout', true, 0],
    );
  });

  test('ends the connection with an error line if it is too slow after some answers', async () => {
    const { connection, server, check } = paced();
    connection.piece('1\n');
    await settled();
    await check(100);
    const [first, second] = linesOf(connection);
    assert.equal(first, '<1>');
    assert.match(second ?? '', /^\{"error":\{"line":2,"status":408,.*"code":"body_timeout"/);
    assert.deepEqual([connection.isAnswered, connection.isPaused, server.receiving.size], [true, true, 0]);
  });

  test('closes the connection if it is too slow and the client does not read', async () => {
    const { connection, check } = paced();
    connection.piece('1\n');
    await settled();
    connection.room = 0;
    await check(100);
    assert.equal(connection.ended, 'closed');
  });

  test('is kept by ten bytes in each window', async () => {
    const { connection, check } = paced();
    for (let at = 0; at < 3; at += 1) {
      connection.piece('123456789\n');
      await settled();
      await check(100);
      assert.equal(connection.isAnswered, false);
    }
    connection.piece('12345678\n');
    await settled();
    await check(99);
    assert.equal(connection.isAnswered, false);
    await check(1);
    assert.equal(connection.isAnswered, true);
  });

  test('is not measured while a line is answered, and starts anew afterwards', async () => {
    const { waiting, handler } = later();
    const { connection, clock, check } = paced(handler);
    connection.piece('1\n');
    await settled();
    await check(1_000);
    assert.deepEqual([connection.isAnswered, connection.isPaused], [false, true]);
    clock.leap(60);
    waiting[0]?.(text('1'));
    await settled();
    assert.equal(connection.isPaused, false);
    await check(99);
    assert.equal(connection.isAnswered, false);
    await check(1);
    assert.equal(connection.isAnswered, true);
  });

  test('does not count what came before the last answer', async () => {
    const { waiting, handler } = later();
    const { connection, check } = paced(handler);
    connection.piece('a long line of many bytes\n');
    await settled();
    waiting[0]?.(text('1'));
    await settled();
    await check(100);
    assert.equal(connection.isAnswered, true);
  });
});
