/**
 * The audit's headline against what querying the records really gives, on thirty collections and for every
 * stack: Lucene and PostgreSQL are run themselves, POST /v1/fuse is asked if there is no stack, and the
 * others are judged by their documented rules. The words of each record, which the collections list, are
 * asked for before and after normalization.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { stacks } from '../../src/text/stacks.js';
import { native } from '../../src/native/addon.js';
import { referenceAnalyzers, type ReferenceAnalyzer } from '../reference/analyzers.js';
import { tokenize } from '../reference/fuse.js';
import { PostgresServer, postgresMissing } from '../support/postgresServer.js';
import { type AuditCollection, auditCollections } from '../vectors/auditCollections.js';
import { projectRoot } from '../support/python.js';
import { peersRequired } from './required.js';

/** Texts, as they are and then as they become, and the words that they are asked for by. */
interface Asked {
  readonly texts: readonly string[];
  readonly words: readonly string[];
}

/** Numbers of the texts that each word finds, by collection. */
type Search = (all: readonly Asked[]) => Promise<Set<number>[][]>;

const collections = auditCollections();
const normalizer = new native.TextNormalizer('augment', true, []);
const jars = join(process.env['FUSEGATE_PEERS_DIR'] ?? join(projectRoot, '.peers'), 'lucene');
const postgresSkip = postgresMissing();
const luceneSkip = luceneMissing();
let server: PostgresServer | undefined;

before(async () => {
  if (postgresSkip !== false) return;
  server = await PostgresServer.start();
  // The parser asks the locale which characters are letters.
  await server.query(
    'postgres',
    `CREATE DATABASE words TEMPLATE template0 LC_CTYPE 'C.UTF-8' LC_COLLATE 'C'`,
  );
});
after(async () => server?.stop());

function luceneMissing(): string | false {
  const fetch =
    'mvn -B -f test/peers/lucene/pom.xml ' +
    'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies';
  const missing =
    spawnSync('java', ['-version']).status !== 0
      ? 'Java is not installed. Run: apt-get install openjdk-17-jdk-headless maven'
      : existsSync(jars)
        ? false
        : `Lucene is not there. Run: ${fetch}`;
  if (missing !== false && peersRequired) throw new Error(missing);
  return missing;
}

/** Finds texts by terms: a word finds a text that has those of its terms that the engine needs. */
function byTerms({ terms, needs, ignored = [] }: ReferenceAnalyzer): Search {
  const found = ({ texts, words }: Asked): Set<number>[] => {
    const indexed = texts.map((text) => new Set(terms(text)));
    return words.map((word) => {
      const asked = terms(word).filter((term) => !ignored.includes(term));
      const needed = needs === 'first' ? asked.slice(0, 1) : asked;
      const finds = (has: ReadonlySet<string>): boolean =>
        needs === 'any' ? needed.some((term) => has.has(term)) : needed.every((term) => has.has(term));
      return new Set(indexed.flatMap((has, at) => (asked.length > 0 && finds(has) ? [at] : [])));
    });
  };
  return (all) => Promise.resolve(all.map(found));
}

function runLucene(all: readonly Asked[]): Set<number>[][] {
  const encoded = (sign: string) => (text: string) => `${sign}${Buffer.from(text).toString('base64')}\n`;
  const input = ({ texts, words }: Asked) =>
    `${texts.map(encoded('D')).join('')}${words.map(encoded('Q')).join('')}E\n`;
  const path = readdirSync(jars).map((name) => join(jars, name));
  const program = join(projectRoot, 'test/peers/lucene/Search.java');
  const options = { input: all.map(input).join(''), encoding: 'utf8', maxBuffer: 64 << 20 } as const;
  const run = spawnSync('java', ['-cp', path.join(':'), program], options);
  assert.equal(run.status, 0, run.stderr);
  const lines = run.stdout.split('\n');
  return all.map(({ words }) =>
    lines.splice(0, words.length).map((line) => new Set(line.split(' ').filter(Boolean).map(Number))),
  );
}

