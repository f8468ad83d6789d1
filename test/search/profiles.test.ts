/**
 * `profile` of POST /v1/fuse: a request with one gets the bytes of the same request with the settings written
 * out in it, or the same errors.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { profileMembers, type ProfileSettings } from '../../src/contract/profiles.js';
import { native } from '../../src/native/addon.js';
import { ownerIn } from '../../src/search/corpora.js';
import { openEmbedMode } from '../../src/search/embedMode.js';
import { LOOP_BODY_LIMIT, fuseHandler } from '../../src/search/fuse.js';
import { draws } from '../support/length.js';
import { plainStyle, style, writeBody } from '../support/bodies.js';
import { requestWith, slowEmbedder } from '../support/embedding.js';
import { fuseRequest } from './requests.js';

const corpora = new native.Corpora(Buffer.from('0123456789abcdef'));
const profiles = new native.Profiles();
const embedMode = openEmbedMode({
  ...{ ...native, corpora, profiles, embedder: slowEmbedder },
  ...{ fallback: 'static-256', cacheFile: null },
});
const ownerOf = ownerIn([corpora, profiles], (key) => Buffer.from(key.repeat(4)));
const handler = fuseHandler({ ...native, embedMode, ownerOf });

/** Status and text of the answer to a request. */
function answerTo(request: object, key = ''): Promise<[status: number, text: string]> {
  return answerToBody(writeBody(request, plainStyle), key);
}

async function answerToBody(bytes: Uint8Array, key = ''): Promise<[status: number, text: string]> {
  const { status, body } = await handler(requestWith(bytes, key));
  const text =
    'json' in body
      ? JSON.stringify(body.json)
      : typeof body.bytes === 'string'
        ? body.bytes
        : Buffer.from(body.bytes).toString();
  if ('release' in body) body.release();
  return [status, text];
}

/** What a drawn request and its profile have in common; most of them go together. */
interface Drawn {
  /** Docs bring scores of a leg. */
  readonly clicks: boolean;
  /** Docs bring numbers for a boost. */
  readonly aged: boolean;
  /** Every doc has a dense score. */
  readonly dense: boolean;
  /** Values that are refused are drawn, too. */
  readonly wrong: boolean;
}

const seldom = fc.constantFrom(true, false, false, false);

const leg = fc.record(
  {
    weight: fc.constantFrom(1, 0.3, 2.5),
    normalize: fc.constantFrom('max', 'minmax', 'zscore', 'log1p', 'rank', 'none'),
  },
  { requiredKeys: [], noNullPrototype: true },
);

/** Members that the usual requests do not draw. */
function furtherOf({ clicks, aged, wrong }: Drawn) {
  const some = <Value>(fit: readonly Value[], unfit: readonly Value[]) =>
    fc.constantFrom(...fit, ...(wrong ? unfit : []));
  return fc.record(
    {
      analyzer: some<unknown>(
        ['plain', 'english', { stemmer: 'german', fold_accents: true }, { stopwords: ['fox', 'a "the" b'] }],
        ['klingon'],
      ),
      corpus: some<object>(
        [{ docs: 9, average_length: 3, df: { fox: 2 } }, { name: 'shop' }],
        [{ name: 'none' }, { name: 'sh"op\n' }],
      ),
      on_missing_dense: some(['embed', 'zero', 'min'], ['error']),
      dense_kind: fc.constantFrom('similarity', 'distance'),
      min_score: fc.constantFrom(-1, 0, 0.4),
      legs: fc
        .record(
          { bm25: leg, dense: leg, ...(clicks ? { clicks: leg } : {}) },
          { requiredKeys: clicks ? ['clicks'] : [], noNullPrototype: true },
        )
        .filter((legs) => Object.keys(legs).length > 0),
      boosts: fc.constant(aged ? [{ value: 'age', origin: 0, scale: 3 }] : []),
      collapse: some<object>([{ by: 'text' }, { by: 'text', keep: 2 }], [{ by: 'group' }]),
      diversify: some<object>([{ diversity: 0.4 }], [{ diversity: 0.5, by: 'vectors' }]),
      embed_model: some(['static-256', 'slow'], ['none']),
      entity_map: fc.constantFrom({ fox: 'wolf', '\u{1F600}': 'grin' }, null),
    },
    { requiredKeys: [], noNullPrototype: true },
  );
}

