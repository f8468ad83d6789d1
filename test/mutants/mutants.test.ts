/** The mutation runner's own parts: what it changes, and which tests it finds for a place. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { coveredIn, isIn } from './intervals.js';
import { mutated, mutationsOf } from './mutations.js';
import { readReasons, shown, withoutChange } from './reasons.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Every text that comes of a change of `text`. */
function changesOf(text: string): string[] {
  return mutationsOf(text).map((mutation) => mutated(text, mutation));
}

describe('changes', () => {
  test('a comparison is tried at its boundary and the other way round', () => {
    assert.deepEqual(new Set(changesOf('a < b')), new Set(['a <= b', 'a >= b', ';']));
  });

  test('money, small numbers and large ones become others', () => {
    assert.ok(changesOf('let sat = 0n').includes('let sat = 1n'));
    assert.ok(changesOf('let depth = 6').includes('let depth = 7'));
    assert.ok(changesOf('let lifeMs = 900_000').includes('let lifeMs = 1800000'));
  });

  test('a guard is always true and never true, and an early end does not end', () => {
    const changes = changesOf('function f() { if (a()) return; }');
    for (const expected of ['if (true) return;', 'if (false) return;', 'if (a()) ;']) {
      assert.ok(changes.includes(`function f() { ${expected} }`), expected);
    }
  });

  test('what happens is left out, not waited for, and done in the other order', () => {
    const changes = changesOf('async function f() { await sync(); rename(); }');
    for (const expected of [
      '; rename();',
      '(sync()); rename();',
      'await sync(); ;',
      'rename(); await sync();',
    ]) {
      assert.ok(changes.includes(`async function f() { ${expected} }`), expected);
    }
  });

  test('a constructor keeps its parameters in one order, and does what it does in two', () => {
    const changes = changesOf(
      'class A { constructor(a, b) { this.a = a; this.b = b; this.c(); this.d(); } }',
    );
    assert.ok(!changes.some((text) => text.includes('this.b = b; this.a = a;')));
    assert.ok(!changes.some((text) => text.includes('this.c(); this.b = b;')));
    assert.ok(changes.some((text) => text.includes('this.d(); this.c();')));
  });

  test('a condition, a default, a member and an element are left out', () => {
    const changes = changesOf('f(a && b, c ?? d, { e, g: 1 }, [h, i]);');
    for (const expected of [
      'f(a, c ?? d, { e, g: 1 }, [h, i]);',
      'f(b, c ?? d, { e, g: 1 }, [h, i]);',
      'f(a && b, c, { e, g: 1 }, [h, i]);',
      'f(a && b, d, { e, g: 1 }, [h, i]);',
      'f(a && b, c ?? d, { g: 1 }, [h, i]);',
      'f(a && b, c ?? d, { e,  }, [h, i]);',
      'f(a && b, c ?? d, { e, g: 1 }, [i]);',
      'f(a && b, c ?? d, { e, g: 1 }, [h, ]);',
    ]) {
      assert.ok(changes.includes(expected), expected);
    }
  });

  test('a log line may carry something else', () => {
    assert.deepEqual(changesOf('log.warn({ reason }, "a sentence")'), [';']);
  });

  test('names of modules and prose stay as they are', () => {
    assert.deepEqual(mutationsOf("import { a } from './a.js';"), []);
    assert.deepEqual(mutationsOf("throw f('a sentence')").length, 1);
  });
});

describe('coverage', () => {
  test('what counts at a place is the smallest block around it', () => {
    const covered = coveredIn([
      { startOffset: 0, endOffset: 100, count: 1 },
      { startOffset: 20, endOffset: 60, count: 0 },
      { startOffset: 30, endOffset: 40, count: 2 },
    ]);
    assert.deepEqual(covered, [
      [0, 20],
      [30, 40],
      [60, 100],
    ]);
    assert.ok(isIn(covered, 30) && !isIn(covered, 40) && !isIn(covered, 20) && isIn(covered, 99));
  });

  test('what never ran has no place', () => {
    assert.deepEqual(coveredIn([{ startOffset: 0, endOffset: 10, count: 0 }]), []);
    assert.deepEqual(coveredIn([]), []);
    assert.equal(isIn(undefined, 0), false);
  });
});

test('every reason for a change of TypeScript is about one that its file has', () => {
  for (const [source, reasons] of Object.entries(readReasons(root))) {
    if (!source.endsWith('.ts')) continue;
    const text = readFileSync(join(root, 'dist', source.replace(/\.ts$/, '.js')), 'utf8');
    const changes = mutationsOf(text).map((mutation) => shown(text, mutation));
    assert.deepEqual(withoutChange(reasons, changes), [], source);
  }
});