/** One run for all engines on Lucene. */
let luceneFound: Set<number>[][] | undefined;
const byLucene: Search = (all) => Promise.resolve((luceneFound ??= runLucene(all)));

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

async function inPostgres({ texts, words }: Asked): Promise<Set<number>[]> {
  const rows = await server?.query(
    'words',
    `WITH texts AS MATERIALIZED (
       SELECT at - 1 AS at, to_tsvector('simple', text) AS terms
       FROM unnest(ARRAY[${texts.map(quoted).join()}]) WITH ORDINALITY AS each(text, at))
     SELECT word - 1, at FROM unnest(ARRAY[${words.map(quoted).join()}]) WITH ORDINALITY AS each(text, word)
       JOIN texts ON terms @@ plainto_tsquery('simple', each.text)`,
  );
  const found = words.map(() => new Set<number>());
  for (const [word, at] of rows ?? []) found[Number(word)]?.add(Number(at));
  return found;
}

const byPostgres: Search = async (all) => {
  const found = [];
  for (const each of all) found.push(await inPostgres(each));
  return found;
};

/** How a stack is queried here, and what is said of that. */
function searchOf(stack: string): readonly [how: string, search: Search] {
  if (stack === 'custom') return ['run', byTerms({ terms: (text) => tokenize(text, 'ws'), needs: 'any' })];
  if (stack === 'postgres') return ['run', byPostgres];
  const reference = referenceAnalyzers[stack];
  if (reference === undefined) return ['run', byLucene];
  return ['by its rules', byTerms(reference)];
}

async function normalizedTexts({ records }: AuditCollection): Promise<string[]> {
  const piece = await normalizer.normalize(Buffer.from(records.map(({ text }) => text).join('\n')), 2);
  return piece.text.toString().split('\n');
}

/** What is asked of each collection. */
async function asked(): Promise<Asked[]> {
  const all = [];
  for (const collection of collections) {
    const { records } = collection;
    const texts = [...records.map(({ text }) => text), ...(await normalizedTexts(collection))];
    all.push({ texts, words: [...new Set(records.flatMap((record) => record.words))] });
  }
  return all;
}

/** The share of records of which a word is found only after normalization, by what each word has found. */
function shareOf(
  { records }: AuditCollection,
  words: readonly string[],
  found: readonly Set<number>[],
): number {
  const finds = new Map(words.map((word, at) => [word, found[at]]));
  const gains = records.filter(({ words: own }, at) =>
    own.some((word) => {
      const hits = finds.get(word);
      return hits?.has(at) === false && hits.has(records.length + at);
    }),
  );
  return gains.length / records.length;
}

function headline({ records }: AuditCollection, stack: string): number {
  const { findings } = native.auditRecords(
    records.map(({ text }) => text),
    stack,
    false,
    1,
  );
  assert.ok(findings != null);
  return findings.gains / findings.records;
}

for (const { stack } of stacks) {
  const [how, search] = searchOf(stack);
  const skip =
    how === 'by its rules' || stack === 'custom' ? false : stack === 'postgres' ? postgresSkip : luceneSkip;
  test(`${stack}, ${how}: the headline is what querying gives`, { skip }, async (context) => {
    const rows: string[] = [];
    const wrong: string[] = [];
    const all = await asked();
    const found = await search(all);
    for (const [at, collection] of collections.entries()) {
      const told = headline(collection, stack);
      const real = shareOf(collection, all[at]?.words ?? [], found[at] ?? []);
      rows.push(`${(100 * told).toFixed(1)}/${(100 * real).toFixed(1)}`);
      if (Math.abs(told - real) > 0.01) wrong.push(`${collection.name}: told ${told}, real ${real}`);
    }
    context.diagnostic(`told/real %: ${rows.join(' ')}`);
    assert.deepEqual(wrong, []);
    const of = (kind: AuditCollection['kind']) => collections.filter((each) => each.kind === kind);
    for (const collection of [...of('clean'), ...of('not mended')]) {
      assert.ok(headline(collection, stack) <= 0.01, `${collection.name} is not mended`);
    }
    assert.ok(of('mended').some((collection) => headline(collection, stack) > 0.05));
  });
}
