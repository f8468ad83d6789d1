/**
 * One request and its answer on a connection in memory: what is written when, and which memory is released.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { storeUnavailable } from '../../src/contract/answer.js';
import type { Answer, Handler, RouteRequest } from '../../src/contract/exchange.js';
import { internalError } from '../../src/http/failures.js';
import { MemoryBudget } from '../../src/http/memory.js';
import type { ServerState } from '../../src/http/state.js';
import { StoreUnavailable } from '../../src/store/store.js';
import { activeSpan, type SpanRecord } from '../../src/telemetry/tracer.js';
import { tracerOf } from '../telemetry/recording.js';
import { admission, ask, chunked, post, prepare, serverState, toBody, turn } from './connection.js';
import { text } from './routes.js';

const KiB = 1_024;
/** From this size on an answer always waits for its client, and from that one on text is bytes before. */
const short = KiB;
const large = 128 * KiB;

/** A server at a moment at which it looks whether a short answer is taken. */
function stateOfSample() {
  const state = serverState();
  state.clock.leap(0.001);
  return state;
}

/** Bytes that count how often they were given back. */
function owned(length: number, immutable?: true) {
  const given = { back: 0 };
  const bytes = new Uint8Array(length).fill(7);
  const type = 'application/octet-stream';
  const release = (): void => void (given.back += 1);
  const body = immutable === undefined ? { bytes, type, release } : { bytes, type, release, immutable };
  return { given, answer: { status: 200, body, charge: 0 } satisfies Answer };
}

