/**
 * POST /v1/normalize through its handler and over HTTP: the shared vectors however their bodies are written,
 * the bounds of the contract, and that every change can be undone.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import type { NormalizeRequest, NormalizeResponse } from '../../src/contract/normalize.js';
import { routes } from '../../src/contract/routes.js';
import { servedRoute } from '../../src/http/pipeline.js';
import { native } from '../../src/native/addon.js';
import { LOOP_BODY_LIMIT, LOOP_PLAIN_LIMIT, normalizeHandler } from '../../src/text/normalize.js';
import { examples } from '../support/examples.js';
import { MemoryKeys, shippedTiers, testAccess } from '../support/access.js';
import { startServer } from '../support/http.js';
import { exchange, head, post } from '../support/raw.js';
import { normalizeVectors } from '../vectors/normalize.js';

const handler = normalizeHandler(native);

function requestOf(body: Uint8Array): RouteRequest {
  return {
    ...{ id: 'test', path: {}, query: {}, body, input: undefined, keyed: false, mayAct: true, head: false },
    peer: () => new Uint8Array(4),
    caller: () => new Uint8Array(4),
    header: () => '',
    retain: () => body.slice(),
    hold: () => undefined,
    aborted: () => false,
    signal: () => new AbortController().signal,
  };
}

/** A handler's answer as a client reads it. */
function read({ body }: Answer): unknown {
  if ('json' in body) return JSON.parse(JSON.stringify(body.json));
  const text = typeof body.bytes === 'string' ? body.bytes : new TextDecoder().decode(body.bytes);
  body.release?.();
  return JSON.parse(text);
}

async function answerTo(body: string): Promise<{ status: number; charge: number; value: unknown }> {
  const answer = await handler(requestOf(Buffer.from(body)));
  return { status: answer.status, charge: answer.charge, value: read(answer) };
}

async function normalized(request: NormalizeRequest): Promise<NormalizeResponse> {
  const { status, value } = await answerTo(JSON.stringify(request));
  assert.equal(status, 200, JSON.stringify(value));
  return value as NormalizeResponse;
}

/** Every character of every string as an escape of four hex digits. */
function escaped(request: NormalizeRequest): string {
  const units = (text: string) =>
    Array.from({ length: text.length }, (_, at) => text.charCodeAt(at).toString(16).padStart(4, '0'));
  return JSON.stringify(request).replaceAll(/"((?:[^"\\]|\\.)*)"(\s*:)?/gs, (whole, _, colon?: string) => {
    const text = JSON.parse(colon === undefined ? whole : whole.slice(0, -colon.length)) as string;
    const known = colon !== undefined || ['augment', 'replace', 'repair'].includes(text);
    const written = known
      ? JSON.stringify(text)
      : `"${units(text)
          .map((unit) => `\\u${unit}`)
          .join('')}"`;
    return `${written}${colon ?? ''}`;
  });
}

/** Ways to write a request that mean the same. */
function spellings(request: NormalizeRequest): string[] {
  const plain = JSON.stringify(request);
  return [
    plain,
    JSON.stringify(request, null, '\t'),
    escaped(request),
    plain.replace('"text"', '"t\\u0065xt"'),
    plain.replace('{', '{"text":5,"mode":null,"unknown":[{}],'),
    plain.replace('{', `{"unknown":"${'x'.repeat(LOOP_BODY_LIMIT)}","te\\u0078t":"",`),
    plain.replace('{', `{"unknown":"${'x'.repeat(LOOP_BODY_LIMIT)}",`),
    plain.replace('{', `{"unknown":"${'x'.repeat(LOOP_PLAIN_LIMIT)}",`),
  ];
}

/** The text with a list of changes undone, from the last to the first. */
function undone({ normalized, changes }: NormalizeResponse): string {
  const points = Array.from(normalized);
  let shift = 0;
  const places = changes.map(({ start, end, replacement }) => {
    const length = Array.from(replacement).length;
    const place = { at: start + shift, length };
    shift += length - (end - start);
    return place;
  });
  for (const [number, { original }] of [...changes.entries()].reverse()) {
    const place = places[number];
    assert.ok(place !== undefined);
    points.splice(place.at, place.length, ...Array.from(original));
  }
  return points.join('');
}

