/** docs/errors.md: exactly the codes that the routes answer with, each under its status. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { problemOf, type ProblemCode } from '../../src/contract/problem.js';
import { routes, type Route } from '../../src/contract/routes.js';

/** Status and code of each row of the page's table. */
function documented(): string[] {
  const page = readFileSync('docs/errors.md', 'utf8');
  return [...page.matchAll(/^\| (\d{3}) \| ([^|]+) \|/gm)].flatMap(([, status, codes = '']) =>
    [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => `${status} ${code}`),
  );
}

/** Status and code of every problem that a route names. */
function answered(): string[] {
  const all = Object.values<Route>(routes).flatMap(({ problems }) =>
    Object.entries(problems).flatMap(([status, codes]) => codes.map((code) => `${status} ${code}`)),
  );
  return [...new Set(all)];
}

test('the page lists every code of every route once, and no others', () => {
  assert.deepEqual(documented().sort(), answered().sort());
});

test('every code of the closed list belongs to a route', () => {
  const source = readFileSync('src/contract/problem.ts', 'utf8');
  const [list = ''] = source.split(';');
  const codes = [...list.matchAll(/^ {2}\| '(\w+)'/gm)].map(([, code]) => code ?? '');
  assert.ok(codes.length > 20);
  const named = answered().map((each) => each.slice(4));
  assert.deepEqual(codes.sort(), [...new Set(named)].sort());
});

test('every problem names an existing guide that mentions its code', () => {
  const codes = new Set(answered().map((each) => each.slice(4) as ProblemCode));
  for (const code of codes) {
    const { detail, docs, ...rest } = problemOf(code, 'A sentence.');
    assert.deepEqual([detail, rest], ['A sentence.', { code }]);
    const [, name = ''] = /^\/docs\/guides\/(\w+)$/.exec(docs) ?? [];
    assert.ok(readFileSync(`docs/${name}.md`, 'utf8').includes(`\`${code}\``), `${docs}: ${code}`);
  }
});