describe('an answer', () => {
  test('has its header lines and its body, and is counted once it was handed over', () => {
    const state = serverState();
    const { connection, mounted } = ask(
      () => {
        state.clock.leap(3);
        assert.equal(state.server.inFlight, 1);
        return text('grün');
      },
      { state, more: { lines: '\r\nx-every: 1' } },
    );
    assert.equal(connection.lines, 'x-request-id: ours\r\nx-every: 1\r\ncontent-type: text/plain');
    assert.deepEqual(
      [connection.status, connection.body.toString(), connection.ended, connection.isLast],
      ['200 OK', 'grün', 'with a body', false],
    );
    const { meter } = mounted;
    assert.deepEqual([meter.totalMs, meter.bytesIn, meter.bytesOut, meter.aborted], [3, 0, 5, 0]);
    assert.deepEqual(meter.statusValues(), [{ value: 1, labels: { route: 'r', status: 200 } }]);
    assert.deepEqual([state.server.inFlight, state.logged], [0, []]);
  });

  test('names its status where that is not 200', () => {
    for (const [status, line] of [
      [201, '201 Created'],
      [404, '404 Not Found'],
    ] as const) {
      assert.equal(ask(() => text('', status)).connection.status, line);
    }
  });

  test('has no body for 204, 304 and HEAD, or if it is empty, and a length where one is due', () => {
    for (const [status, isHead, length] of [
      [204, false, undefined],
      [304, false, undefined],
      [204, true, undefined],
      [304, true, '3'],
      [200, true, '3'],
      [200, false, '0'],
    ] as const) {
      const body = length === '0' ? '' : 'abc';
      const { connection, mounted } = ask(() => text(body, status), {
        more: { head: isHead },
      });
      assert.deepEqual(
        [connection.ended, connection.line('content-length'), connection.isLast, mounted.meter.bytesOut],
        ['without a body', length, false, 0],
        `${status} ${isHead}`,
      );
    }
    const { connection } = ask(() => text('', 204));
    assert.equal(connection.lines, 'x-request-id: ours\r\ncontent-type: text/plain');
    assert.equal(ask(() => text('abc')).connection.line('content-length'), undefined, 'the server writes it');
  });

  test('without a body ends its connection at some moments, as nothing tells if it was taken', async () => {
    const state = serverState();
    state.clock.leap(0.257);
    const { connection, mounted } = ask(() => text('abc'), { more: { head: true }, state });
    assert.deepEqual([connection.ended, connection.isLast], ['without a body', true]);
    assert.deepEqual([connection.line('content-length'), mounted.meter.isUsed], ['3', true]);
    assert.equal(connection.isClosed, false);
    await turn();
    assert.equal(connection.isClosed, true);
    assert.deepEqual([mounted.meter.aborted, state.server.inFlight], [0, 0], 'its end is no abort');
  });

  test('waits for the next turn if this one is long', async () => {
    const state = serverState();
    let calls = 0;
    const handler = () => text(`${(calls += 1)}`);
    const first = ask(handler, { state });
    state.clock.leap(20);
    const [second, third] = [ask(handler, { state }), ask(handler, { state })];
    assert.deepEqual([first.connection.body.toString(), calls], ['1', 3]);
    assert.deepEqual([second.connection.isAnswered, third.connection.isAnswered], [false, false]);
    third.connection.leave();
    await turn();
    assert.deepEqual([second.connection.body.toString(), second.connection.isLast], ['2', false]);
    assert.equal(third.connection.body.byteLength, 0);
    assert.equal(ask(handler, { state }).connection.body.toString(), '4');
    assert.equal(state.server.inFlight, 0);
  });

  test('ends its connection while the server drains', () => {
    for (const [status, bytes] of [
      [200, 'a'],
      [204, ''],
      [200, 'a'.repeat(large)],
    ] as const) {
      const { connection } = ask(() => text(bytes, status), { state: serverState({ draining: true }) });
      assert.equal(connection.isLast, true);
    }
  });

  test('is open to other origins only on an open route, for a request that names its origin', () => {
    for (const [cors, origin, isOpen] of [
      [true, 'https://a.example', true],
      [true, '', false],
      [false, 'https://a.example', false],
    ] as const) {
      const { connection } = ask(() => text(''), { given: { cors }, sent: { fields: { origin } } });
      assert.equal(connection.line('access-control-allow-origin') === '*', isOpen);
    }
  });

  test('counts the code of its problem from status 400 on', () => {
    for (const [status, counted] of [
      [400, 1],
      [399, 0],
    ] as const) {
      const { mounted } = ask(() => ({ ...text('', status), problem: 'code' }));
      assert.equal(mounted.meter.problemValues().length, counted);
    }
  });

  test('may take another form if it is an error', () => {
    const writeFailure = (answer: Answer, id: string): Answer => text(`${id} failed`, answer.status);
    const of = (status: number): string =>
      ask(() => text('', status), { more: { writeFailure } }).connection.body.toString();
    assert.deepEqual([of(399), of(400), of(500)], ['', 'ours failed', 'ours failed']);
  });

  test('shows its time on timed routes, or its stages on every route if that is set', () => {
    const of = (timed: boolean, timing: ServerState['timing']): string | undefined =>
      ask(() => text(''), { given: { timed }, state: serverState({ timing }) }).connection.line(
        'server-timing',
      );
    assert.deepEqual(
      [of(true, 'total'), of(false, 'total'), of(true, 'off'), of(true, 'stages'), of(false, 'stages')],
      ['app;dur=0.000', undefined, undefined, 'app;dur=0.000', 'app;dur=0.000'],
    );
  });
});

describe('a short answer', () => {
  test('is sent as a longer one at some moments', () => {
    const { connection, server, mounted } = ask(() => text('abc'), { state: stateOfSample(), room: 1 });
    assert.deepEqual([connection.isAnswered, server.answers.held, server.inFlight], [false, 2, 1]);
    connection.take(Infinity);
    assert.deepEqual([connection.ended, connection.isLast], ['with its last byte', false]);
    assert.deepEqual([mounted.meter.bytesOut, server.answers.held, server.inFlight], [3, 0, 0]);
  });
});