/** A request, whose docs bring what was drawn. */
function requestOf(drawn: Drawn) {
  return fc.tuple(fuseRequest, furtherOf(drawn)).map(([usual, further]) => {
    const { tokenizer, weights, ...rest } = usual;
    return {
      ...rest,
      ...(further.analyzer === undefined && tokenizer !== undefined ? { tokenizer } : {}),
      ...(further.legs === undefined && weights !== undefined ? { weights } : {}),
      ...further,
      docs: usual.docs.map(({ dense_score: score, ...doc }, at) => ({
        ...doc,
        ...(drawn.dense || at > 0 ? { dense_score: Math.min(2, Math.abs(score)) } : {}),
        ...(drawn.clicks ? { scores: { clicks: at } } : {}),
        ...(drawn.aged ? { values: { age: at } } : {}),
      })),
    };
  });
}

/** A request and a profile's settings, which are members of another. */
const asked = fc
  .record({ clicks: seldom, aged: seldom, dense: fc.boolean(), wrong: seldom })
  .chain((drawn) => fc.tuple(requestOf(drawn), requestOf({ ...drawn, wrong: false })))
  .map(([own, other]) => {
    const all: Readonly<Record<string, unknown>> = other;
    const kept = profileMembers.filter((name) => Object.hasOwn(all, name));
    return [own, Object.fromEntries(kept.map((name) => [name, all[name]]))] as const;
  });

/** The settings that a request does not have itself, by the obvious rule. */
function lacking(own: object, given: ProfileSettings): ProfileSettings {
  const isWeighted = Object.hasOwn(own, 'weights') || Object.hasOwn(own, 'legs');
  const isTaken = (name: string): boolean =>
    Object.hasOwn(own, name) || (isWeighted && (name === 'weights' || name === 'legs'));
  return Object.fromEntries(Object.entries(given).filter(([name]) => !isTaken(name)));
}

/** A body with members written before its own. */
function withMembers(body: Uint8Array, members: object): Buffer {
  const written = JSON.stringify(members).slice(1, -1);
  const text = Buffer.from(body).toString();
  return Buffer.from(written === '' ? text : text.replace('{', () => `{${written},`));
}

/** Faults without what they repeat of the request. */
function faultsOf(text: string): unknown {
  const { detail } = JSON.parse(text) as { readonly detail: unknown };
  if (!Array.isArray(detail)) return detail;
  return (detail as { loc: unknown; msg: unknown }[]).map(({ loc, msg }) => ({ loc, msg }));
}

let version = 0;

/** Puts settings as the next version of a name; false where they are refused. */
function put(name: string, given: object): boolean {
  version += 1;
  return profiles.add(name, version, JSON.stringify(given));
}

test('a request by a profile gets the same bytes as one with the settings written out', async () => {
  const statistics = { docs: 50, average_length: 2, df: { fox: 5, red: 40 } };
  const { bytes } = await native.freezeCorpus(
    Buffer.from(JSON.stringify(statistics)),
    Buffer.from('0123456789abcdef'),
  );
  await corpora.add('shop', 1, bytes);
  const seen = { answered: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(asked, style, async ([own, given], how) => {
      assert.ok(put('shop', given), JSON.stringify(given));
      const echo = `,"profile":{"name":"shop","version":${version}}`;
      const body = writeBody(own, how);
      const [status, text] = await answerToBody(withMembers(body, { profile: 'shop' }));
      const [expected, plain] = await answerToBody(withMembers(body, lacking(own, given)));
      assert.equal(status, expected, text);
      if (status === 200) {
        seen.answered += 1;
        assert.equal(text.split(echo).length, 2, text);
        assert.equal(text.replace(echo, ''), plain);
      } else {
        seen.refused += 1;
        const [alone, faults] = await answerToBody(body);
        // What is wrong with a request by itself may be all that is said.
        const isSaid = alone === status && isDeepStrictEqual(faultsOf(text), faultsOf(faults));
        if (!isSaid) assert.deepEqual(faultsOf(text), faultsOf(plain));
      }
    }),
    { seed: 20_261_123, numRuns: draws(4_000) },
  );
  assert.ok(seen.answered > draws(400) && seen.refused > draws(400), JSON.stringify(seen));
});

