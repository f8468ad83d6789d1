/** The reception of one request, on a connection in memory: its head, its admission, its body. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import { MemoryBudget } from '../../src/http/memory.js';
import { StoreUnavailable } from '../../src/store/store.js';
import { WatchedPool } from '../support/watchedPool.js';
import { admission, ask, chunked, pending, post, prepare, serverState, toBody, turn } from './connection.js';
import { text } from './routes.js';

const KiB = 1_024;

/** A handler that keeps what it was given, and answers. */
function seeing() {
  const seen: RouteRequest[] = [];
  const bodies: string[] = [];
  const handler = (request: RouteRequest) => {
    seen.push(request);
    bodies.push(Buffer.from(request.body).toString());
    return text('');
  };
  return { seen, bodies, handler };
}

const statusOf = ({ connection }: ReturnType<typeof ask>): string => connection.status.slice(0, 3);

describe('a request’s head', () => {
  test('has an id of the client’s, if that is acceptable', () => {
    for (const [given, id] of [
      ['mine', 'mine'],
      ['', 'ours'],
      ['not mine', 'ours'],
    ] as const) {
      const { exchange } = ask(() => text(''), { sent: { fields: { 'x-request-id': given } } });
      assert.equal(exchange.id, id);
    }
  });

  test('has the parameters of path and query, if there are any', () => {
    const { exchange } = ask(() => text(''), {
      sent: { query: 'a=1&b=%20', parameters: ['x%2Fy', 'z'] },
      more: { parameters: ['one', 'two'] },
    });
    assert.deepEqual(
      [{ ...exchange.path }, { ...exchange.query }],
      [
        { one: 'x/y', two: 'z' },
        { a: '1', b: ' ' },
      ],
    );
    for (const sent of [{}, { query: '' }]) {
      const none = ask(() => text(''), { sent }).exchange;
      assert.deepEqual([{ ...none.path }, { ...none.query }, none.path === none.query], [{}, {}, true]);
    }
  });

  test('has the fields that its route declares, and throws for others', () => {
    const { exchange } = ask(() => text(''), {
      given: { headers: ['accept', 'x-forwarded-for'] },
      sent: { fields: { accept: 'a/b', 'x-forwarded-for': '1', host: 'h' } },
    });
    assert.deepEqual([exchange.header('accept'), exchange.header('x-forwarded-for')], ['a/b', '1']);
    const one = ask(() => text(''), { given: { headers: ['accept'] }, sent: { fields: { accept: 'a/b' } } });
    assert.equal(one.exchange.header('accept'), 'a/b');
    assert.throws(() => exchange.header('host'), /^Error: Route r does not declare header host$/);
  });

  test('lets its request act unless it is HEAD, or a prefetch of a route that acts', () => {
    const prefetch = { 'sec-purpose': 'prefetch' };
    for (const [head, acts, fields, mayAct] of [
      [false, false, {}, true],
      [false, true, {}, true],
      [false, true, prefetch, false],
      [false, false, prefetch, true],
      [true, false, {}, false],
      [true, true, {}, false],
    ] as const) {
      const { exchange } = ask(() => text(''), { given: { acts }, more: { head }, sent: { fields } });
      assert.deepEqual([exchange.mayAct, exchange.head], [mayAct, head]);
    }
  });

  test('makes its request count as under way', () => {
    const { server } = prepare(() => text(''));
    assert.equal(server.inFlight, 1);
  });
});

describe('a caller', () => {
  test('is the address that admission found, or that of the connection', () => {
    const { admitted } = admission({ address: Uint8Array.of(10, 0, 0, 1) });
    const found = ask(() => text(''), { more: { admit: () => admitted } });
    assert.deepEqual([...found.exchange.caller()], [10, 0, 0, 1]);
    const waiting = ask(() => new Promise<never>(() => undefined));
    assert.deepEqual([...waiting.exchange.caller()], [192, 0, 2, 1]);
    assert.deepEqual([...waiting.exchange.peer()], [192, 0, 2, 1]);
    assert.equal(waiting.connection.asked, 1, 'it is asked for once');
  });

  test('has a key, or none', () => {
    const { exchange } = ask(() => text(''), { more: { admit: () => admission({ key: 'k' }).admitted } });
    assert.deepEqual([exchange.keyed, exchange.key], [true, 'k']);
    const none = ask(() => text('')).exchange;
    assert.deepEqual([none.keyed, none.key], [false, undefined]);
  });

  test('that disconnects aborts whatever listens for it, now or later', () => {
    const early = ask(() => new Promise<never>(() => undefined));
    const signal = early.exchange.signal();
    assert.deepEqual([signal.aborted, early.exchange.aborted()], [false, false]);
    early.connection.leave();
    assert.deepEqual([signal.aborted, early.exchange.aborted()], [true, true]);
    assert.equal(early.exchange.signal(), signal);
    const late = ask(() => new Promise<never>(() => undefined));
    late.connection.leave();
    assert.equal(late.exchange.signal().aborted, true);
  });
});