describe('a large answer', () => {
  test('is one of 1 KiB or more, text too', () => {
    for (const [length, how] of [
      [short - 1, 'with a body'],
      [short, 'with its last byte'],
      [large - 1, 'with its last byte'],
      [large, 'with its last byte'],
    ] as const) {
      for (const bytes of ['a'.repeat(length), new Uint8Array(length)]) {
        const type = 'text/plain';
        const answer = { status: 200, body: { bytes, type }, charge: 0 };
        const { connection, mounted, server, logged } = ask(() => answer);
        assert.deepEqual([connection.ended, connection.body.byteLength, server.inFlight], [how, length, 0]);
        assert.equal(connection.isPaused, false);
        assert.deepEqual([mounted.meter.bytesOut, connection.isLast, logged], [length, false, []]);
        assert.equal(connection.lines, 'x-request-id: ours\r\ncontent-type: text/plain');
      }
    }
    const letters = 'ü'.repeat(large / 2);
    const { connection } = ask(() => text(letters));
    assert.deepEqual(
      [connection.ended, connection.body.toString() === letters],
      ['with its last byte', true],
    );
  });

  test('waits for its client, and is counted once it has all', () => {
    const state = serverState();
    state.clock.leap(70);
    const { connection, mounted } = ask(() => text('a'.repeat(large)), { room: 1_000, state });
    const { server } = state;
    assert.deepEqual([server.answers.held, server.sending.size, server.inFlight], [large - 1_000, 1, 1]);
    assert.deepEqual([mounted.meter.isUsed, connection.isAnswered], [false, false]);
    state.clock.leap(5);
    connection.take(Infinity);
    assert.deepEqual([server.answers.held, server.sending.size, server.inFlight], [0, 0, 0]);
    assert.deepEqual(
      [mounted.meter.totalMs, mounted.meter.bytesOut, connection.body.byteLength],
      [5, large, large],
    );
  });

  test('after a chunked body is the last of its connection, which is not read once all is sent', async () => {
    const bytes = 'a'.repeat(large);
    const { connection } = ask(() => text(bytes), { sent: chunked, given: toBody, room: 10 });
    connection.piece('', true);
    await turn();
    assert.deepEqual([connection.isAnswered, connection.isPaused], [false, false]);
    connection.take(100);
    assert.deepEqual([connection.isAnswered, connection.isPaused], [false, false]);
    connection.take(Infinity);
    assert.deepEqual([connection.isLast, connection.isPaused, connection.body.length], [true, true, large]);
  });

  test('is copied unless it is handed over or never changes', () => {
    for (const kind of ['lent', 'owned', 'immutable'] as const) {
      const { given, answer } = owned(large, kind === 'immutable' ? true : undefined);
      const { bytes, type } = answer.body;
      const sent = kind === 'lent' ? { ...answer, body: { bytes, type } } : answer;
      const { connection, server } = ask(() => sent, { room: 1_000 });
      assert.deepEqual(
        [server.answers.held, given.back],
        [kind === 'immutable' ? 0 : large - 1_000, 0],
        kind,
      );
      bytes.fill(8);
      connection.take(Infinity);
      assert.equal(connection.body.at(-1), kind === 'lent' ? 7 : 8, kind);
      assert.equal(given.back, kind === 'lent' ? 0 : 1, kind);
    }
  });

  test('releases the body of its request while it waits, and everything when its client goes', async () => {
    const { given, answer } = owned(large);
    const state = serverState();
    const { connection, exchange, mounted } = ask(
      (request) => {
        request.retain();
        return Promise.resolve(answer);
      },
      { state, sent: post, given: toBody, room: 1_000 },
    );
    const { server } = state;
    connection.piece('ab', true);
    assert.equal(server.bodies.memory.held, 2);
    await turn();
    assert.deepEqual([server.bodies.memory.held, exchange.body.byteLength], [0, 0]);
    assert.deepEqual([server.answers.held, given.back], [large - 1_000, 0]);
    connection.leave();
    assert.deepEqual([server.answers.held, server.sending.size, given.back, server.inFlight], [0, 0, 1, 0]);
    assert.deepEqual([mounted.meter.aborted, mounted.meter.statusValues()], [1, []]);
    assert.equal(server.bodies.memory.held, 0, 'once');
  });

  test('closes its connection if there is no memory for the rest', () => {
    const answers = new MemoryBudget(large);
    const { connection, mounted, server } = ask(() => text('a'.repeat(2 * large)), {
      state: serverState({ answers }),
      room: 1_000,
    });
    assert.deepEqual([connection.ended, mounted.meter.aborted, server.inFlight], ['closed', 1, 0]);
  });

  test('counts against the network of its caller, unless the caller has a key', () => {
    for (const key of [undefined, 'k']) {
      const answers = new MemoryBudget(8 * large, large);
      answers.take('c00002', large);
      const { admitted } = admission({ key });
      const { connection } = ask(() => text('a'.repeat(large)), {
        state: serverState({ answers }),
        more: { admit: () => admitted },
        room: 1_000,
      });
      assert.equal(connection.ended, key === undefined ? 'closed' : undefined);
    }
  });

  test('has a limit on some routes for callers without a key: 413 above it, and nothing is charged', () => {
    for (const [bytes, more, status] of [
      [1_000, {}, 200],
      [1_001, {}, 413],
      [1_001, { key: 'k' }, 200],
    ] as const) {
      const { admitted, charged } = admission(more);
      const { given, answer } = owned(bytes);
      let most: number | undefined;
      const handle = (request: RouteRequest): Answer => {
        most = request.mostAnswerBytes;
        return { ...answer, charge: 4 };
      };
      const { connection } = ask(handle, {
        given: { keylessAnswerLimit: 1_000 },
        more: { admit: () => admitted },
      });
      assert.equal(most, 'key' in more ? 256 << 20 : 1_000);
      assert.equal(connection.status.slice(0, 3), String(status));
      assert.deepEqual([charged, given.back], [status === 200 ? [4] : [], 1]);
    }
    const { connection } = ask(() => text('a'.repeat(1_001)), { given: { keylessAnswerLimit: 1_000 } });
    assert.equal(connection.status, '200 OK', 'where nobody is admitted');
  });
});

