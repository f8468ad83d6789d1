/** `fusegate models evaluate`, `tune` and `calibrate`: figures, plot, and broken collections. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Evaluation } from '../../src/commands/evaluation.js';
import { measured } from '../../src/search/measures.js';
import { projectRoot } from '../support/python.js';
import { temporaryFolder } from '../support/run.js';
import { near } from '../reference/agreement.js';
import { fuse } from '../reference/fuse.js';
import { here, type EndedHere } from '../support/here.js';

const folder = temporaryFolder();

const environment = { STORE_URL: `lmdb:${folder}/none/store` };

/** Runs a command where the program and the models are loaded already. */
function command(...args: readonly string[]): Promise<EndedHere> {
  return here(args, environment);
}

function evaluate(...args: readonly string[]): Promise<EndedHere> {
  return command('models', 'evaluate', ...args);
}

/** Evaluates as the program does, in a process of its own. */
function evaluateApart(...args: readonly string[]) {
  const words = ['dist/src/main.js', 'models', 'evaluate', ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    maxBuffer: 64 << 20,
  });
  return { code: status, text: stdout.toString(), said: stderr.toString() };
}

const docs = [
  'the lattice holds without a keystone',
  'bread rises with wild yeast',
  'neutron stars pulse in radio',
  'a keystone holds the arch',
  'radio waves of\u2028pulsars',
  'sourdough loaves from the oven',
].map((text, at) => ({ id: `d${at}`, text }));
const queries = [
  { id: 'q1', text: 'what holds a lattice' },
  { id: 'q2', text: 'yeast for a loaf' },
  { id: 'q3', text: 'pulsating stars' },
  { id: 'unjudged', text: 'nothing' },
];
const judgements = [
  'q1\td0\t2',
  'q1\td3\t1',
  'q2\td1\t1',
  'q2\td5\t1',
  'q2\td0\t0',
  'q3\td2\t1',
  'q3\td4\t1',
];

/** Writes a collection; what is given takes the place of a file's own lines. */
function collection(name: string, files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const path = join(folder, name);
  mkdirSync(path);
  const lines = (texts: readonly object[]): string =>
    texts.map((text) => `${JSON.stringify(text)}\n`).join('');
  const all = {
    'docs.jsonl': lines(docs),
    'queries.jsonl': lines(queries),
    'qrels.tsv': `query-id\tcorpus-id\tscore\n${judgements.join('\n')}\n`,
    ...files,
  };
  for (const [file, content] of Object.entries(all))
    if (content !== '') writeFileSync(join(path, file), content);
  return path;
}

/** The judgements: grades by the places of the docs. */
const grades = [
  new Map([
    [0, 2],
    [3, 1],
  ]),
  new Map([
    [1, 1],
    [5, 1],
  ]),
  new Map([
    [2, 1],
    [4, 1],
  ]),
];

test('figures are those of the rankings; a collection may be compressed, and judged as in TREC', async () => {
  const plain = collection('plain');
  const { code, text } = await evaluate(plain, '--model', 'static-256', '--candidates', '3', '--json');
  assert.equal(code, 0);
  const found = JSON.parse(text) as Evaluation;
  assert.deepEqual([found.docs, found.judged, found.model, found.candidates], [6, 3, 'static-256', 3]);
  // BM25 by the oracle: the same docs with equal dense scores.
  const scored = docs.map((doc) => ({ ...doc, dense_score: 1 }));
  const values = grades.map((judged, at) => {
    const { results } = fuse({ query: queries[at]?.text ?? '', docs: scored });
    const byBm25 = [...results].sort((left, right) => right.bm25_score - left.bm25_score);
    return measured(
      byBm25.map(({ id }) => Number(id.slice(1))),
      judged,
    ).ndcg_at_10;
  });
  const expected = values.reduce((sum, value) => sum + value, 0) / values.length;
  assert.ok(near(found.whole.bm25.ndcg_at_10.mean, expected));
  assert.ok(found.whole.dense.ndcg_at_10.mean > found.whole.bm25.ndcg_at_10.mean);
  assert.equal(found.whole.maxnorm.recall_at_100.mean, 1);
  assert.ok(found.request.maxnorm.recall_at_100.mean <= 1);
  const trec = collection('trec', {
    'docs.jsonl': '',
    'docs.jsonl.gz': gzipSync(docs.map((doc) => JSON.stringify(doc)).join('\n')),
    'judged.txt': judgements.map((line) => line.replace('\t', ' 0 ').replace('\t', ' ')).join('\n'),
  });
  const same = await evaluate(
    trec,
    '--model',
    'static-256',
    '--candidates',
    '3',
    '--json',
    '--qrels',
    'judged.txt',
  );
  assert.deepEqual(JSON.parse(same.text), found);
});