describe('an admission', () => {
  test('that refuses is the answer, and nothing is handled', () => {
    const { handler, seen } = seeing();
    const { admitted } = admission({ refusal: text('no', 429) });
    assert.equal(statusOf(ask(handler, { more: { admit: () => admitted } })), '429');
    assert.equal(seen.length, 0);
  });

  test('is decided by the head, which has the sender’s address', () => {
    let told: unknown;
    ask(() => text(''), {
      sent: { fields: { 'x-api-key': 'k' } },
      more: {
        admit: (head) => {
          told = [head.field('x-api-key'), [...head.peer()]];
          return admission().admitted;
        },
      },
    });
    assert.deepEqual(told, ['k', [192, 0, 2, 1]]);
  });

  test('that takes time makes even a request without a body wait', async () => {
    for (const [refusal, status, count] of [
      [undefined, '200', 1],
      [text('no', 429), '429', 0],
    ] as const) {
      const { handler, seen } = seeing();
      const { admit, decide } = pending();
      const asked = ask(handler, { more: { admit } });
      await turn();
      assert.deepEqual([asked.connection.isAnswered, asked.exchange.key], [false, undefined]);
      decide(admission({ refusal, key: 'k', rateLimit: 'l' }).admitted);
      await turn();
      assert.equal(asked.connection.line('ratelimit'), 'l');
      assert.deepEqual([statusOf(asked), seen.length, asked.connection.isLast], [status, count, false]);
      assert.equal(asked.exchange.key, 'k');
    }
  });

  test('that fails is 503 while the store is away', async () => {
    const { admit, fail } = pending();
    const asked = ask(() => text(''), { more: { admit } });
    fail(new StoreUnavailable());
    await turn();
    assert.equal(statusOf(asked), '503');
    assert.equal(asked.exchange.key, undefined);
  });

  test('of a client that has gone has no effect', async () => {
    for (const fails of [false, true]) {
      const { handler, seen } = seeing();
      const { admit, decide, fail } = pending();
      const { connection } = ask(handler, { more: { admit } });
      connection.leave();
      if (fails) fail(new StoreUnavailable());
      else decide(admission().admitted);
      await turn();
      assert.deepEqual([seen.length, connection.lines], [0, '']);
    }
  });

  test('that is decided before the body has come lets the rest come', async () => {
    const { handler, bodies } = seeing();
    const { admit, decide } = pending();
    const asked = ask(handler, { sent: post, given: toBody, more: { admit } });
    asked.connection.piece('a');
    decide(admission().admitted);
    await turn();
    assert.deepEqual(bodies, []);
    asked.connection.piece('b', true);
    assert.deepEqual([bodies, statusOf(asked)], [['ab'], '200']);
  });

  test('that is decided after the body finds it as it was, and its memory counted', async () => {
    const { handler, bodies } = seeing();
    const { admit, decide } = pending();
    const { connection, server, mounted } = ask(handler, { sent: post, given: toBody, more: { admit } });
    connection.piece('ab', true);
    assert.deepEqual([bodies, server.bodies.memory.held], [[], 2]);
    // What comes after the end of a body is none of it.
    connection.piece('cd', true);
    decide(admission().admitted);
    await turn();
    assert.deepEqual([bodies, server.bodies.memory.held, mounted.meter.bytesIn], [['ab'], 0, 2]);
  });
});

