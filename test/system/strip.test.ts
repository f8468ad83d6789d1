/** Text without characters at its ends, and in time that grows with the text alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { strip, stripEnd } from '../../src/system/strip.js';

test('only the given characters go, and only at the ends', () => {
  for (const [text, characters, ends, end] of [
    ['///', '/', '', ''],
    ['/a/b//', '/', 'a/b', '/a/b'],
    ['\t a \tb ', ' \t', 'a \tb', '\t a \tb'],
    ['xay', 'a', 'xay', 'xay'],
    ['\u00a0a', ' ', '\u00a0a', '\u00a0a'],
  ] as const) {
    assert.deepEqual(
      [strip(text, characters), stripEnd(text, characters)],
      [ends, end],
      JSON.stringify(text),
    );
  }
});

test('a million characters in the middle cost no more than a million at the end', () => {
  const many = '/'.repeat(1_000_000);
  const before = process.cpuUsage();
  assert.equal(stripEnd(`${many}a${many}`, '/').length, 1_000_001);
  assert.equal(strip(`a${many}b`, '/').length, 1_000_002);
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 2_000_000, `${user + system} µs`);
});
