/** `fusegate keys usage`: what a server has counted, by key, by tier and by day. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exchange, post } from '../support/raw.js';
import { memoryFolder, run } from '../support/run.js';
import { here } from '../support/here.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const body = JSON.stringify({ query: 'a', docs: [{ id: '1', text: 'a b', dense_score: 1 }] });

/** A row of the command's JSON. */
type Row = Readonly<Record<string, string | number>>;

test('keys usage lists what was used, by key and by tier', async () => {
  const environment = { STORE_URL: `lmdb:${memoryFolder()}/store`, PORT: '0', WORKERS: '1' };
  const server = run(main, ['serve'], environment);
  const port = Number((await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/))[1]);
  const create = async (tier: string): Promise<{ id: string; api_key: string }> =>
    JSON.parse((await here(['keys', 'create', '--tier', tier, '--json'], environment)).output) as {
      id: string;
      api_key: string;
    };
  const keys = [await create('developer'), await create('developer'), await create('growth')];
  for (const [at, { api_key: key }] of keys.entries()) {
    for (let sent = 0; sent <= at; sent += 1) {
      assert.equal((await exchange(port, post('/v1/fuse', body, { 'X-API-Key': key }))).status, 200);
    }
  }
  // What is not yet stored is stored when it ends.
  server.child.kill('SIGTERM');
  assert.deepEqual(await server.ended(), { code: 0, signal: null });
  const usage = async (...args: readonly string[]): Promise<Row[]> => {
    const { output, code } = await here(['keys', 'usage', '--json', ...args], environment);
    assert.equal(code, 0, output);
    return output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Row);
  };
  const sums = (rows: readonly Row[], by: string): Map<unknown, number> => {
    const found = new Map<unknown, number>();
    for (const row of rows) found.set(row[by], (found.get(row[by]) ?? 0) + Number(row['requests']));
    return found;
  };
  const byKey = await usage();
  assert.deepEqual(sums(byKey, 'key'), new Map(keys.map(({ id }, at) => [id, at + 1] as const)));
  // The query, and of each text at least 16.
  const charged = 1 + 16;
  for (const row of byKey) {
    assert.match(String(row['date']), /^\d{4}-\d{2}-\d{2}$/);
    assert.deepEqual([row['characters'], row['refused']], [charged * Number(row['requests']), 0]);
  }
  const byTier = await usage('--by', 'tier');
  assert.deepEqual(sums(byTier, 'tier'), new Map([...sums(byKey, 'tier')]));
  assert.deepEqual(sums(byTier, 'tier').get('developer'), 3);
  assert.ok(byTier.every((row) => row['key'] === undefined));
  const table = await here(['keys', 'usage', '--by', 'tier'], environment);
  assert.match(table.output, /^date +tier +key +requests +characters +refused\n\d{4}-/);
});