describe('a body', () => {
  test('in one piece is used in place until it is retained', () => {
    const kept: Uint8Array[] = [];
    const { connection, server } = ask(
      (request) => {
        const lent = request.body;
        kept.push(lent, request.retain(), request.retain());
        assert.equal(server.bodies.memory.held, 2);
        assert.equal(request.body, kept[1]);
        return text('');
      },
      { sent: post, given: toBody },
    );
    connection.piece('ab', true);
    assert.deepEqual(
      kept.map((bytes) => Buffer.from(bytes).toString()),
      ['\0\0', 'ab', 'ab'],
    );
    assert.equal(kept[1], kept[2], 'it is copied once');
    assert.equal(server.bodies.memory.held, 0);
  });

  test('counts with what its handler takes besides, until it is answered', async () => {
    let answer: ((answer: Answer) => void) | undefined;
    const { connection, server } = ask(
      (request) => {
        request.retain();
        request.hold(100);
        return new Promise<Answer>((resolve) => (answer = resolve));
      },
      { sent: post, given: toBody },
    );
    connection.piece('ab', true);
    assert.equal(server.bodies.memory.held, 102);
    answer?.(text(''));
    await turn();
    assert.equal(server.bodies.memory.held, 0);
  });

  test('is no longer borrowed once its handler has returned', async () => {
    const { connection, exchange, server } = ask(() => new Promise<never>(() => undefined), {
      sent: post,
      given: toBody,
    });
    connection.piece('ab', true);
    await turn();
    exchange.retain();
    assert.equal(server.bodies.memory.held, 0);
  });

  test('in several pieces is joined, and counts as it comes', () => {
    const { handler, bodies } = seeing();
    const asked = ask(handler, {
      sent: { method: 'post', fields: { 'content-length': '5' } },
      given: toBody,
    });
    const { connection, server, mounted } = asked;
    assert.equal(server.receiving.size, 0, 'a body with a length begins at once');
    connection.piece('ab');
    assert.deepEqual([server.receiving.size, server.bodies.memory.held, bodies.length], [1, 2, 0]);
    connection.piece('cd');
    connection.piece('e', true);
    assert.deepEqual([server.receiving.size, server.bodies.memory.held, bodies], [0, 0, ['abcde']]);
    assert.deepEqual([mounted.meter.bytesIn, statusOf(asked), connection.isLast], [5, '200', false]);
  });

  test('in several pieces is not copied again, and kept until it was handled', async () => {
    const { connection, exchange, server } = ask(
      (request) => {
        const { body } = request;
        assert.equal(request.retain(), body);
        return turn().then(() => text(Buffer.from(body).toString()));
      },
      { sent: post, given: toBody },
    );
    connection.piece('a');
    connection.piece('b', true);
    assert.equal(server.bodies.memory.held, 2);
    await turn();
    await turn();
    assert.deepEqual([connection.body.toString(), server.bodies.memory.held], ['ab', 0]);
    assert.equal(exchange.body.byteLength, 0);
    assert.equal(server.bodies.pool instanceof WatchedPool && server.bodies.pool.out.size, 0);
  });

  test('without a length is watched from its head on, and a single piece is used in place', async () => {
    const { handler, bodies } = seeing();
    const { connection, server } = ask(handler, { sent: chunked, given: toBody });
    assert.equal(server.receiving.size, 1);
    connection.piece('ab', true);
    assert.deepEqual([server.receiving.size, server.bodies.memory.held, bodies], [0, 0, ['ab']]);
    await turn();
    assert.equal(server.inFlight, 0);
  });

  test('may be as long as its path allows, and no longer, however it comes', async () => {
    for (const [fields, pieces] of [
      [{ 'content-length': '3' }, []],
      [{ 'transfer-encoding': 'chunked' }, ['abc']],
      [{ 'transfer-encoding': 'chunked' }, ['ab', 'c']],
    ] as const) {
      for (const bodyLimit of [3, 2]) {
        const { handler, bodies } = seeing();
        const asked = ask(handler, {
          sent: { method: 'post', fields },
          given: { method: 'POST', bodyLimit },
        });
        const { connection, server } = asked;
        pieces.forEach((piece, at) => connection.piece(piece, at === pieces.length - 1));
        if (pieces.length === 0 && bodyLimit === 3) connection.piece('abc', true);
        await turn();
        assert.deepEqual([statusOf(asked), bodies.length], bodyLimit === 3 ? ['200', 1] : ['413', 0]);
        assert.deepEqual([server.receiving.size, server.bodies.memory.held], [0, 0]);
        assert.equal(connection.isLast, pieces.length > 0);
        if (bodyLimit === 2) assert.match(connection.body.toString(), /\(2 bytes\)/);
      }
    }
  });

  test('that is too long is not answered before its admission either', async () => {
    for (const sent of [{ method: 'post', fields: { 'content-length': '3' } }, chunked]) {
      const { admit, decide } = pending();
      const asked = ask(() => text(''), { sent, given: { method: 'POST', bodyLimit: 2 }, more: { admit } });
      asked.connection.piece('abc');
      await turn();
      assert.equal(asked.connection.isAnswered, false);
      assert.equal(asked.server.receiving.size, 0);
      decide(admission().admitted);
      await turn();
      await turn();
      assert.equal(statusOf(asked), '413');
    }
  });

  test('whose length is no number is left to the parser, which answers', () => {
    const { handler, bodies } = seeing();
    const { connection } = ask(handler, {
      sent: { method: 'post', fields: { 'content-length': 'x' } },
      given: toBody,
    });
    connection.piece('ab', true);
    assert.deepEqual([bodies, connection.lines], [[], '']);
  });

  test('may have the content coding identity, and no other', () => {
    for (const [coding, status] of [
      ['', '200'],
      [' Identity ', '200'],
      ['gzip', '415'],
    ] as const) {
      const asked = ask(() => text(''), {
        sent: { method: 'post', fields: { 'content-length': '2', 'content-encoding': coding } },
        given: toBody,
      });
      if (status === '200') asked.connection.piece('ab', true);
      assert.equal(statusOf(asked), status);
    }
  });

  test('is refused for its media type, which may depend on the origin', () => {
    const told: unknown[] = [];
    const refuseMediaType = (mediaType: string, isCrossOrigin: boolean) => {
      told.push([mediaType, isCrossOrigin]);
      return mediaType === 'a/b' ? text('no', 415) : undefined;
    };
    for (const [type, origin, status] of [
      ['a/b', '', '415'],
      ['a/c', 'o', '200'],
      ['', 'o', '200'],
      ['', '', '200'],
    ] as const) {
      const asked = ask(() => text(''), {
        sent: { method: 'post', fields: { 'content-length': '2', 'content-type': type, origin } },
        given: toBody,
        more: { refuseMediaType },
      });
      if (status === '200') asked.connection.piece('ab', true);
      assert.equal(statusOf(asked), status);
    }
    const shown = [
      ['a/b', false],
      ['a/c', false],
      ['', true],
      ['', false],
    ];
    assert.deepEqual(told, shown);
  });

  test('of a client that has gone releases its memory, and is not handled', () => {
    const { handler, seen } = seeing();
    const { connection, server, mounted } = ask(handler, { sent: post, given: toBody });
    connection.piece('a');
    connection.leave();
    assert.deepEqual([server.receiving.size, server.bodies.memory.held, server.inFlight], [0, 0, 0]);
    connection.piece('b', true);
    assert.deepEqual([seen.length, server.bodies.memory.held, mounted.meter.aborted], [0, 0, 1]);
  });
});

