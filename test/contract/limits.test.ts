/** Body limits against the contract's own maxima (RFC 8259 escapes: the longest way to write a character). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routes, type Route } from '../../src/contract/routes.js';
import { shapeOf, type Shape } from '../../src/contract/schema/shape.js';

/** `\\uD83D\\uDE00`: bytes of one code point, at most. */
const escapeBytes = 12;
/** Quotes, a comma, and a number or a word at its longest. */
const aroundBytes = 24;

/** Bytes of a value at its contract's maxima; what has none counts as empty. */
function largest(shape: Shape): number {
  switch (shape.kind) {
    case 'string':
      return (shape.max === Infinity ? 0 : shape.max * escapeBytes) + aroundBytes;
    case 'list':
      return (shape.max === Infinity ? 0 : shape.max * largest(shape.items)) + aroundBytes;
    case 'object':
      return shape.fields.reduce(
        (sum, { name, shape: inner }) => sum + name.length + aroundBytes + largest(inner),
        2,
      );
    default:
      return aroundBytes;
  }
}

test('the largest body that the contract allows fits the limit, even if every character is escaped', () => {
  for (const [id, { body }] of Object.entries<Route>(routes)) {
    if (!('schema' in body)) continue;
    const bytes = largest(shapeOf(body.schema));
    assert.ok(bytes * 1.05 < body.limit, `${id}: ${bytes} of ${body.limit}`);
  }
});

test('no body limit is far larger than what the route needs', () => {
  const kib = Object.entries<Route>(routes).flatMap(([id, { body }]) =>
    body.kind === 'none' ? [] : [[id, body.limit / 1024] as const],
  );
  const small = kib.filter(([, limit]) => limit <= 64).map(([id]) => id);
  const named = [
    'quote',
    'createBitcoinOrder',
    'createLightningOrder',
    'createCardOrder',
    'leads',
    'deliveryInterest',
  ];
  for (const id of [...named, 'dream', 'dreamConfirm', 'buy']) assert.ok(small.includes(id), id);
});
