/** `fusegate profiles`, `tune --profile` and `calibrate --profile` while a server runs. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { FuseResponse } from '../../src/contract/fuse.js';
import { exchange, post } from '../support/raw.js';
import { temporaryFolder } from '../support/run.js';
import { until } from '../support/until.js';
import { fromEveryWorker, fusegate, program, serve, stop } from './beside.js';

const docs = ['boots for hiking', 'hiking', 'a boot'].map((text, at) => ({
  id: `${at}`,
  text,
  dense_score: at / 7,
}));

async function asked(port: number, members: object): Promise<string> {
  const request = { query: 'hiking boots', docs, ...members };
  const headers = { 'Content-Type': 'application/json' };
  const { status, body } = await exchange(port, post('/v1/fuse', JSON.stringify(request), headers));
  return `${status} ${body.toString()}`;
}

/** Asks until every worker answers so. */
function everywhere(port: number, profile: string, holds: (answer: string) => boolean): Promise<void> {
  return until(async () => (await fromEveryWorker(() => asked(port, { profile }))).every(holds));
}

test('a profile that is put applies in every worker, also after a restart, until it is removed', async () => {
  const folder = temporaryFolder();
  const first = await serve(folder);
  assert.match(await asked(first.port, { profile: 'shop' }), /^422 .*there are none here/);
  const file = join(folder, 'settings.json');
  const settings = { analyzer: 'english', weights: { bm25: 1, dense: 4 } };
  writeFileSync(file, JSON.stringify(settings));
  const put = await program(folder, 'profiles', 'put', 'shop', file);
  assert.deepEqual(
    [put.code, put.said.split('\n')[0]],
    [0, 'shop, version 1. A server that runs knows it within a second.'],
  );
  const echo = (version: number): string => `,"profile":{"name":"shop","version":${version}}`;
  await everywhere(first.port, 'shop', (answer) => answer.includes(echo(1)));
  const before = await asked(first.port, { profile: 'shop' });
  assert.equal(before.replace(echo(1), ''), await asked(first.port, settings));
  writeFileSync(file, '{"method":"rrf"}');
  const second = await fusegate(folder, 'profiles', 'put', 'shop', file, '--json');
  assert.match(second.said, /\{"name":"shop","version":2,"settings":\{"method":"rrf"\}\}/);
  await everywhere(first.port, 'shop', (answer) => answer.includes(echo(2)));
  await stop(first);
  const again = await serve(folder);
  assert.equal(await asked(again.port, { profile: { name: 'shop', version: 1 } }), before);
  const listed = await fusegate(folder, 'profiles', 'list');
  assert.match(listed.said, /^shop +2 {2}\d{4}-.*Z {2}\{"method":"rrf"\}$/m);
  const shown = await fusegate(folder, 'profiles', 'show', 'shop');
  assert.match(shown.said, /^shop +1 .*"analyzer":"english".*\nshop +2 /m);
  const json = JSON.parse((await fusegate(folder, 'profiles', 'show', 'shop', '--json')).said) as {
    readonly versions: readonly { readonly settings: unknown }[];
  };
  assert.deepEqual(
    json.versions.map((version) => version.settings),
    [settings, { method: 'rrf' }],
  );
  assert.equal((await fusegate(folder, 'profiles', 'remove', 'shop')).code, 0);
  await everywhere(again.port, 'shop', (answer) => answer.startsWith('422'));
  const gone = await fusegate(folder, 'profiles', 'show', 'shop');
  assert.deepEqual([gone.code, /There is no profile shop/.test(gone.said)], [1, true]);
  await stop(again);
});

/** Of each pair the query has the first, and the one doc that answers it the second. */
const pairs = [
  ['car', 'automobile'],
  ['doctor', 'physician'],
  ['sea', 'ocean'],
  ['boat', 'ship'],
  ['king', 'monarch'],
  ['child', 'kid'],
  ['house', 'home'],
  ['street', 'road'],
  ['money', 'cash'],
  ['forest', 'woods'],
  ['film', 'movie'],
  ['stone', 'rock'],
] as const;

/** A collection in which a word that all queries have leads BM25 astray. */
function misleading(folder: string): string {
  const path = join(folder, 'judged');
  mkdirSync(path);
  const lines = (texts: readonly (readonly [id: string, text: string])[]): string =>
    texts.map(([id, text]) => `${JSON.stringify({ id, text })}\n`).join('');
  const answers = pairs.map(([, second], at) => [`d${at}`, second] as const);
  const others = Array.from(
    { length: 24 },
    (_, at) => [`x${at}`, `tuesday ${'abcdefgh'.charAt(at % 8)}${at}`] as const,
  );
  writeFileSync(join(path, 'docs.jsonl'), lines([...others, ...answers]));
  writeFileSync(
    join(path, 'queries.jsonl'),
    lines(pairs.map(([one], at) => [`q${at}`, `tuesday ${one}`] as const)),
  );
  writeFileSync(join(path, 'qrels.tsv'), pairs.map((_, at) => `q${at}\td${at}\t1\n`).join(''));
  return path;
}

