/**
 * Paces of senders and readers, on a clock set by hand: slow ones are cut off, and their memory is returned.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AnswerLines } from '../../src/http/answerLines.js';
import { IncomingBody, type IncomingState } from '../../src/http/incoming.js';
import { MemoryBudget, type Holder } from '../../src/http/memory.js';
import {
  makeRoom,
  waitForClient,
  type Ownership,
  type UnsentState,
  type WaitingAnswer,
} from '../../src/http/unsent.js';
import type { HttpResponse } from '../../src/http/uws.js';
import { BufferPool } from '../../src/system/bufferPool.js';
import { HandClock } from '../support/handClock.js';
import { WatchedPool } from '../support/watchedPool.js';

const KiB = 1_024;

/** A connection to a client that takes as much as it is told to. */
class Client {
  /** Bytes that it takes yet. */
  room = 0;
  taken = Buffer.alloc(0);
  closed = 0;
  /** Written at once, piece by piece. */
  readonly pieces: number[] = [];
  private onRoom: ((offset: number) => boolean) | undefined;

  readonly response = {
    getWriteOffset: () => this.taken.byteLength,
    tryEnd: (bytes: Uint8Array, total: number) => {
      const ok = this.take(bytes);
      return [ok, this.taken.byteLength === total];
    },
    write: (bytes: Uint8Array) => {
      this.pieces.push(bytes.byteLength);
      this.taken = Buffer.concat([this.taken, bytes]);
      this.room -= bytes.byteLength;
      return this.room >= 0;
    },
    onWritable: (handler: (offset: number) => boolean) => void (this.onRoom = handler),
    cork: (step: () => void) => step(),
    close: () => void (this.closed += 1),
  } as unknown as HttpResponse;

  private take(bytes: Uint8Array): boolean {
    const part = bytes.subarray(0, this.room);
    this.taken = Buffer.concat([this.taken, part]);
    this.room -= part.byteLength;
    return part.byteLength === bytes.byteLength;
  }

  /** Takes more; whether it then had all of what it was offered. */
  read(bytes: number): boolean | undefined {
    this.room = bytes;
    return this.onRoom?.(this.taken.byteLength);
  }
}

function stateOf(most = 1_000, clock = new HandClock()): UnsentState & { readonly clock: HandClock } {
  const limits = { sendWindowMs: 100, sendWindowBytes: 10 };
  return { clock, limits, answers: new MemoryBudget(most, most), sending: new Set() };
}

describe('a body', () => {
  const bodyOf = (slow: string[], declared = -1, bodyWindowBytes = 10) => {
    const bodies = { memory: new MemoryBudget(64 * KiB), pool: new BufferPool(0) };
    const limits = { bodyWindowMs: 100, bodyWindowBytes };
    const state: IncomingState = { limits, bodies, receiving: new Set() };
    return { state, body: new IncomingBody(state, 1_000, declared, 50, () => void slow.push('slow')) };
  };

  test('holds its bytes in order, and its memory until it is released', () => {
    const { state, body } = bodyOf([]);
    assert.deepEqual([body.isEmpty, body.bytes().byteLength, state.receiving.has(body)], [true, 0, true]);
    assert.equal(body.append(Buffer.from('ab'), 'a'), 'taken');
    assert.equal(body.append(Buffer.from('c'), 'a'), 'taken');
    assert.deepEqual([body.isEmpty, Buffer.from(body.bytes()).toString()], [false, 'abc']);
    assert.ok(state.bodies.memory.held >= 3);
    assert.equal(body.append(Buffer.alloc(1_000), 'a'), 'too_large');
    body.end();
    assert.equal(state.receiving.size, 0);
    body.release();
    body.release();
    assert.deepEqual([state.bodies.memory.held, body.bytes().byteLength, body.isEmpty], [0, 0, true]);
  });

  test('with a declared length takes no more memory than that', () => {
    const pool = new WatchedPool(0);
    const bodies = { memory: new MemoryBudget(64 * KiB), pool };
    const limits = { bodyWindowMs: 100, bodyWindowBytes: 10 };
    const body = new IncomingBody({ limits, bodies, receiving: new Set() }, 10 * KiB, 12, 0, () => undefined);
    body.append(Buffer.alloc(5), 'a');
    body.append(Buffer.alloc(7), 'a');
    assert.deepEqual(pool.asked, [12]);
  });

  test('ends once it brings less than it must in a window of time', () => {
    const slow: string[] = [];
    const { state, body } = bodyOf(slow);
    body.append(Buffer.alloc(9), 'a');
    body.check(149);
    assert.deepEqual(slow, [], 'the window has not ended');
    body.append(Buffer.alloc(1), 'a');
    body.check(150);
    assert.deepEqual(slow, [], 'ten bytes are enough');
    body.append(Buffer.alloc(9), 'a');
    body.check(249);
    assert.deepEqual([slow.length, state.receiving.has(body)], [0, true]);
    body.check(250);
    assert.deepEqual([slow, state.receiving.has(body)], [['slow'], false]);
  });

  test('of which nothing comes ends with its first window', () => {
    const slow: string[] = [];
    const { body } = bodyOf(slow, 10, 1);
    body.check(149);
    assert.deepEqual(slow, []);
    body.check(150);
    assert.deepEqual(slow, ['slow']);
  });
});