describe('an admitted request', () => {
  test('is charged for its answer if there is anything to charge', () => {
    for (const charge of [0, 1]) {
      const { admitted, charged } = admission({ rateLimit: 'l', rateLimitPolicy: 'p' });
      const { connection } = ask(() => ({ ...text(''), charge }), { more: { admit: () => admitted } });
      assert.deepEqual(charged, charge === 0 ? [] : [1]);
      assert.deepEqual([connection.line('ratelimit'), connection.line('ratelimit-policy')], ['l', 'p']);
    }
    assert.equal(ask(() => ({ ...text('all'), charge: 1 })).connection.body.toString(), 'all', 'nobody is');
  });

  test('that has to wait reads the client’s address first, unless it is known', async () => {
    for (const [more, asked] of [
      [{}, 1],
      [{ address: Uint8Array.of(1) }, 0],
    ] as const) {
      const { admitted } = admission(more);
      const { connection } = ask(() => Promise.resolve(text('')), { more: { admit: () => admitted } });
      assert.deepEqual([connection.asked, connection.isAnswered], [asked, false]);
      await turn();
      assert.deepEqual([connection.isAnswered, connection.isLast], [true, false]);
    }
    const { connection, exchange } = ask(() => new Promise<never>(() => undefined));
    connection.leave();
    assert.deepEqual([...exchange.peer()], [192, 0, 2, 1]);
  });
});