test('the same holds if the body is answered by a thread or waits for a model', async () => {
  // Of half the length, the body is read on the event loop, and answered by a thread.
  const [half, long] = [16, 8].map((part) => 'red fox '.repeat(LOOP_BODY_LIMIT / part));
  const texts = ['a red fox', 'wolves', long];
  for (const docs of [texts.slice(0, 2), ['a red fox', half], texts].map((some) =>
    some.map((text, at) => ({ id: `${at}`, text })),
  )) {
    for (const model of ['static-256', 'slow']) {
      const given = { embed_model: model, entity_map: { fox: 'wolf' }, corpus: { name: 'shop' }, k1: 2 };
      assert.ok(put('waiting', given));
      const own = { query: 'fox', docs, return_text: false };
      const [status, text] = await answerTo({ ...own, profile: { name: 'waiting' } });
      const [, plain] = await answerTo({ ...own, ...given });
      assert.equal(status, 200, text);
      assert.equal(text.replace(/,"profile":\{[^}]*\}/, ''), plain);
    }
  }
  assert.ok(put('waiting', { embed_model: 'none' }));
  const [status, text] = await answerTo({
    query: 'fox',
    docs: texts.map((each, at) => ({ id: `${at}`, text: each })),
    profile: 'waiting',
  });
  assert.equal(status, 422);
  assert.match(text, /"loc":\["body","embed_model"\].*is not installed/);
});

const docs = [{ id: 'a', text: 'fox', dense_score: 0.5 }];

test('a version that is pinned stays, and the newest is what others get', async () => {
  const told = async (profile: unknown, key = ''): Promise<string> => {
    const [status, text] = await answerTo({ query: 'fox', docs, profile }, key);
    const { results, profile: used } = JSON.parse(text) as { results?: unknown[]; profile?: unknown };
    return status === 200 ? `${results?.length} ${JSON.stringify(used)}` : JSON.stringify(faultsOf(text));
  };
  profiles.remove('pinned');
  assert.ok(profiles.add('pinned', 3, '{"min_score":9}') && profiles.add('pinned', 5, '{}'));
  assert.equal(await told({ name: 'pinned', version: 3 }), '0 {"name":"pinned","version":3}');
  assert.equal(await told('pinned'), '1 {"name":"pinned","version":5}');
  assert.match(await told({ name: 'pinned', version: 4 }), /"body","profile","version".*no such version/);
  assert.match(await told('nobody'), /"body","profile"\].*no profile has this name; known: .*pinned/);
  // A key's own profile hides everybody's, and is nobody else's.
  const owner = Buffer.from('ada-'.repeat(4)).toString('hex');
  assert.ok(profiles.add(`${owner}/pinned`, 1, '{"min_score":9}'));
  assert.ok(profiles.add(`${owner}/own`, 1, '{}'));
  assert.equal(await told('pinned', 'ada-'), '0 {"name":"pinned","version":1}');
  assert.equal(await told('own', 'ada-'), '1 {"name":"own","version":1}');
  assert.equal(await told('pinned', 'bob-'), '1 {"name":"pinned","version":5}');
  assert.match(await told('own', 'bob-'), /no profile has this name/);
  assert.doesNotMatch(await told('nobody', 'bob-'), /\bown\b/);
  assert.match(await told('nobody', 'ada-'), /\bown\b/);
  profiles.remove('pinned');
  assert.match(await told('pinned'), /no profile has this name/);
});

test('the settings of a profile lend a request none of their bytes', async () => {
  const given = { entity_map: { a: 'fox '.repeat(100) }, min_score: -1 };
  const long = { ...given, entity_map: { ...given.entity_map, unused: 'x'.repeat(30_000) } };
  assert.ok(put('grown', given) && put('lent', long));
  for (const [count, status] of [
    [30, 200],
    [60, 422],
  ] as const) {
    const own = { query: 'b', docs: [{ id: 'a', text: 'a'.repeat(count) }] };
    for (const profile of ['grown', 'lent']) {
      const [told, text] = await answerTo({ ...own, profile });
      assert.equal(told, status, text);
      if (status === 422) assert.match(text, /twice the body and 16384 bytes/);
    }
  }
});

test('a profile that is not a name is refused like other wrong members', async () => {
  for (const profile of [7, null, [], {}, { version: 1 }, { name: 7 }, { name: 'shop', version: 0 }]) {
    const [status, text] = await answerTo({ query: 'fox', docs, profile });
    assert.equal(status, 422, JSON.stringify(profile));
    assert.match(text, /"loc":\["body","profile"/);
  }
});