describe('the rest of a large answer', () => {
  const bytes = Buffer.from(Array.from({ length: 100 }, (_, at) => at));

  function waiting(state: UnsentState, ownership: Ownership, given = bytes, keyed = false) {
    const holder = keyed ? undefined : 'a';
    const client = new Client();
    client.room = 30;
    client.response.tryEnd(given, given.byteLength);
    let sent = 0;
    const onSent = (): void => void (sent += 1);
    const answer = waitForClient(state, {
      response: client.response,
      bytes: given,
      ownership,
      holder,
      isLast: false,
      onSent,
    });
    return { client, answer, sent: () => sent };
  }

  test('is sent as the client reads it, from memory of its own', () => {
    for (const [ownership, held] of [
      ['lent', 70],
      ['owned', 70],
      ['immutable', 0],
    ] as const) {
      const state = stateOf();
      const lent = Buffer.from(bytes);
      const { client, answer, sent } = waiting(state, ownership, lent);
      assert.ok(answer !== undefined);
      assert.deepEqual([answer.heldBytes, state.answers.held, state.sending.has(answer)], [held, held, true]);
      assert.equal(answer.holder, 'a');
      // What is lent is written anew for another answer; what is not is not copied.
      lent.fill(0);
      assert.equal(client.read(40), false);
      assert.deepEqual([sent(), client.taken.byteLength], [0, 70]);
      assert.equal(client.read(100), true);
      const rest = ownership === 'lent' ? bytes.subarray(30) : Buffer.alloc(70);
      assert.deepEqual([sent(), client.taken.subarray(30)], [1, rest], ownership);
      answer.release();
      answer.release();
      assert.deepEqual([state.answers.held, state.sending.size], [0, 0]);
    }
  });

  test('does not wait if there is no memory for it, unless it needs none', () => {
    const state = stateOf(69);
    assert.equal(waiting(state, 'owned', bytes, true).answer, undefined);
    assert.equal(waiting(state, 'lent', bytes, true).answer, undefined);
    assert.deepEqual([state.answers.held, state.sending.size], [0, 0]);
    assert.ok(waiting(state, 'immutable', bytes, true).answer !== undefined);
    assert.ok(waiting(stateOf(70), 'owned', bytes, true).answer !== undefined);
  });

  test('is cut off if its client reads less than it must in a window of time', async () => {
    const state = stateOf();
    const { client, answer } = waiting(state, 'owned');
    assert.ok(answer !== undefined);
    const after = async (ms: number, room: number): Promise<number> => {
      await state.clock.pass(ms);
      client.room = room;
      answer.check(state.clock.monotonicMs());
      return client.closed;
    };
    assert.equal(await after(99, 9), 0);
    assert.equal(client.taken.byteLength, 39, 'a check offers more');
    assert.equal(await after(1, 1), 0, 'ten bytes are enough');
    assert.equal(await after(99, 9), 0);
    assert.equal(await after(1, 0), 1);
    const first = waiting(state, 'owned');
    await state.clock.pass(100);
    first.client.room = 9;
    first.answer?.check(state.clock.monotonicMs());
    assert.equal(first.client.closed, 1, 'in its first window, too');
  });

  test('is never cut off once it has been sent', async () => {
    const state = stateOf();
    const client = new Client();
    client.response.tryEnd(bytes, 100);
    const onSent = (): void => answer?.release();
    const answer = waitForClient(state, {
      ...{ response: client.response, bytes, ownership: 'owned', holder: 'a', isLast: false, onSent },
    });
    await state.clock.pass(99);
    client.read(95);
    await state.clock.pass(1);
    client.room = 0;
    answer?.check(100);
    await state.clock.pass(100);
    client.room = 5;
    answer?.check(200);
    assert.deepEqual([client.closed, client.taken.byteLength, state.sending.size], [0, 100, 0]);
  });

  test('is read at a pace, in bytes per millisecond since it began to wait', async () => {
    const state = stateOf();
    const { client, answer } = waiting(state, 'owned');
    assert.equal(answer?.bytesPerMs(0), 0);
    client.read(20);
    assert.equal(answer.bytesPerMs(0), 20, 'of less than a millisecond');
    assert.equal(answer.bytesPerMs(1), 20);
    assert.equal(answer.bytesPerMs(4), 5);
    await state.clock.pass(10);
    const later = waiting(state, 'owned');
    later.client.read(6);
    assert.equal(later.answer?.bytesPerMs(13), 2);
    later.answer.close();
    assert.equal(later.client.closed, 1);
  });
});

