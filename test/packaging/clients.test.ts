/** How people get Fusegate's clients: from files, as no registry has them. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

/** Names of packages after an installer's command, its options aside. */
const installed = /\b(?:pip|npm) (?:install|i)((?: +[^\s`;&|,]+)+)/g;

test('nobody is told to install a package of ours by a name that a registry may give to others', () => {
  const pages = execFileSync('git', ['ls-files', '-z'], { encoding: 'utf8' })
    .split('\0')
    .filter((file) => /\.(md|py|mjs|ts|yaml|toml)$/.test(file) && !/^(test|native)\//.test(file));
  const named = pages.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(installed)].flatMap(([, names = '']) =>
      [...names.matchAll(/ ["']?((?:@fusegate\/|fusegate)[^\s"']*)/g)].map(
        ([, name = '']) => `${page}: ${name}`,
      ),
    ),
  );
  assert.deepEqual(named, []);
  const pyproject = readFileSync('clients/python/pyproject.toml', 'utf8');
  assert.match(pyproject, /^\[project\]\nname = "fusegate-client"$/m);
  assert.match(pyproject, /^\[tool\.flit\.module\]\nname = "fusegate"$/m);
});