function assertSound(answer: NormalizeResponse): void {
  const points = Array.from(answer.text);
  assert.equal(answer.chars, points.length);
  for (const { start, end, original, replacement } of answer.changes) {
    assert.equal(points.slice(start, end).join(''), original);
    assert.notEqual(original, replacement);
  }
  assert.equal(answer.changed, answer.changes.length > 0);
  assert.equal(undone(answer), answer.text);
  const counted = Object.values(answer.stats).reduce((sum, count) => sum + count, 0);
  assert.equal(counted, answer.changes.length);
}

describe('the vectors', () => {
  test('give the recorded results, however the body is written', async () => {
    for (const { row, request, normalized: expected, kinds } of normalizeVectors()) {
      const answer = await normalized(request);
      assert.equal(answer.normalized, expected, row);
      assert.deepEqual(answer.stats, kinds, row);
      assertSound(answer);
      for (const body of spellings(request)) assert.deepEqual((await answerTo(body)).value, answer, body);
    }
  });

  test('cover every kind of change', () => {
    const kinds = new Set(normalizeVectors().flatMap(({ kinds }) => Object.keys(kinds)));
    const all = [
      ...['mojibake', 'compatibility', 'super_subscript', 'fraction', 'enclosed', 'composition', 'invisible'],
      ...['space', 'quote', 'dash', 'control', 'confusable', 'emoji', 'symbol', 'gloss'],
    ];
    assert.deepEqual([...kinds].sort(), all.sort());
  });
});

describe('a long text is answered', () => {
  const word = 'plain "words" of\t7-bit ASCII\n';
  const text = word.repeat(Math.floor(90_000 / word.length));
  const answerFor = (request: NormalizeRequest) => handler(requestOf(Buffer.from(JSON.stringify(request))));

  test('at once if it is plain', () => {
    for (const mode of ['augment', 'replace', 'repair'] as const) {
      const answer = answerFor({ text, mode });
      assert.ok(!(answer instanceof Promise), mode);
      assert.deepEqual([answer.status, answer.charge], [200, text.length]);
      const { normalized, changed, mode: told } = read(answer) as NormalizeResponse;
      assert.deepEqual({ normalized, changed, told }, { normalized: text, changed: false, told: mode });
    }
  });

  test('by the thread pool if there is something to do', async () => {
    const requests: NormalizeRequest[] = [
      ...['\u00e9', '\r', '\u007f'].map((odd) => ({ text: `${text}${odd}` })),
      { text, include_skeleton: true },
      { text, chinese_glosses: { '7-bit': 'seven bits' } },
      { text: 'short', chinese_glosses: { [word]: text } },
    ];
    for (const request of requests) {
      const answer = answerFor(request);
      assert.ok(answer instanceof Promise, JSON.stringify(request).slice(-60));
      assert.equal((await answer).status, 200);
      read(await answer);
    }
  });

  test('by the thread pool if its body is longer than the loop takes', async () => {
    const padding = (length: number) => Buffer.from(JSON.stringify({ text }).padEnd(length, ' '));
    assert.ok(!(handler(requestOf(padding(LOOP_PLAIN_LIMIT))) instanceof Promise));
    const answer = handler(requestOf(padding(LOOP_PLAIN_LIMIT + 1)));
    assert.ok(answer instanceof Promise);
    assert.equal((read(await answer) as NormalizeResponse).normalized, text);
  });

  test('with what is wrong if it is invalid', async () => {
    const answer = answerFor({ text, mode: 'mend' as 'repair' });
    assert.equal((await answer).status, 422);
  });
});

test('any text in any mode: positions are right, changes undone, a second repair finds nothing', async () => {
  const mode = fc.constantFrom('augment' as const, 'replace' as const, 'repair' as const);
  const word = fc.string({ unit: 'binary', maxLength: 6 });
  const request = fc.record(
    {
      text: fc.string({ unit: 'binary', maxLength: 40 }),
      mode,
      contextual: fc.boolean(),
      chinese_glosses: fc.option(fc.dictionary(word, word, { maxKeys: 3 })),
      include_skeleton: fc.boolean(),
    },
    { requiredKeys: ['text'] },
  );
  await fc.assert(
    fc.asyncProperty(request, async (given) => {
      const answer = await normalized(given);
      assertSound(answer);
      assert.equal('skeleton' in answer, given.include_skeleton === true);
      const { contextual = true } = given;
      const again = await normalized({ text: answer.normalized, mode: 'repair', contextual });
      assert.equal(again.normalized, answer.normalized);
    }),
    { numRuns: 500 },
  );
});