describe('memory for bodies', () => {
  /** A server with this much of it, of which the network of the test's client holds a part. */
  const stateWith = (limit: number, held: number, perNetwork = limit) => {
    const memory = new MemoryBudget(limit, perNetwork);
    memory.take('c00002', held);
    return serverState({ bodies: { memory, pool: new WatchedPool(0) } });
  };
  const long = (bytes: number) => ({ method: 'post', fields: { 'content-length': String(bytes) } });

  test('is refused to an announced body that cannot fit; half of it is for callers with a key', () => {
    for (const [held, bytes, key, status] of [
      [10, 40, undefined, ''],
      [10, 41, undefined, '503'],
      [10, 41, 'k', ''],
      [10, 90, 'k', ''],
      [10, 91, 'k', '503'],
    ] as const) {
      const { admitted } = admission({ key });
      const asked = ask(() => text(''), {
        state: stateWith(100, held),
        sent: long(bytes),
        given: toBody,
        more: { admit: () => admitted },
      });
      assert.equal(statusOf(asked), status, `${bytes}, ${key}`);
      assert.equal(asked.server.bodies.memory.held, 10);
    }
  });

  test('is attributed to the address that admission found', () => {
    const { admitted } = admission({ address: Uint8Array.of(10, 0, 0, 1) });
    const asked = ask(() => text(''), {
      state: stateWith(1_000, 50, 60),
      sent: long(20),
      given: toBody,
      more: { admit: () => admitted },
    });
    asked.connection.piece('a');
    assert.equal(statusOf(asked), '', 'it is another network');
    assert.equal(asked.server.bodies.memory.shortage('0a0000', 60), 'network');
  });

  test('must suffice for one line of a body of lines', () => {
    const given = { method: 'POST', bodyLimit: Infinity } as const;
    const of = (lineLimit: number) =>
      statusOf(
        ask(() => text(''), { state: stateWith(100, 10), sent: long(1_000), given: { ...given, lineLimit } }),
      );
    assert.deepEqual([of(40), of(41)], ['', '503']);
  });

  test('that runs out while a body comes is 503, and the connection ends', () => {
    const asked = ask(() => text(''), {
      state: stateWith(100, 40),
      sent: chunked,
      given: toBody,
    });
    const { connection, server } = asked;
    connection.piece('a'.repeat(10));
    connection.piece('b');
    return turn().then(() => {
      assert.deepEqual([statusOf(asked), connection.isLast], ['503', true]);
      assert.deepEqual([server.receiving.size, server.bodies.memory.held], [0, 40]);
    });
  });

  test('that others take meanwhile is 503 to a body with a length, and its connection ends, too', () => {
    const asked = ask(() => text(''), { state: stateWith(100, 0), sent: long(20), given: toBody });
    const { connection, server } = asked;
    connection.piece('a');
    server.bodies.memory.take('c00002', 40);
    connection.piece('a'.repeat(18));
    assert.deepEqual([statusOf(asked), connection.isLast], ['503', true]);
    assert.equal(server.bodies.memory.held, 40);
  });

  test('of a single byte is returned like any other', () => {
    const { connection, server } = ask(
      (request) => {
        assert.equal(request.retain().byteLength, 1);
        return text('');
      },
      { sent: long(1), given: toBody },
    );
    connection.piece('a', true);
    assert.equal(server.bodies.memory.held, 0);
  });

  test('of a sender whose key is being looked up counts as that of a caller without one', async () => {
    const { admit, decide } = pending();
    const asked = ask((request) => turn().then(() => text(String(request.keyed))), {
      sent: post,
      given: toBody,
      more: { admit },
    });
    const { connection, server } = asked;
    const { memory } = server.bodies;
    connection.piece('ab', true);
    const limit = 64 * KiB;
    assert.equal(memory.shortage('none', limit / 2 - 1), 'keyless', 'two bytes are taken');
    decide(admission({ key: 'k' }).admitted);
    await turn();
    await turn();
    assert.deepEqual([connection.body.toString(), memory.held], ['true', 0]);
    assert.equal(memory.shortage('none', limit / 2), undefined);
  });
});

