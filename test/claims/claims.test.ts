/**
 * The claims that the product makes (claims.md): the list has exactly the sentences of README, answers and
 * pages, and every test and record that it names exists.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { privacy } from '../../src/info/privacy.js';
import { storedData } from '../../src/store/retention.js';
import { logs, spaces } from '../../src/store/spaces.js';
import { request } from '../support/serving.js';
import { sentencesOfJson, sentencesOfMarkdown, sentencesOfPage } from './sentences.js';
import { texts } from './texts.js';

/** A claim and what shows it true. */
interface Claim {
  readonly sentence: string;
  readonly proofs: string[];
}

/** The list, by the place where the sentences stand. */
function listed(): ReadonlyMap<string, readonly Claim[]> {
  const places = new Map<string, Claim[]>();
  let claims: Claim[] = [];
  for (const line of readFileSync('test/claims/claims.md', 'utf8').split('\n')) {
    if (line.startsWith('## ')) places.set(line.slice(3), (claims = []));
    else if (line.startsWith('- ')) claims.push({ sentence: line.slice(2), proofs: [] });
    else if (line.startsWith('  - ')) claims.at(-1)?.proofs.push(line.slice(4));
  }
  return places;
}

const list = listed();

/** A text as a regular expression that is that text. */
const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');

describe('the list of claims', () => {
  test('has the sentences of the texts, each once', async () => {
    const found = await texts();
    assert.deepEqual([...list.keys()], [...found.keys()]);
    for (const [place, sentences] of found) {
      const claimed = (list.get(place) ?? []).map(({ sentence }) => sentence);
      const unlisted = sentences.filter((each) => !claimed.includes(each));
      const untold = claimed.filter((each) => !sentences.includes(each));
      assert.deepEqual(unlisted, [], `${place} says what test/claims/claims.md does not list`);
      assert.deepEqual(untold, [], `test/claims/claims.md lists what ${place} does not say`);
      assert.equal(claimed.length, new Set(claimed).size, `${place}: a sentence is listed twice`);
    }
  });

  test('names only tests and records that exist', () => {
    for (const [place, claims] of list) {
      for (const { sentence, proofs } of claims) {
        assert.ok(proofs.length > 0, `${place}: ${sentence}`);
        if (proofs.length === 1 && proofs[0] === 'no claim') continue;
        for (const proof of proofs) {
          const [, file = '', name] = /^`([\w/.-]+)`(?:: "(.+)")?$/.exec(proof) ?? [];
          assert.ok(existsSync(file), `${sentence}: ${proof}`);
          if (name === undefined) assert.match(file, /^bench\/record\//, sentence);
          else assert.match(readFileSync(file, 'utf8'), new RegExp(`test\\(\\s*['\`]${escaped(name)}['\`]`));
        }
      }
    }
  });
});

describe('claims about storing', () => {
  test('the code that answers searches, texts and audits imports no store', () => {
    const folders = ['src/search', 'src/text'].flatMap((folder) =>
      readdirSync(folder).map((file) => `${folder}/${file}`),
    );
    for (const file of [...folders, 'src/pages/audit.ts', 'src/pages/auditReport.ts']) {
      assert.doesNotMatch(readFileSync(file, 'utf8'), /from '\.\.\/store\//, file);
    }
  });

  test('the tables that /privacy names exist in the store', async () => {
    const retained = { clicksRetentionDays: 90, leadsRetentionDays: 0, embedCacheStore: true };
    const { body } = await privacy(storedData(retained))(request({ input: undefined }));
    assert.ok('json' in body);
    const { stored } = body.json as { readonly stored: readonly { readonly where: string }[] };
    const named = stored.flatMap(({ where }) => {
      const [, names = ''] = /[Tt]ables? ([\w, ]+?) of the store/.exec(where) ?? [];
      return names.split(/, | and /).filter((name) => name !== '');
    });
    assert.ok(named.length >= 9, named.join());
    const known = new Set([...Object.keys(spaces), ...Object.keys(logs)]);
    assert.deepEqual(
      named.filter((name) => !known.has(name)),
      [],
    );
  });
});

describe('sentences', () => {
  test('of Markdown leave out code and headings, and a row of a table is one sentence', () => {
    const text = [
      '# Title\n\nOne thing. Two\nthings: Three.\n\n```sh',
      'not this',
      '```\n',
      '| a | b |',
      '| --- | --- |',
    ]
      .concat('| 1 | 2 |')
      .join('\n');
    assert.deepEqual(sentencesOfMarkdown(text), [
      'One thing.',
      'Two things:',
      'Three.',
      '| a | b |',
      '| 1 | 2 |',
    ]);
  });

  test('of pages are what people read in their main part', () => {
    const page =
      '<head><title>no</title></head><main id="main"><h1>Buy</h1>' +
      '<p>It costs 1,000 sat. <b>Now</b> &amp; here.</p>' +
      '<pre>code</pre><p class="value">fg_key</p></main><footer>no</footer>';
    assert.deepEqual(sentencesOfPage(page), ['Buy', 'It costs # sat.', 'Now & here.', '#']);
  });

  test('of answers are their texts of more than two words, without figures', () => {
    assert.deepEqual(sentencesOfJson({ a: ['Not ready.', 'It is 5 % of 7.'], b: { c: 7, d: null } }), [
      'It is # % of #.',
    ]);
  });
});