describe('room for an answer', () => {
  /** Answers that wait, each with its holder, bytes and pace; closing one returns its memory. */
  function world(most: number, network: number, ...readers: readonly [Holder, number, number][]) {
    const closed: number[] = [];
    const state = { ...stateOf(), answers: new MemoryBudget(most, network) };
    for (const [at, [holder, heldBytes, pace]] of readers.entries()) {
      const reader: WaitingAnswer = {
        ...{ holder, heldBytes, bytesPerMs: () => pace, check: () => undefined },
        close: () => {
          closed.push(at);
          state.sending.delete(reader);
          state.answers.give(holder, heldBytes);
        },
      };
      state.answers.take(holder, heldBytes);
      state.sending.add(reader);
    }
    const take = (holder: Holder, bytes: number): void => state.answers.take(holder, bytes);
    return { closed, take, make: (holder: Holder, bytes: number) => makeRoom(state, holder, bytes) };
  }

  test('is there without closing anybody while no share is short', () => {
    const { closed, make } = world(100, 50, ['a', 10, 1]);
    assert.deepEqual([make('a', 40), make('b', 40), closed], [true, true, []]);
  });

  test('comes from the slowest readers of a network that has used up its share', () => {
    const { closed, make } = world(200, 50, ['a', 20, 3], ['a', 20, 2], ['b', 20, 1], ['a', 10, 5]);
    assert.equal(make('a', 15), true);
    assert.deepEqual(closed, [1]);
    assert.equal(make('a', 51), true, 'the only piece of a network may be larger than its share');
    assert.deepEqual(closed, [1, 0, 3]);
  });

  test('is not taken from other networks for one that has used up its share', () => {
    const { closed, make, take } = world(200, 50, ['b', 20, 1], [undefined, 20, 0]);
    take('a', 50);
    assert.equal(make('a', 1), false);
    assert.deepEqual(closed, []);
  });

  test('comes from the slowest readers without a key, and among equals from the first', () => {
    const { closed, make } = world(100, 50, ['a', 20, 2], [undefined, 50, 0], ['b', 20, 2], ['c', 10, 3]);
    assert.equal(make('d', 15), true);
    assert.deepEqual(closed, [0]);
    assert.equal(make(undefined, 30), true, 'one with a key takes it, too');
    assert.deepEqual(closed, [0, 2]);
  });

  test('of a caller with a key is never taken for one without', () => {
    const { closed, make } = world(100, 50, [undefined, 90, 0], ['a', 5, 9]);
    assert.equal(make('b', 20), false);
    assert.deepEqual(closed, [1]);
    assert.equal(make(undefined, 20), true, 'only for another with a key');
    assert.deepEqual(closed, [1, 0]);
  });

  test('is not taken from answers that hold nothing', () => {
    const { closed, make } = world(100, 50, ['a', 0, 0], ['b', 49, 9], ['c', 1, 1]);
    assert.equal(make('d', 1), true);
    assert.deepEqual(closed, [2]);
    assert.equal(make('d', 20), true);
    assert.deepEqual(closed, [2, 1]);
    assert.equal(make(undefined, 101), false);
    assert.deepEqual(closed, [2, 1]);
  });
});

