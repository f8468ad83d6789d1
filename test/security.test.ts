/** docs/security.md: every row of its tables names tests, and each of them exists. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const rows = readFileSync('docs/security.md', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (---|asset )/.test(line));

test('every row of the threat model names a test that exists', () => {
  assert.ok(rows.length > 20, `${rows.length} rows`);
  for (const row of rows) {
    const [, asset = '', , , proof = ''] = row.split('|').map((cell) => cell.trim());
    const named = [...proof.matchAll(/`(test\/[\w/.]+\.test\.ts)`: "([^"]+)"/g)];
    assert.ok(named.length > 0, `${asset}: no test`);
    for (const [, file = '', name = ''] of named) {
      assert.ok(existsSync(file), `${asset}: ${file}`);
      assert.ok(readFileSync(file, 'utf8').includes(`test('${name}'`), `${asset}: ${file} has no "${name}"`);
    }
  }
});
