/** The meaning of errors of PostgreSQL and of its connection, and the pauses before retries. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import postgres from 'postgres';
import {
  failureOf,
  isOfServer,
  pauseAfter,
  sqlStateOf,
  type Failure,
} from '../../src/store/engines/postgres/postgresFailure.js';
import { StandbyError } from '../../src/store/engines/postgres/postgresStandby.js';

/** An error as the server sends it (PostgreSQL, "Error and Notice Message Fields"). */
function sent(code: string): Error {
  return Object.assign(new postgres.PostgresError('no'), { message: 'no', code });
}

describe('an error', () => {
  /** SQLSTATE codes (PostgreSQL, Appendix A) by what a retry does. */
  const states: Readonly<Record<Failure['kind'], readonly string[]>> = {
    conflict: ['40001', '40P01', '23505', '42P07', '42710'],
    outage: [
      ...['0A000', '40003', '57014', '55P03', '25006', '25P03', '08006', '08P01', '53100', '53300', '57P01'],
      ...['57P03', '58030', '58P01'],
    ],
    final: [
      '22001',
      '23502',
      '25P02',
      '28P01',
      '42501',
      '42P01',
      '55006',
      '80000',
      '35000',
      '75000',
      '85000',
    ],
  };

  test('of the server is a conflict, an outage, or final, by its SQLSTATE', () => {
    for (const [kind, codes] of Object.entries(states))
      for (const code of codes) {
        const error = sent(code);
        assert.deepEqual(failureOf(error), { kind, reason: `says: no (${code})` });
        assert.deepEqual([sqlStateOf(error), isOfServer(error)], [code, true]);
      }
  });

  test('of a standby is an outage, which says that it is one', () => {
    const error = new StandbyError();
    const reason = 'is a standby, which may lack the last writes';
    assert.deepEqual(failureOf(error), { kind: 'outage', reason });
    assert.deepEqual([sqlStateOf(error), isOfServer(error)], [undefined, false]);
  });

  test('of the connection is an outage, with all the addresses that were tried', () => {
    const one = Object.assign(new Error('connect ECONNREFUSED ::1'), { code: 'ECONNREFUSED' });
    const other = new Error('connect ECONNREFUSED 127.0.0.1');
    for (const [error, said] of [
      [one, one.message],
      [new AggregateError([one, other]), `${one.message}; ${other.message}`],
      ['gone', 'gone'],
    ]) {
      assert.deepEqual(failureOf(error), { kind: 'outage', reason: `does not answer (${String(said)})` });
      assert.deepEqual([sqlStateOf(error), isOfServer(error)], [undefined, false]);
    }
  });
});

describe('a pause before the next try', () => {
  test('after an outage doubles from 10 ms up to a quarter of a second', () => {
    for (const kind of ['outage', 'final'] as const) {
      const most = Array.from({ length: 7 }, (_, attempt) => pauseAfter(kind, attempt, 1));
      assert.deepEqual(most, [10, 20, 40, 80, 160, 250, 250]);
      assert.equal(pauseAfter(kind, 1_000, 0), 125);
    }
  });

  test('after a conflict is none at first, short for eight tries, then grows to 64 ms', () => {
    const most = Array.from({ length: 16 }, (_, attempt) => pauseAfter('conflict', attempt, 1));
    assert.deepEqual(most.slice(0, 8), [0, 2, 4, 8, 8, 8, 8, 8]);
    const grown = most.slice(8);
    assert.deepEqual(
      grown.map((pauseMs) => Math.round(pauseMs)),
      [12, 18, 27, 41, 61, 64, 64, 64],
    );
    assert.equal(pauseAfter('conflict', 1_000, 1), 64);
    // Jitter takes away half a pause at most, so tries of two processes do not stay in step.
    for (const attempt of [1, 5, 9, 30]) {
      assert.equal(pauseAfter('conflict', attempt, 0), pauseAfter('conflict', attempt, 1) / 2);
    }
  });
});