describe('answers to lines', () => {
  const piece = 64 * KiB;

  function answering(most = 1 << 30) {
    const limits = { sendWindowMs: 100, sendWindowBytes: piece };
    const state = { ...stateOf(most), limits };
    const client = new Client();
    const told: string[] = [];
    const answers = new AnswerLines(state, {
      response: client.response,
      holder: () => 'a',
      begin: () => void told.push('begin'),
      onDrained: () => void told.push('drained'),
    });
    return { state, client, told, answers };
  }

  test('are each written with a line feed after the head, and without answers nothing is written', () => {
    const { client, told, answers } = answering();
    client.room = 1_000;
    assert.equal(answers.flush(), true);
    assert.deepEqual([told, answers.begun, client.pieces], [[], false, []]);
    answers.add('{"é":1}');
    answers.add(Buffer.from('{}'));
    assert.equal(answers.flush(), true);
    answers.add('');
    assert.equal(answers.flush(), true);
    assert.equal(client.taken.toString(), '{"é":1}\n{}\n\n');
    assert.deepEqual([told, answers.begun, answers.bytes], [['begin'], true, 13]);
  });

  test('are full at 64 KiB, and written in pieces of that size', () => {
    const { client, answers } = answering();
    client.room = 1 << 20;
    answers.add(Buffer.alloc(piece - 2, 5));
    assert.equal(answers.isFull, false);
    answers.add('');
    assert.equal(answers.isFull, true);
    answers.add(Buffer.alloc(3 * piece, 7));
    answers.add('ü'.repeat(piece));
    assert.equal(answers.flush(), true);
    assert.deepEqual(client.pieces, [piece, piece, piece, piece, piece, piece, 2]);
    assert.equal(answers.isFull, false);
    assert.equal(answers.bytes, client.taken.byteLength);
    assert.ok(client.taken.subarray(0, piece - 2).every((byte) => byte === 5));
    assert.equal(client.taken.subarray(piece - 2, piece).toString(), '\n\n');
    const [first, second] = [client.taken.subarray(piece, 4 * piece), client.taken.subarray(4 * piece + 1)];
    assert.ok(first.every((byte) => byte === 7));
    assert.equal(second.toString(), `${'ü'.repeat(piece)}\n`);
  });

  test('of any length end with their line feed', () => {
    const { client, answers } = answering();
    const lengths = [2 * piece - 2, 2 * piece - 1, 2 * piece, 2 * piece + 1, 3];
    for (const length of lengths) {
      client.room = 1 << 20;
      client.taken = Buffer.alloc(0);
      answers.add(Buffer.alloc(length, 'x'));
      answers.add('y');
      assert.equal(answers.flush(), true);
      assert.deepEqual(client.taken, Buffer.from(`${'x'.repeat(length)}\ny\n`), `${length}`);
    }
  });

  test('wait in memory of their own for a client that does not read, and go on when it does', () => {
    const { state, client, told, answers } = answering();
    answers.add('x'.repeat(piece + 99));
    assert.equal(answers.flush(), false);
    assert.deepEqual([client.pieces, answers.waiting, state.sending.has(answers)], [[piece], true, true]);
    assert.deepEqual([answers.heldBytes, state.answers.held, answers.holder], [100, 100, 'a']);
    answers.add('y');
    client.room = piece;
    assert.equal(client.read(piece), true);
    assert.deepEqual([told, answers.waiting, answers.heldBytes], [['begin', 'drained'], false, 0]);
    assert.deepEqual([state.answers.held, state.sending.size, client.taken.byteLength], [0, 0, piece + 102]);
    assert.equal(client.read(piece), true);
    assert.deepEqual(told, ['begin', 'drained'], 'nothing waited');
  });

  test('count as one byte while only their last piece waits, and their memory is returned', () => {
    const { state, client, answers } = answering();
    answers.add('x');
    assert.equal(answers.flush(), false);
    assert.deepEqual([answers.heldBytes, state.answers.held], [1, 1]);
    answers.add('x'.repeat(3 * piece));
    client.room = -1;
    assert.equal(client.read(piece - 1), true);
    assert.deepEqual([answers.waiting, client.pieces], [true, [2, piece]]);
    assert.equal(answers.heldBytes, 2 * piece + 1);
    answers.release();
    assert.deepEqual([state.answers.held, state.sending.size, answers.waiting], [0, 0, false]);
  });

  test('close the connection if there is no memory for those that wait', () => {
    const { state, client, answers } = answering(50);
    answers.add('x'.repeat(piece + 99));
    assert.equal(answers.flush(), false);
    assert.deepEqual([client.closed, answers.waiting, state.answers.held], [1, false, 0]);
  });

  test('are cut off if their client reads less than it must in a window of time', async () => {
    const { state, client, answers } = answering();
    await state.clock.pass(1_000);
    answers.add('x'.repeat(3 * piece));
    assert.equal(answers.flush(), false);
    assert.equal(answers.bytesPerMs(1_000), 0);
    answers.check(1_099);
    assert.equal(client.closed, 0);
    client.read(piece - 1);
    assert.equal(answers.bytesPerMs(1_000), piece);
    assert.equal(answers.bytesPerMs(1_004), piece / 4);
    answers.check(1_100);
    assert.equal(client.closed, 0, 'it took a piece');
    answers.check(1_199);
    assert.equal(client.closed, 0);
    answers.check(1_200);
    assert.equal(client.closed, 1);
  });
});