describe('fields', () => {
  test('max_changes cuts the list and nothing else', async () => {
    const text = '“a” '.repeat(600);
    const all = await normalized({ text, max_changes: 5000 });
    assert.equal(all.changes.length, 1200);
    assert.ok(!('changes_truncated' in all));
    for (const [most, listed] of [
      [undefined, 1000],
      [3, 3],
      [0, 0],
    ] as const) {
      const cut = await normalized({ text, ...(most === undefined ? {} : { max_changes: most }) });
      assert.equal(cut.changes_truncated, true);
      assert.deepEqual(
        { ...cut, changes_truncated: true },
        {
          ...all,
          changes: all.changes.slice(0, listed),
          changes_truncated: true,
        },
      );
    }
  });

  test('skeletons are equal for texts that may be confused', async () => {
    const skeleton = async (text: string) => (await normalized({ text, include_skeleton: true })).skeleton;
    assert.equal(await skeleton('pаypal'), await skeleton('paypal'));
    assert.notEqual(await skeleton('paypa'), await skeleton('paypal'));
  });

  test('versions are those that /version tells', async () => {
    const { data_versions: versions } = await normalized({ text: '' });
    assert.equal(versions.unicode, native.unicodeVersion());
    assert.match(versions.cldr, /^\d+\.\d+\.\d+$/);
  });

  test('what is wrong is named', async () => {
    const cases: readonly (readonly [string, string, readonly unknown[]])[] = [
      ['{}', 'missing', ['body', 'text']],
      ['{"text":5}', 'string_type', ['body', 'text']],
      ['{"text":"a","mode":"translate"}', 'literal_error', ['body', 'mode']],
      ['{"text":"a","mode":null}', 'literal_error', ['body', 'mode']],
      ['{"text":"a","contextual":1}', 'bool_type', ['body', 'contextual']],
      ['{"text":"a","chinese_glosses":{"b":1}}', 'string_type', ['body', 'chinese_glosses', 'b']],
      ['{"text":"a","chinese_glosses":[]}', 'dict_type', ['body', 'chinese_glosses']],
      ['{"text":"a","max_changes":-1}', 'greater_than_equal', ['body', 'max_changes']],
      ['{"text":"a","max_changes":1.5}', 'int_type', ['body', 'max_changes']],
      ['{"text":"\\ud800"}', 'json_invalid', ['body', 9]],
      ['', 'missing', ['body']],
    ];
    for (const [body, type, loc] of cases) {
      const { status, value, charge } = await answerTo(body);
      const { detail } = value as { detail: { type: string; loc: unknown[] }[] };
      assert.deepEqual([status, detail[0]?.type, detail[0]?.loc, charge], [422, type, loc, 0], body);
    }
    assert.equal((await answerTo('{"text":"a","chinese_glosses":null,"max_changes":5.0}')).status, 200);
  });

  test('glosses that make a text too long are refused, however short the body is', async () => {
    const glossed = (text: number, glosses: Record<string, string>) =>
      answerTo(JSON.stringify({ text: 'a'.repeat(text), chinese_glosses: glosses, max_changes: 0 }));
    const refused: readonly (readonly [number, Record<string, string>, string])[] = [
      [100_000, { a: 'b'.repeat(1_000_000) }, 'or than 8388608 bytes'],
      [15_000, { a: 'b'.repeat(15_000) }, 'longer than 32 times its bytes'],
      [2_000, { a: 'b'.repeat(4_000) }, 'longer than 32 times its bytes and 65536 more'],
      [100_000, { a: 'b', [`${'a'.repeat(30_000)}b`]: 'c' }, 'more than 8 steps a byte'],
    ];
    for (const [text, glosses, sentence] of refused) {
      const { status, value, charge } = await glossed(text, glosses);
      const { detail } = value as { detail: { type: string; loc: unknown[]; msg: string }[] };
      assert.deepEqual([status, charge, detail.length], [422, 0, 1]);
      assert.deepEqual([detail[0]?.type, detail[0]?.loc], ['value_error', ['body', 'chinese_glosses']]);
      assert.ok(detail[0]?.msg.includes(sentence));
    }
    const long = await glossed(90_000, { a: 'b'.repeat(25) });
    assert.deepEqual([long.status, long.charge], [200, 90_000]);
    const { normalized: text } = long.value as NormalizeResponse;
    assert.ok(text.length > 2_600_000 && text.startsWith('a (bb') && text.endsWith('bb)'));
    assert.equal((await glossed(3, { a: 'b' })).status, 200);
  });

  test('a text that glosses make long is not processed on the event loop', async () => {
    const body = (glosses: object) => Buffer.from(JSON.stringify({ text: 'a'.repeat(8_000), ...glosses }));
    const short = handler(requestOf(body({ chinese_glosses: { b: 'c' } })));
    assert.ok(!(short instanceof Promise));
    const long = handler(requestOf(body({ chinese_glosses: { a: 'long gloss' } })));
    assert.ok(long instanceof Promise);
    assert.equal((await long).status, 200);
  });

  test('100,000 code points pass, one more does not, however they are written', async () => {
    const most = '😀'.repeat(100_000);
    for (const write of [JSON.stringify, (text: string) => `"${'\\uD83D\\uDE00'.repeat(text.length / 2)}"`]) {
      const passed = await answerTo(`{"mode":"repair","text":${write(most)}}`);
      assert.deepEqual([passed.status, passed.charge], [200, 100_000]);
      const refused = await answerTo(`{"mode":"repair","text":${write(`${most}😀`)}}`);
      const { detail } = refused.value as { detail: { type: string }[] };
      assert.deepEqual([refused.status, detail[0]?.type, refused.charge], [422, 'string_too_long', 0]);
    }
  });
});

