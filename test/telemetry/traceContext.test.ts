/** The header fields of W3C Trace Context: what is accepted from a caller, and what is not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTraceparent, readTracestate, traceparentOf } from '../../src/telemetry/traceContext.js';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

test('a traceparent is read, also of later versions', () => {
  const sampled = { traceId, spanId, sampled: true };
  assert.deepEqual(parseTraceparent(`00-${traceId}-${spanId}-01`), sampled);
  assert.deepEqual(parseTraceparent(`00-${traceId}-${spanId}-00`), { ...sampled, sampled: false });
  assert.deepEqual(parseTraceparent(`00-${traceId}-${spanId}-03`), sampled);
  assert.deepEqual(parseTraceparent(`cc-${traceId}-${spanId}-01-what-the-future-adds`), sampled);
  assert.deepEqual(parseTraceparent(traceparentOf(traceId, spanId)), sampled);
});

test('an invalid traceparent is ignored', () => {
  const wrong = [
    '',
    'garbage',
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-1`,
    `00-${traceId}0-${spanId}-01`,
    `cc-${traceId}-${spanId}-01.more`,
  ];
  for (const text of wrong) assert.equal(parseTraceparent(text), undefined, text);
});

test('a tracestate is kept as it came, entirely or not at all', () => {
  assert.equal(
    readTracestate('rojo=00f067aa0ba902b7, congo=t61rcWkgMzE,,'),
    'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
  );
  assert.equal(readTracestate('t61@vendor=a b'), 't61@vendor=a b');
  const members = (count: number) => Array.from({ length: count }, (_, at) => `k${at}=v`).join(',');
  assert.equal(readTracestate(members(32)), members(32));
  const wrong = [
    members(33),
    `k=${'v'.repeat(600)}`,
    'k=1,k=2',
    'K=1',
    'k',
    '=v',
    'k=a=b',
    'k=ü',
    'k=a\u0001',
  ];
  for (const text of wrong) assert.equal(readTracestate(text), '', text);
});