describe('a handler', () => {
  test('gets the checked input, at once or later, and is not called if the check refuses it', async () => {
    let handled = 0;
    const handler: Handler = (request) => {
      handled += 1;
      return text(String(request.input));
    };
    for (const isLater of [false, true]) {
      for (const [result, said, calls] of [
        [{ input: 5 }, '5', 1],
        [{ refused: text('no', 422) }, 'no', 0],
      ] as const) {
        handled = 0;
        const check = () => (isLater ? Promise.resolve(result) : result);
        const { connection } = ask(handler, { more: { check } });
        assert.equal(connection.isAnswered, !isLater);
        await turn();
        assert.deepEqual([connection.body.toString(), handled], [said, calls]);
      }
    }
    assert.equal(ask(handler).connection.body.toString(), 'undefined', 'nothing is checked');
  });

  test('that fails is a 500 and logged; while the store is away, a 503 and not logged', async () => {
    for (const isLater of [false, true]) {
      for (const [error, answer, isLogged] of [
        [new Error('broken'), internalError, true],
        [new StoreUnavailable(), storeUnavailable(), false],
      ] as const) {
        const { connection, logged, server } = ask(() => {
          if (isLater) return Promise.reject(error);
          throw error;
        });
        await turn();
        assert.deepEqual([connection.status.slice(0, 3), connection.isLast], [String(answer.status), false]);
        const failed = logged.filter(({ message }) => message === 'request failed');
        const fields = { requestId: 'ours', route: 'r', err: error };
        assert.deepEqual(failed, isLogged ? [{ level: 'error', fields, message: 'request failed' }] : []);
        assert.equal(server.inFlight, 0);
      }
    }
  });

  test('that fails, or whose admission fails, after its client has gone is logged', async () => {
    const error = new Error('broken');
    const later = async (): Promise<never> => {
      await turn();
      throw error;
    };
    for (const begin of [() => ask(later), () => ask(() => text(''), { more: { admit: later } })]) {
      const { connection, logged, server } = begin();
      connection.leave();
      await turn();
      await turn();
      assert.deepEqual(
        logged.map(({ fields }) => fields),
        [{ requestId: 'ours', route: 'r', err: error }],
      );
      assert.deepEqual([connection.lines, server.inFlight], ['', 0]);
    }
  });

  test('that puts a line break into a header field is a 500, also later', async () => {
    for (const isLater of [false, true]) {
      const answer = { ...text(''), headers: { a: '1\r\nb: 2' } };
      const { connection, logged } = ask(() => (isLater ? Promise.resolve(answer) : answer));
      await turn();
      assert.deepEqual([connection.status.slice(0, 3), logged[0]?.message], ['500', 'request failed']);
    }
  });

  test('that fails while it releases its answer has answered, and nothing is written twice', () => {
    const broken = new Error('broken');
    const release = (): void => {
      throw broken;
    };
    const { connection, logged } = ask(() => ({ ...text('all'), body: { bytes: 'all', type: '', release } }));
    assert.deepEqual([connection.status, connection.body.toString()], ['200 OK', 'all']);
    assert.deepEqual(logged[0]?.fields['err'], broken);
  });

  test('that works on after its client has gone keeps the body, and its answer is released', async () => {
    const { given, answer } = owned(10);
    let finish: (() => void) | undefined;
    const state = serverState();
    const { connection, exchange, mounted } = ask(
      (request) => {
        request.retain();
        return new Promise<Answer>((resolve) => (finish = () => resolve(answer)));
      },
      { state, sent: post, given: toBody },
    );
    const { memory } = state.server.bodies;
    connection.piece('ab', true);
    connection.leave();
    assert.deepEqual([memory.held, state.server.inFlight, mounted.meter.aborted], [2, 0, 1]);
    assert.equal(Buffer.from(exchange.body).toString(), 'ab');
    finish?.();
    await turn();
    assert.deepEqual([memory.held, exchange.body.byteLength, given.back, connection.lines], [0, 0, 1, '']);
    assert.equal(state.server.inFlight, 0, 'once');
  });

  test('that fails after its client has gone releases the body, and nothing is answered', async () => {
    let fail: (() => void) | undefined;
    const state = serverState();
    const { connection } = ask(
      (request) => {
        request.retain();
        return new Promise<Answer>((_, reject) => (fail = () => reject(new Error('broken'))));
      },
      { state, sent: post, given: toBody },
    );
    connection.piece('ab', true);
    connection.leave();
    fail?.();
    await turn();
    assert.deepEqual([state.server.bodies.memory.held, connection.lines], [0, '']);
  });

  test('that answers at once, or fails later, releases the body too', async () => {
    for (const fails of [false, true]) {
      const { connection, server } = ask(
        (request) => {
          request.retain();
          return fails ? Promise.reject(new Error('broken')) : text('');
        },
        { sent: post, given: toBody },
      );
      connection.piece('ab', true);
      await turn();
      assert.deepEqual([connection.isAnswered, server.bodies.memory.held], [true, 0]);
    }
  });

  test('that answers later releases the body with its answer', async () => {
    const state = serverState();
    const { connection } = ask(
      (request) => {
        request.retain();
        return turn().then(() => text(Buffer.from(request.body).toString()));
      },
      { state, sent: post, given: toBody },
    );
    connection.piece('ab', true);
    await turn();
    assert.deepEqual([connection.body.toString(), state.server.bodies.memory.held], ['ab', 0]);
  });
});