describe('over HTTP', () => {
  const { path } = routes.normalize;
  const parts = (characters: number, keys = new MemoryKeys()) => {
    const anonymous = { requests_per_minute: 0, characters_per_month: characters };
    return {
      ...native,
      access: testAccess({ keys, tiers: { ...shippedTiers(), anonymous } }),
    };
  };
  const serve = async (characters = 0, keys = new MemoryKeys()): Promise<number> => {
    const served = servedRoute({ ...routes.normalize, id: 'normalize' }, handler, parts(characters, keys));
    return (await startServer({ routes: [served] })).port;
  };

  test('the example is what the server answers', async () => {
    const port = await serve();
    const { request, response } = examples.normalize;
    const answer = await exchange(port, post(path, JSON.stringify(request.body)));
    assert.equal(answer.status, 200);
    assert.deepEqual(JSON.parse(answer.body.toString()), response.body);
    assert.ok(answer.headers.has('server-timing'));
  });

  test('code points of the text are charged, on 200 only', async () => {
    const port = await serve(4);
    assert.equal((await exchange(port, post(path, '{"text":"aaaaaaaaa","mode":"x"}'))).status, 422);
    assert.equal((await exchange(port, post(path, '{"text":"😀b","mode":"replace"}'))).status, 200);
    assert.equal((await exchange(port, post(path, '{"text":"\\u00e9b"}'))).status, 200);
    assert.equal((await exchange(port, post(path, '{"text":"a"}'))).status, 429);
  });

  test('keys, lengths and media types are checked by the head', async () => {
    const keys = new MemoryKeys();
    const { key } = keys.issue();
    const port = await serve(0, keys);
    const status = async (request: string | Uint8Array) => (await exchange(port, request)).status;
    assert.equal(await status(post(path, '{"text":"a"}', { 'X-API-Key': key })), 200);
    assert.equal(await status(post(path, '{"text":"a"}', { 'X-API-Key': 'fg_x' })), 401);
    assert.equal(await status(post(path, '{"text":"a"}', { 'Content-Type': 'text/plain' })), 422);
    assert.equal(await status(head('POST', path, { 'Content-Length': String((2 << 20) + 1) })), 413);
  });

  test('a large answer comes whole', async () => {
    const port = await serve();
    const text = '“é” ①👍 '.repeat(12_000);
    const body = JSON.stringify({ text, max_changes: 100_000 });
    const answer = await exchange(port, post(path, body));
    assertSound(JSON.parse(answer.body.toString()) as NormalizeResponse);
  });
});