test('tune writes a gain into a profile, calibrate adds a threshold, and requests use both', async () => {
  const folder = temporaryFolder();
  const first = await serve(folder);
  const [path, plot] = [misleading(folder), join(folder, 'plot.svg')];
  const of = [path, '--model', 'static-256', '--profile', 'shop'];
  const tuned = await fusegate(folder, 'tune', ...of, '--json', '--plot', plot);
  const json = tuned.said.slice(tuned.said.indexOf('\n{') + 1, tuned.said.lastIndexOf('}') + 1);
  const found = JSON.parse(json) as {
    gains: boolean;
    members: object;
    profile: unknown;
    gain: { low: number };
  };
  assert.deepEqual([tuned.code, found.gains, found.profile], [0, true, { name: 'shop', version: 1 }]);
  assert.ok(found.gain.low > 0);
  assert.match(tuned.said, /tuning: /);
  const svg = readFileSync(plot, 'utf8');
  assert.match(svg, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"[^]*zscore[^]*rrf 10[^]*<\/svg>\n$/);
  assert.doesNotMatch(svg, /NaN|undefined|Infinity/);
  const settings = { embed_model: 'static-256', ...found.members };
  await everywhere(first.port, 'shop', (answer) => answer.includes('"version":1}'));
  const byProfile = await asked(first.port, { profile: 'shop' });
  assert.equal(
    byProfile.replace(',"profile":{"name":"shop","version":1}', ''),
    await asked(first.port, settings),
  );
  // Whatever has the word is relevant now, and its score says so.
  const words = pairs.flatMap((_, at) => Array.from({ length: 24 }, (__, doc) => `q${at}\tx${doc}\t1\n`));
  writeFileSync(join(path, 'words.tsv'), words.join(''));
  const byWord = [path, '--profile', 'shop', '--qrels', 'words.tsv'];
  const calibrated = await fusegate(folder, 'calibrate', ...byWord);
  assert.equal(calibrated.code, 0, calibrated.said);
  const [, threshold] = /^min_score (\S+) keeps/m.exec(calibrated.said) ?? [];
  assert.match(calibrated.said, /^Written as version 2 of the profile shop: add "profile": "shop"/m);
  const shown = JSON.parse((await fusegate(folder, 'profiles', 'show', 'shop', '--json')).said) as {
    readonly versions: readonly { readonly settings: unknown }[];
  };
  assert.deepEqual(
    shown.versions.map((version) => version.settings),
    [settings, { ...settings, min_score: Number(threshold) }],
  );
  await stop(first);
  // Without a server, by the store alone.
  const file = join(folder, 'request.json');
  writeFileSync(file, JSON.stringify({ query: 'hiking', docs, profile: 'shop' }));
  const answer = JSON.parse((await fusegate(folder, 'fuse', file, '--json')).said) as FuseResponse;
  assert.deepEqual(answer.profile, { name: 'shop', version: 2 });
});

test('without a gain or a separation nothing is written', async () => {
  const folder = temporaryFolder();
  const first = await serve(folder);
  const path = misleading(folder);
  // Every doc is as good as every other.
  const grades = pairs.flatMap((_, at) => pairs.map((__, doc) => `q${at}\td${doc}\t1\n`));
  const others = pairs.flatMap((_, at) => Array.from({ length: 24 }, (__, doc) => `q${at}\tx${doc}\t1\n`));
  writeFileSync(join(path, 'qrels.tsv'), [...grades, ...others].join(''));
  const of = [path, '--model', 'static-256', '--profile', 'shop'];
  const tuned = await fusegate(folder, 'tune', ...of);
  assert.match(tuned.said, /^No gain: the interval holds 0\. Leave the requests as they are\.$/m);
  assert.doesNotMatch(tuned.said, /Written as/);
  const calibrated = await fusegate(folder, 'calibrate', ...of, '--json');
  const json = calibrated.said.slice(calibrated.said.indexOf('\n{') + 1);
  const { separates, profile } = JSON.parse(json) as { separates: boolean; profile: unknown };
  assert.deepEqual([calibrated.code, separates, profile], [0, false, null]);
  const none = await fusegate(folder, 'profiles', 'show', 'shop');
  assert.deepEqual([none.code, /There is no profile shop/.test(none.said)], [1, true]);
  await stop(first);
});

test('a wrong name, file or setting is refused, and nothing is put', async () => {
  const folder = temporaryFolder();
  const first = await serve(folder);
  const file = join(folder, 'settings.json');
  const put = (settings: string, name = 'shop') => {
    writeFileSync(file, settings);
    return fusegate(folder, 'profiles', 'put', name, file);
  };
  const refused = async (answer: ReturnType<typeof fusegate>, said: RegExp): Promise<void> => {
    const outcome = await answer;
    assert.match(outcome.said, said);
    assert.equal(outcome.code, 1, outcome.said);
  };
  await refused(put('{}', 'a b'), /A name has 1 to 64/);
  await refused(put('{'), /settings\.json: .*JSON/i);
  await refused(put('{"top_k":3}'), /settings\.json: top_k: Extra inputs are not permitted/);
  await refused(put('{"k1":-1,"analyzer":"x"}'), /settings\.json: k1: /);
  await refused(put(`{"entity_map":{"a":"${'b'.repeat(40_000)}"}}`), /32768 bytes at most/);
  await refused(fusegate(folder, 'profiles', 'put', 'shop', join(folder, 'none')), /none cannot be read/);
  await refused(fusegate(folder, 'profiles', 'remove', 'shop'), /There is no profile shop/);
  await refused(fusegate(folder, 'profiles', 'show', 'x'.repeat(500)), /There is no profile/);
  await refused(fusegate(folder, 'tune', folder, '--profile', 'a b'), /A name has 1 to 64/);
  assert.equal((await put('{"legs":{"bm25":{},"clicks":{}}}')).code, 0);
  const calibrate = fusegate(folder, 'calibrate', misleading(folder), '--profile', 'shop');
  await refused(calibrate, /The profile cannot be calibrated\. Its legs need scores .*: clicks\./);
  await stop(first);
});
