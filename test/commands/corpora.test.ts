/** `fusegate corpora` while a server runs: what it counts ranks requests, also after a restart. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { exchange, post } from '../support/raw.js';
import { temporaryFolder } from '../support/run.js';
import { until } from '../support/until.js';
import { fromEveryWorker, fusegate, program, serve, stop } from './beside.js';

const corpora = (folder: string, ...args: readonly string[]) => fusegate(folder, 'corpora', ...args);

const docs = ['boots for hiking', 'hiking', 'a boot'].map((text, at) => ({
  id: `${at}`,
  text,
  dense_score: 0,
}));

async function asked(port: number, corpus: object): Promise<string> {
  const request = { query: 'hiking boots', docs, analyzer: 'english', corpus };
  const headers = { 'Content-Type': 'application/json' };
  const { status, body } = await exchange(port, post('/v1/fuse', JSON.stringify(request), headers));
  return `${status} ${body.toString()}`;
}

test('statistics that are put rank requests of all workers, also after restarts, until removed', async () => {
  const folder = temporaryFolder();
  const first = await serve(folder);
  assert.match(await asked(first.port, { name: 'shop' }), /^422 .*there are none here/);
  const file = join(folder, 'texts.jsonl');
  writeFileSync(file, '"hiking boots"\n{"id":1,"text":"boots"}\n\n"Boots, again"\n');
  const put = await program(folder, 'corpora', 'put', 'shop', file, '--analyzer', 'english');
  assert.match(put.said, /shop, version 1: 3 docs of 1\.7 tokens, 3 terms\.\n/);
  assert.equal(put.code, 0);
  const knows = async (version: number): Promise<boolean> => {
    const answers = await fromEveryWorker(() => asked(first.port, { name: 'shop' }));
    return answers.every((answer) => answer.includes(`"corpus":{"name":"shop","version":${version},`));
  };
  await until(() => knows(1));
  const before = await asked(first.port, { name: 'shop' });
  const df = { hike: 1, boot: 3, again: 1 };
  const given = await asked(first.port, { docs: 3, average_length: 5 / 3, df });
  assert.equal(before.replace(',"corpus":{"name":"shop","version":1,"docs":3}', ''), given);
  const inline = join(folder, 'given.json');
  writeFileSync(inline, JSON.stringify({ docs: 9, average_length: 2, df }));
  const second = await corpora(folder, 'put', 'shop', inline, '--statistics', '--json');
  assert.match(second.said, /\{"name":"shop","version":2,"docs":9,"average_length":2,"terms":3\}/);
  await until(() => knows(2));
  await stop(first);
  const again = await serve(folder);
  assert.equal(await asked(again.port, { name: 'shop', version: 1 }), before);
  const listed = await corpora(folder, 'list');
  assert.match(listed.said, /^shop +1 +3 +1\.7 +3 {2}ws, english/m);
  assert.match(listed.said, /^shop +2 +9 +2\.0 +3 {2}given/m);
  const shown = JSON.parse((await corpora(folder, 'show', 'shop', '--json')).said) as { versions: unknown[] };
  assert.equal(shown.versions.length, 2);
  assert.equal((await corpora(folder, 'remove', 'shop')).code, 0);
  await until(async () => (await asked(again.port, { name: 'shop' })).startsWith('422'));
  const gone = await corpora(folder, 'show', 'shop');
  assert.deepEqual([gone.code, /There is no corpus shop/.test(gone.said)], [1, true]);
  await stop(again);
});

test('a wrong name, file or line is refused, and nothing is put', async () => {
  const folder = temporaryFolder();
  const { server } = await serve(folder);
  const file = join(folder, 'texts.jsonl');
  const packed = join(folder, 'texts.jsonl.gz');
  const lines = Array.from({ length: 60_000 }, (_, at) => `"text number ${at}"\n`);
  writeFileSync(packed, gzipSync(lines.join('')));
  writeFileSync(file, `${lines.join('')}{"title":"a"}\n`);
  const cases: readonly (readonly [args: readonly string[], said: RegExp])[] = [
    [['put', 'a b', file], /A name has 1 to 64/],
    [['put', 'shop', join(folder, 'none')], /none cannot be read/],
    [['put', 'shop', file], /texts\.jsonl:60001: A line is a JSON string, or an object with a text/],
    [['put', 'shop', file, '--tokenizer', 'ngram', '--analyzer', 'english'], /for the tokenizer ws/],
    [['put', 'shop', file, '--statistics'], /not a valid object of docs/],
    [['remove', 'shop'], /There is no corpus shop/],
    [['show', 'x'.repeat(500)], /There is no corpus/],
  ];
  for (const [args, said] of cases) {
    const outcome = await corpora(folder, ...args);
    assert.match(outcome.said, said);
    assert.equal(outcome.code, 1, args.join(' '));
  }
  const good = await corpora(folder, 'put', 'shop', packed, '--tokenizer', 'ngram');
  assert.match(good.said, /shop, version 1: 60000 docs/);
  assert.match(good.said, /counting: /);
  await stop({ server });
});