describe('a chunked request', () => {
  test('is answered in the next turn, and its connection ends', async () => {
    const { connection } = ask(() => text('all'), { sent: chunked, given: toBody });
    connection.piece('ab', true);
    assert.equal(connection.isAnswered, false);
    await turn();
    assert.deepEqual([connection.body.toString(), connection.isLast], ['all', true]);
  });

  test('is the last of its connection: the server ends it after an answer below 128 KiB', async () => {
    for (const [length, how] of [
      [1, 'with a body'],
      [large - 1, 'with a body'],
      [large, 'with its last byte'],
    ] as const) {
      const state = serverState();
      state.clock.leap(0.017);
      const bytes = new Uint8Array(length);
      const { connection } = ask(() => owned(length).answer, { sent: chunked, given: toBody, state });
      connection.piece('ab', true);
      await turn();
      assert.deepEqual([connection.ended, connection.isLast, connection.isPaused], [how, true, true]);
      assert.equal(connection.body.byteLength, bytes.byteLength);
    }
  });

  test('has its answer copied if that is only lent', async () => {
    for (const isOwned of [false, true]) {
      const { given, answer } = owned(10);
      const { bytes, type } = answer.body;
      const sent = { ...answer, status: 201, body: isOwned ? answer.body : { bytes, type } };
      const { connection } = ask(() => sent, { sent: chunked, given: toBody });
      connection.piece('ab', true);
      bytes.fill(8);
      await turn();
      assert.deepEqual([connection.body[0], given.back], isOwned ? [8, 1] : [7, 0]);
      assert.deepEqual(
        [connection.line('content-type'), connection.status],
        ['application/octet-stream', '201 Created'],
      );
    }
  });

  test('whose client goes meanwhile gets nothing, and the answer is released', async () => {
    for (const isOwned of [false, true]) {
      const { given, answer } = owned(10);
      const sent = isOwned ? answer : { ...answer, body: { json: 1 } };
      const { connection, server } = ask(() => sent, { sent: chunked, given: toBody });
      connection.piece('ab', true);
      connection.leave();
      await turn();
      assert.deepEqual([connection.lines, given.back, server.inFlight], ['', isOwned ? 1 : 0, 0]);
    }
  });

  test('that waits takes no more of its body', async () => {
    const seen: string[] = [];
    const { connection } = ask(
      ({ body }) => {
        seen.push(Buffer.from(body).toString());
        return text('');
      },
      { sent: chunked, given: toBody },
    );
    connection.piece('ab', true);
    connection.piece('cd', true);
    await turn();
    assert.deepEqual(seen, ['ab']);
  });
});

describe('a request that is refused by its head', () => {
  const refusal = text('no', 403);

  test('keeps its connection if little of its body is unread', () => {
    const droppable = 16 * KiB * KiB;
    for (const [fields, isLast] of [
      [{ 'content-length': String(droppable) }, false],
      [{ 'content-length': String(droppable + 1) }, true],
      [{ 'transfer-encoding': 'chunked' }, true],
    ] as const) {
      const { admitted } = admission({ refusal });
      const { connection, exchange } = ask(() => text(''), {
        sent: { method: 'post', fields },
        given: toBody,
        more: { admit: () => admitted },
      });
      // After a chunked body, the connection waits for the next turn.
      if (connection.isAnswered) assert.equal(connection.isLast, isLast);
      else assert.ok('transfer-encoding' in fields && !exchange.aborted());
    }
  });

  test('may have its connection closed all the same', () => {
    const { connection, exchange } = prepare(() => text(''), { sent: post, given: toBody });
    exchange.refuse(refusal, true);
    assert.deepEqual([connection.isLast, connection.status], [true, '403 Forbidden']);
  });

  test('takes no more of a body that is arriving, and releases what has arrived', async () => {
    const { connection, server } = ask(() => text(''), {
      sent: post,
      given: toBody,
      more: { admit: () => Promise.resolve(admission({ refusal }).admitted) },
    });
    connection.piece('a');
    assert.deepEqual([server.receiving.size, server.bodies.memory.held], [1, 1]);
    await turn();
    assert.deepEqual([server.receiving.size, server.bodies.memory.held], [0, 0]);
    assert.deepEqual([connection.status, connection.isLast], ['403 Forbidden', false]);
  });

  test('gets nothing once its client has gone', () => {
    const { connection, exchange } = ask(() => new Promise<never>(() => undefined));
    connection.leave();
    exchange.refuse(refusal);
    assert.equal(connection.lines, '');
  });
});