/** A collection of as many judged queries as settings are chosen by. */
function largerCollection(name: string): string {
  const asked = Array.from({ length: 12 }, (_, at) => ({
    id: `q${at}`,
    text: `${docs[at % 6]?.text ?? ''} a`,
  }));
  return collection(name, {
    'queries.jsonl': asked.map((query) => `${JSON.stringify(query)}\n`).join(''),
    'qrels.tsv': asked.map(({ id }, at) => `${id}\td${at % 6}\t1\n`).join(''),
  });
}

test('requests may use the statistics of a sample of the collection', async () => {
  const path = collection('sampled');
  const args = [path, '--model', 'static-256', '--candidates', '4', '--analyzer', 'english'];
  const own = JSON.parse((await evaluate(...args, '--json')).text) as Evaluation;
  const sampled = await evaluate(...args, '--corpus', '5', '--json');
  assert.equal(sampled.code, 0);
  const found = JSON.parse(sampled.text) as Evaluation;
  assert.deepEqual([own.corpus, found.corpus], [undefined, 5]);
  assert.deepEqual(found.whole, own.whole);
  assert.match(
    (await evaluate(...args, '--corpus', '5')).text,
    /as the request, by the statistics of 5 docs\n/,
  );
  assert.equal((await evaluate(...args, '--corpus', '0')).code, 2);
});