describe('a body that comes too slowly', () => {
  const slowly = (more: Parameters<typeof ask>[1] = {}) => {
    const asked = ask(() => text(''), { sent: chunked, given: toBody, ...more });
    const { server, clock } = asked;
    const check = (ms: number): void => {
      clock.leap(ms);
      for (const sender of server.receiving) sender.check(clock.monotonicMs());
    };
    return { ...asked, check, asked };
  };

  test('is 408, from the beginning of its request on, and its connection ends', async () => {
    const { asked, connection, server, check } = slowly();
    check(99);
    await turn();
    assert.equal(connection.isAnswered, false);
    check(1);
    await turn();
    assert.deepEqual([statusOf(asked), connection.isLast, server.receiving.size], ['408', true, 0]);
  });

  test('with a length is 408, too, once a piece of it has come', () => {
    const { asked, connection, check } = slowly({ sent: post });
    connection.piece('a');
    check(100);
    assert.deepEqual([statusOf(asked), connection.isLast], ['408', true]);
  });

  test('is reported once its sender is admitted', async () => {
    const { admit, decide } = pending();
    const { asked, connection, check } = slowly({ more: { admit } });
    check(100);
    await turn();
    assert.equal(connection.isAnswered, false);
    decide(admission().admitted);
    await turn();
    await turn();
    assert.equal(statusOf(asked), '408');
  });
});