describe('an answer in the log', () => {
  const message = 'request answered';
  const logOf = (status: number, isDebugging: boolean) => {
    const state = serverState({}, isDebugging);
    const { server } = ask(() => text('abc', status), { state });
    return { logged: state.logged, failures: [...server.failures] };
  };

  test('appears with its numbers if it is a 500, and otherwise only at debug level', () => {
    const fields = (status: number) => {
      return { requestId: 'ours', route: 'r', status, ms: 0, bytesIn: 0, bytesOut: 3 };
    };
    assert.deepEqual(logOf(500, false).logged, [{ level: 'error', fields: fields(500), message }]);
    assert.deepEqual(logOf(500, true).logged, [{ level: 'error', fields: fields(500), message }]);
    assert.deepEqual(logOf(200, false).logged, []);
    assert.deepEqual(logOf(200, true).logged, [{ level: 'debug', fields: fields(200), message }]);
    assert.deepEqual(logOf(503, false).logged, []);
  });

  test('is only counted, by route and status, above 500', () => {
    const { server } = serverState();
    for (const status of [500, 501, 503, 503]) {
      ask(() => text('', status), { state: { ...serverState(), server } });
    }
    assert.deepEqual(Object.fromEntries(server.failures), { 'r 501': 1, 'r 503': 2 });
  });
});

describe('a request with a span', () => {
  /** A server that keeps its spans, all of them or none, and knows what stages took. */
  function traced(name: 'always_on' | 'always_off', hasStages: boolean) {
    const state = serverState();
    const { tracer, spans } = tracerOf(name, { clock: state.clock, hasStages });
    const timing = hasStages ? 'stages' : 'off';
    return { spans, state: { ...state, server: { ...state.server, tracer, timing } satisfies ServerState } };
  }

  test('is reported when it was answered or its client has gone', () => {
    const { spans, state } = traced('always_on', false);
    const { connection } = ask(() => text('abc', 503), { state, sent: post, given: toBody });
    connection.piece('ab', true);
    const of = ({ attributes }: SpanRecord) => [
      attributes['http.request.method'],
      attributes['http.request.body.size'],
      attributes['http.response.body.size'],
      attributes['http.response.status_code'],
      attributes['error.type'],
      attributes['fusegate.request.id'],
    ];
    assert.deepEqual(spans.map(of), [['POST', 2, 3, 503, '503', 'ours']]);
    spans.length = 0;
    ask(() => new Promise<never>(() => undefined), { state }).connection.leave();
    assert.deepEqual(spans.map(of), [['GET', 0, 0, undefined, 'aborted', 'ours']]);
  });

  test('shows its stages, but records nothing if it is not sampled', () => {
    const { spans, state } = traced('always_off', true);
    state.clock.leap(70);
    const { connection } = ask(
      () => {
        state.clock.leap(4);
        const span = activeSpan();
        const child = span?.child('store', 'internal');
        state.clock.leap(8);
        child?.end({});
        return text('');
      },
      { state, sent: post, given: toBody },
    );
    state.clock.leap(2);
    connection.piece('ab', true);
    assert.equal(
      connection.line('server-timing'),
      'receive;dur=2.000, store;dur=8.000, r;dur=4.000, app;dur=14.000',
    );
    assert.deepEqual([spans, state.logged], [[], []]);
    const waiting = ask(() => new Promise<never>(() => undefined), { state });
    waiting.connection.leave();
    assert.deepEqual(spans, []);
  });

  test('has no stages if its head was refused', () => {
    const { state } = traced('always_off', true);
    state.clock.leap(1);
    const { admitted } = admission({ refusal: text('no', 403) });
    const { connection } = ask(() => text(''), { state, more: { admit: () => admitted } });
    assert.equal(connection.line('server-timing'), 'app;dur=0.000');
  });
});