test('requests may have legs of their own, with the scores of an engine’s run', async () => {
  const run = ['q1 Q0 d3 1 9.5 es', 'q1 Q0 d0 2 1 es', 'q2 Q0 d5 1 3 es'].join('\n');
  const path = collection('legs', { 'es.run': run });
  const file = join(folder, 'legs.json');
  const args = [path, '--model', 'static-256', '--candidates', '6', '--legs', file];
  const withLegs = async (legs: object): Promise<Evaluation> => {
    writeFileSync(file, JSON.stringify(legs));
    const { code, text, said } = await evaluate(...args, '--json');
    assert.equal(code, 0, said);
    const found = JSON.parse(text) as Evaluation;
    assert.deepEqual(found.legs, legs);
    return found;
  };
  const { request } = JSON.parse((await evaluate(...args.slice(0, -2), '--json')).text) as Evaluation;
  assert.equal(request.legs, undefined);
  assert.deepEqual((await withLegs({ bm25: {}, dense: {} })).request.legs, request.maxnorm);
  // The engine's order alone: what it did not rank stays in the order of the docs, as do queries without it.
  const orders = [
    [3, 0, 1, 2, 4, 5],
    [5, 0, 1, 2, 3, 4],
    [0, 1, 2, 3, 4, 5],
  ];
  const expected = grades.map((judged, at) => measured(orders[at] ?? [], judged).ndcg_at_10);
  const { whole } = await withLegs({ es: {} });
  const mean = expected.reduce((sum, value) => sum + value, 0) / expected.length;
  assert.ok(near(whole.legs?.ndcg_at_10.mean ?? NaN, mean));
  assert.match((await evaluate(...args)).text, /\n {2}maxnorm .*\n {2}legs {6}0\.\d{4} \[/);
  for (const [legs, lines, told] of [
    ['{', run, /legs\.json cannot be read/],
    ['{"bm25":{"weight":-1}}', run, /legs\.json has no valid legs of POST \/v1\/fuse\. bm25\.weight: /],
    ['{"../x":{}}', run, /cannot be the name of a run’s file/],
    ['{"other":{}}', run, /other\.run cannot be read/],
    ['{"es":{}}', 'q1 d3 9.5', /es\.run:1 is not a line of a run/],
    ['{"es":{}}', 'q1 Q0 d9 1 9.5 es', /es\.run:1 ranks d9, which is not a doc/],
  ] as const) {
    writeFileSync(file, legs);
    writeFileSync(join(path, 'es.run'), lines);
    const { code, said } = await evaluate(...args);
    assert.equal(code, 1);
    assert.match(said, told);
  }
});

test('tune says what its settings gain, or that there is no gain', async () => {
  const args = [largerCollection('tuned'), '--model', 'static-256', '--language', 'english'];
  const { code, text } = await command('tune', ...args, '--json');
  assert.equal(code, 0);
  const tuned = JSON.parse(text) as { gains: boolean; settings: number; members: object };
  assert.deepEqual([tuned.gains, tuned.members, tuned.settings], [false, {}, 2 * 4 * 3 * 55]);
  const shown = await command('tune', ...args);
  assert.match(shown.text, /^tuned: 6 docs, 12 judged queries, model static-256, tokenizer ws\n/);
  assert.match(shown.text, /\nNo gain: the interval holds 0\./);
  const few = await command('tune', join(folder, 'sampled'), '--model', 'static-256');
  assert.deepEqual(
    [few.code, few.said],
    [1, '3 judged queries are too few: settings are chosen by 10 or more.\n'],
  );
  assert.match(
    (await command('tune', ...args, '--tokenizer', 'ngram')).said,
    /^Analyzers are for the tokenizer ws\./,
  );
});

test('calibrate suggests a min_score, and says what it keeps and cuts', async () => {
  const args = [join(folder, 'tuned'), '--model', 'static-256', '--analyzer', 'english'];
  const { code, text } = await command('calibrate', ...args);
  assert.equal(code, 0);
  assert.match(
    text,
    /^min_score 1 keeps 100\.0 % of the relevant candidates, and cuts 100\.0 % of the others\.$/m,
  );
  assert.match(text, /^Add "min_score": 1 to your requests\.$/m);
  const { threshold } = JSON.parse((await command('calibrate', ...args, '--json')).text) as {
    threshold: number;
  };
  assert.equal(threshold, 1);
});

test('the program: its tables name what they show, and the plot is one file', () => {
  const plot = join(folder, 'plot.svg');
  const { code, text, said } = evaluateApart(collection('shown'), '--plot', plot, '--candidates', '4');
  assert.equal(code, 0);
  assert.match(text, /^shown: 6 docs, 3 judged queries, model all-MiniLM-L6-v2, tokenizer ws\n/);
  assert.match(
    text,
    /Whole collection\n.*nDCG@10.*MRR@10.*recall@100\n {2}bm25 .*\n {2}dense .*\n {2}rrf .*\n {2}maxnorm /,
  );
  assert.match(text, /The 4 best of each query by BM25 as the request\n/);
  assert.match(said, /embedding: 0 of 6 docs[^]*ranking: 0 of 3 queries/);
  const svg = readFileSync(plot, 'utf8');
  assert.match(
    svg,
    /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"[^]*4 candidates as the request[^]*<\/svg>\n$/,
  );
  assert.doesNotMatch(svg, /NaN|undefined|Infinity/);
});

test('a collection that is broken, and a model that is not there', async () => {
  const cases: readonly [string, Readonly<Record<string, string>>, RegExp][] = [
    ['no-queries', { 'queries.jsonl': '' }, /cannot be read \(ENOENT/],
    ['no-docs', { 'docs.jsonl': '' }, /^There is neither docs\.jsonl nor docs\.jsonl\.gz in \S+no-docs\.\n$/],
    ['no-text', { 'docs.jsonl': '{"id":"a","text":"x"}\n{"id":"b"}\n' }, /docs\.jsonl:2 is not an object/],
    ['no-json', { 'queries.jsonl': '\n{"id"\n' }, /queries\.jsonl:2 is not an object/],
    [
      'twice',
      { 'docs.jsonl': '{"id":"a","text":"x"}\n{"id":"a","text":"y"}\n' },
      /docs\.jsonl:2 repeats the id a/,
    ],
    ['other-doc', { 'qrels.tsv': 'q1\td9\t1\n' }, /qrels\.tsv:1 judges d9, which is not a doc/],
    ['no-grade', { 'qrels.tsv': 'q1\td1\t1\nq1\td2\n' }, /qrels\.tsv:2 is not a judgement/],
    ['unjudged', { 'qrels.tsv': 'q1\td1\t0\n' }, /judges none of the queries/],
  ];
  for (const [name, files, expected] of cases) {
    const { code, said } = await evaluate(collection(name, files));
    assert.equal(code, 1, name);
    assert.match(said, expected);
  }
  const unknown = await evaluate(join(folder, 'plain'), '--model', 'bge-huge');
  assert.deepEqual([unknown.code, unknown.said], [1, 'There is no model bge-huge.\n']);
  const options = await evaluate(join(folder, 'plain'), '--candidates', 'none');
  assert.equal(options.code, 2);
});

const shared = join(projectRoot, '../shared/data');

/** What the static model must reach: dense over the whole collection, and fused over 100 candidates. */
const figures = [
  { name: 'cranfield', qrels: 'qrels-binary.tsv', dense: 0.65 * 0.509, fused: 0.422 + 0.03 },
  { name: 'cisi', qrels: 'qrels.tsv', dense: 0.65 * 0.424, fused: 0.304 },
];

for (const { name, qrels, dense, fused } of figures) {
  const path = join(shared, name);
  const skip = existsSync(path) ? false : `${path} is not there`;
  test(`static-256 on ${name} is as good as it must be`, { skip }, async () => {
    const { code, text } = await evaluate(path, '--qrels', qrels, '--model', 'static-256', '--json');
    assert.equal(code, 0);
    const { whole, request } = JSON.parse(text) as Evaluation;
    assert.ok(whole.dense.ndcg_at_10.mean >= dense, `dense ${whole.dense.ndcg_at_10.mean}`);
    assert.ok(request.maxnorm.ndcg_at_10.mean >= fused, `fused ${request.maxnorm.ndcg_at_10.mean}`);
  });
}
