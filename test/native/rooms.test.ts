/** The Rust code as a house: rooms that import one way, no cycles, short functions. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { functionsOf, modulesOf, usedBy } from './rust.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Rooms of the core in steps: a module uses those of its own room and of rooms in earlier steps only. */
const steps: readonly (readonly string[])[] = [
  ['cpu', 'system'],
  ['forms', 'json', 'unicode'],
  ['embed', 'tokens'],
  ['text'],
  ['access', 'explore', 'fuse', 'receipts'],
];

const MOST_FUNCTION_LINES = 60;
const MOST_FILE_LINES = 600;

const core = modulesOf(join(root, 'native/core/src'));
const node = modulesOf(join(root, 'native/node/src'));

const roomOf = (name: string): string => name.split('::')[0] ?? '';
const stepOf = (name: string): number => steps.findIndex((step) => step.includes(roomOf(name)));

/** The Rust files that are ours, but for generated tables. */
function rustFiles(folder = 'native'): string[] {
  if (existsSync(join(root, '.git'))) {
    const listed = execFileSync('git', ['ls-files', 'native'], { cwd: root, encoding: 'utf8' });
    return listed.split('\n').filter((file) => isOurs(file) && existsSync(join(root, file)));
  }
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'target' ? [] : rustFiles(path);
    return isOurs(path) ? [path] : [];
  });
}

function isOurs(file: string): boolean {
  return file.endsWith('.rs') && !/\/src\/.*_tables\.rs$/.test(file);
}

/** The modules that use each other in a circle with one, itself among them; none: an empty list. */
function circleOf(modules: ReturnType<typeof modulesOf>, name: string): string[] {
  const reached = (from: string): Set<string> => {
    const seen = new Set<string>();
    const waiting = [from];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      const module = modules.get(at);
      const next = module === undefined ? [] : usedBy(modules, module).filter((each) => !seen.has(each));
      next.forEach((each) => seen.add(each));
      waiting.push(...next);
    }
    return seen;
  };
  return [...reached(name)].filter((each) => reached(each).has(name)).sort();
}

describe('the rooms of the Rust core', () => {
  test('are those that lib.rs lists, step after step, and that ARCHITECTURE.md draws', () => {
    const lib = readFileSync(join(root, 'native/core/src/lib.rs'), 'utf8');
    const listed = lib
      .split('\n\n')
      .map((block) => [...block.matchAll(/^(?:pub )?mod (\w+);$/gm)].map((match) => match[1] ?? ''))
      .filter((block) => block.length > 0);
    assert.deepEqual(listed, steps);
    const folders = readdirSync(join(root, 'native/core/src'), { withFileTypes: true });
    assert.deepEqual(
      folders.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort(),
      steps.flat().sort(),
    );
    const drawn = steps.map((step) => step.join(', ')).join(' ← ');
    assert.ok(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8').includes(`\n${drawn}\n`));
  });

  test('import one way', () => {
    const uses = [...core.values()]
      .filter(({ name }) => name !== '')
      .flatMap((module) => usedBy(core, module).map((target) => [module.name, target] as const));
    assert.ok(uses.length > 300, 'imports are found');
    const wrong = uses.filter(
      ([name, target]) => roomOf(name) !== roomOf(target) && stepOf(target) >= stepOf(name),
    );
    assert.deepEqual(wrong, []);
  });

  test('no modules use each other in a circle', () => {
    for (const modules of [core, node]) {
      const circles = [...modules.keys()].map((name) => circleOf(modules, name).join(' '));
      assert.deepEqual([...new Set(circles)], ['']);
    }
  });

  test('functions are short, and files as long as their one topic', () => {
    const files = rustFiles();
    assert.ok(files.length > 180);
    const long = files.flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      const lines = text.split('\n').length - 1;
      return [
        ...(lines > MOST_FILE_LINES ? [`${file} has ${lines} lines`] : []),
        ...functionsOf(text)
          .filter((each) => each.lines > MOST_FUNCTION_LINES)
          .map((each) => `${file}: ${each.name} has ${each.lines} lines`),
      ];
    });
    assert.deepEqual(long, []);
  });
});

describe('what a module uses', () => {
  const used = (name: string): string[] => usedBy(core, core.get(name) ?? assert.fail(name));

  test('is found whether it is written out, imported or re-exported', () => {
    // `json.rs` hands `Scanner` on.
    assert.ok(used('fuse::request').includes('json::scanner'));
    assert.ok(!used('fuse::request').includes('json'));
    assert.ok(!used('json').includes('json::scanner'));
    // A module within the file names its own parent.
    assert.ok(!used('fuse::window').includes('fuse'));
    assert.ok(used('fuse::window').includes('cpu::simd'));
  });

  test('makes a cycle, unless it is in a test or a comment', () => {
    const folder = mkdtempSync(join(tmpdir(), 'fusegate-rooms-'));
    try {
      const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
      write('lib.rs', 'mod a;\nmod b;\nmod c;\nmod d;\n');
      write('a.rs', 'use crate::b::{self, Kind as Other};\nfn of(kind: Other) -> Other { kind }\n');
      write('b.rs', 'pub struct Kind;\npub fn again() -> u8 { super::c::value() }\n');
      write('c.rs', 'pub(crate) use crate::a as first;\npub fn value() -> u8 { 1 }\n');
      write('d.rs', '// crate::a\nuse crate::c::first;\n#[cfg(test)]\nmod tests {\n    use crate::d;\n}\n');
      const modules = modulesOf(folder);
      const circles = ['a', 'b', 'c', 'd'].map((name) => circleOf(modules, name));
      assert.deepEqual(circles, [['a', 'b', 'c'], ['a', 'b', 'c'], ['a', 'b', 'c'], []]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('functions count their lines from the head to the closing brace', () => {
    const text = 'fn one(a: [u8; 4]) -> char {\n    // }\n    match a { _ => \'}\' }\n}\nfn two();\n';
    assert.deepEqual(functionsOf(text), [
      { name: 'one', lines: 4 },
      { name: 'two', lines: 1 },
    ]);
  });
});
