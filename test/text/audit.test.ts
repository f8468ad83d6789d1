/**
 * POST /v1/audit through its handler and over HTTP: what is found, what is refused and at which place, the
 * bounds of the contract, and what the report promises.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  auditFormats,
  auditIssues,
  type AuditResponse,
  type AuditStacksResponse,
  type FreeAuditRequest,
} from '../../src/contract/audit.js';
import type { Answer } from '../../src/contract/exchange.js';
import { routes } from '../../src/contract/routes.js';
import type { HTTPValidationError } from '../../src/contract/schema/validation.js';
import { servedRoute } from '../../src/http/pipeline.js';
import { native } from '../../src/native/addon.js';
import { audit, auditStacks } from '../../src/pages/audit.js';
import { answerAudit } from '../../src/text/auditAnswer.js';
import { auditOffLoop } from '../../src/text/auditOffLoop.js';
import { wilson } from '../../src/text/wilson.js';
import { examples } from '../support/examples.js';
import { testAccess } from '../support/access.js';
import { startServer } from '../support/http.js';
import { exchange, head, post } from '../support/raw.js';
import { request as routeRequest } from '../support/serving.js';
import { until } from '../support/until.js';

const wallMs = Date.UTC(2026, 10, 21);
const handler = audit({ ...native, clock: { wallMs: () => wallMs }, auditOffLoop: auditOffLoop(native, 2) });

function valueOf({ body }: Answer): unknown {
  assert.ok('json' in body);
  return JSON.parse(JSON.stringify(body.json));
}

async function send(body: Uint8Array): Promise<Answer> {
  return handler({ ...routeRequest({ input: undefined }), body, retain: () => body.slice() });
}

async function audited(request: FreeAuditRequest): Promise<AuditResponse> {
  const answer = await send(Buffer.from(JSON.stringify({ include_html: false, ...request })));
  assert.equal(answer.status, 200, JSON.stringify(valueOf(answer)));
  assert.equal(answer.charge, 0);
  return valueOf(answer) as AuditResponse;
}

async function refused(request: object): Promise<HTTPValidationError> {
  const answer = await send(Buffer.from(JSON.stringify(request)));
  assert.equal(answer.status, 422);
  return valueOf(answer) as HTTPValidationError;
}

/** How often each issue was found, those that were not left out. */
function counts({ issues }: AuditResponse): Record<string, number> {
  return Object.fromEntries(
    issues.filter(({ count }) => count > 0).map(({ issue, count }) => [issue, count]),
  );
}

test('the server’s answer is the documented example', async () => {
  const { request, response } = examples.audit;
  assert.deepEqual(await audited(request.body as FreeAuditRequest), response.body);
  assert.deepEqual(
    valueOf(await auditStacks(routeRequest({ input: undefined }))),
    examples.auditStacks.response.body,
  );
});

test('large bodies, which go to the thread, get the same answer as small ones', async () => {
  const records = ['CafÃ©', 'I ❤️ it', 'plain'];
  const small = await audited({ records, include_text: true });
  const padded = JSON.stringify({ include_html: false, records, include_text: true }) + ' '.repeat(100_000);
  assert.deepEqual(valueOf(await send(Buffer.from(padded))), small);
  assert.equal(small.text, 'Café\nI ❤️ (red heart) it\nplain');
  assert.deepEqual(small.texts, ['Café', 'I ❤️ (red heart) it', 'plain']);
  const invalid = Buffer.from(`{"records": 5}${' '.repeat(100_000)}`);
  assert.equal((await send(invalid)).status, 422);
});

test('a long text is sent as the bytes that the native module wrote, the same JSON', async () => {
  const record = 'CafÃ© "\\ \b\f\n\r\t\u0001 ❤️ é漢😀';
  const records = Array.from({ length: 500 }, (_, at) => record.repeat(10) + String(at));
  const request = { include_html: false, records, include_text: true };
  const { body } = await send(Buffer.from(JSON.stringify(request)));
  assert.ok('bytes' in body && typeof body.bytes !== 'string');
  const written = Buffer.from(body.bytes).toString();
  const small = answerAudit(Buffer.from(JSON.stringify(request)), native, 1);
  assert.ok('report' in small);
  assert.equal(written, JSON.stringify(small.report));
});

test('texts keeps records apart where text cannot', async () => {
  const records = ['two\nlines \\n', '', 'x\\', 'ends\n', '"\u0001\u2028'];
  const request = { include_html: false, records, include_text: true };
  const long = { ...request, records: [...records, ...Array<string>(5).fill('long '.repeat(3_000))] };
  for (const asked of [request, long]) {
    const { body } = await send(Buffer.from(JSON.stringify(asked)));
    const { texts, text } = (
      'json' in body ? body.json : JSON.parse(Buffer.from(body.bytes as Uint8Array).toString())
    ) as AuditResponse;
    assert.ok(texts !== null);
    assert.deepEqual(texts.slice(0, 4), records.slice(0, 4));
    assert.equal(texts.length, asked.records.length);
    assert.equal(text, texts.map((each) => each.replaceAll('\n', ' ')).join('\n'));
  }
  const { texts, text } = await audited({ records });
  assert.deepEqual([texts, text], [null, null]);
});

test('one audit runs at a time, so many wait, and a closed connection takes its own away', async () => {
  const parked: (() => void)[] = [];
  const auditBody: typeof native.auditBody = async (...given) => {
    await new Promise<void>((resolve) => parked.push(resolve));
    return native.auditBody(...given);
  };
  const inTurn = auditOffLoop({ ...native, auditBody }, 1);
  const body = Buffer.from(`{"records":["a"]}${' '.repeat(5_000)}`);
  const closing = new AbortController();
  const first = inTurn(body, new AbortController().signal);
  const gone = inTurn(body, closing.signal);
  const waiting = Array.from({ length: 15 }, () => inTurn(body, new AbortController().signal));
  assert.equal(await inTurn(body, new AbortController().signal), 'busy');
  closing.abort();
  assert.equal(await gone, 'busy');
  const last = inTurn(body, new AbortController().signal);
  const all = [first, ...waiting, last];
  for (const each of all) {
    await until(() => parked.length !== 0);
    assert.equal(parked.length, 1);
    parked.shift()?.();
    assert.ok('report' in Object(await each));
  }
});

test('every format is read, detected or named', async () => {
  const texts: Record<string, string> = {
    csv: 'id,name\n1,"CafÃ©, crème"\n2,plain\n',
    jsonl: '{"name":"CafÃ©, crème"}\n"plain"\n',
    json: '[{"name":"CafÃ©, crème"}, "plain"]',
    lines: 'CafÃ©, crème\n\nplain',
  };
  for (const format of auditFormats.filter((each) => each !== 'auto')) {
    for (const named of [format, 'auto'] as const) {
      for (const mark of ['', '\uFEFF']) {
        const found = await audited({ text: `${mark}${texts[format] ?? ''}`, format: named });
        assert.deepEqual([found.records, counts(found)], [2, { mojibake: 1 }], `${format}, ${named}`);
        const reading = found.assumptions.find((each) => each.startsWith('The text was read as'));
        assert.ok(reading?.toLowerCase().includes(format === 'jsonl' ? 'json lines' : format), reading);
      }
    }
  }
});

describe('what does not fit its format', () => {
  const cases: [FreeAuditRequest['format'], string, RegExp][] = [
    ['csv', 'a,b\n1,2\n3\n', /the row on line 3 has 1 fields, the header has 2/],
    ['csv', 'a,b\n"1,2\n3,4', /quoted field of the row on line 2 is not closed/],
    ['csv', 'Some prose, with a comma.\nAnd more.\n', /not CSV/],
    ['json', '["a", ', /not JSON at byte 6/],
    ['json', '[1]', /record 1 is neither text nor/],
    ['jsonl', '"a"\nb\n', /line 2 is not a JSON value/],
  ];
  for (const [format, text, said] of cases) {
    test(`${format ?? ''}: ${JSON.stringify(text)}`, async () => {
      const { detail } = await refused({ text, format });
      assert.deepEqual(
        detail?.map(({ loc, type }) => [loc, type]),
        [[['body', 'text'], 'value_error']],
      );
      assert.match(JSON.stringify(detail), said);
    });
  }
});

test('a request without records and text is refused; of both, the records count', async () => {
  const { detail } = await refused({});
  assert.deepEqual(
    detail?.map(({ type }) => type),
    ['value_error'],
  );
  assert.equal((await audited({ records: ['a', 'b'], text: 'x' })).records, 2);
  for (const request of [{ records: [] }, { text: '' }, { text: '\n\n' }]) {
    const { records, headline, roi } = await audited({ ...request, monthly_queries: 5 });
    assert.deepEqual([records, headline.share, headline.low, headline.high, roi], [0, 0, 0, 1, null]);
    assert.equal(headline.sentence, 'There were no records to audit.');
  }
});

test('empty records, a single record, and records of only control characters', async () => {
  const empty = await audited({ records: Array.from({ length: 500 }, () => '') });
  assert.deepEqual(counts(empty), { empty: 500, exact_duplicates: 499 });
  assert.match(empty.headline.sentence, /^No gain: .* none of the 500 records/);
  const one = async (record: string, surface: 'records' | 'queries' = 'records') =>
    (await audited({ records: [record], surface })).headline.sentence;
  assert.match(await one('a'), /^No gain: normalization makes no word of the one record findable \(95 % /);
  assert.match(await one('cafÃ©', 'queries'), /^The one query \(95 % .*\) holds words .* match\.$/);
  assert.match(await one('a ❤️'), /^The one record .* Only the names of emoji and symbols come in\.$/);
  const controls = await audited({ records: ['\u0000\u0001', '\u0007', '\u001b[0m'] });
  assert.deepEqual(counts(controls), { control_characters: 3, empty: 2, normalized_duplicates: 1 });
});

/** A request at a bound, and one beyond it with what it is told. */
const bounds: [string, unknown, unknown, string][] = [
  ['text', '\u{1F600}'.repeat(100_000), 'x'.repeat(100_001), 'string_too_long'],
  ['records', Array.from({ length: 500 }, () => 'x'), Array.from({ length: 501 }, () => 'x'), 'too_long'],
  ['company', 'x'.repeat(200), 'x'.repeat(201), 'string_too_long'],
  ['stack', 'x'.repeat(80), 'x'.repeat(81), 'string_too_long'],
  ['vertical', 'x'.repeat(80), 'x'.repeat(81), 'string_too_long'],
  ['corpus_records_total', 1e10, 1e10 + 1, 'less_than_equal'],
  ['corpus_records_total', 0, -1, 'greater_than_equal'],
  ['monthly_queries', 1e10, 1e10 + 1, 'less_than_equal'],
  ['monthly_queries', 5, 5.5, 'int_type'],
  ['months_running', 600, 600.01, 'less_than_equal'],
  ['aov_usd', 1e6, 1e6 + 0.01, 'less_than_equal'],
  ['ticket_cost_usd', 1e5, 1e5 + 0.01, 'less_than_equal'],
  ['ticket_cost_usd', 0, -0.01, 'greater_than_equal'],
  ['format', 'lines', 'xml', 'literal_error'],
  ['use_case', 'rag', 'other', 'literal_error'],
  ['surface', 'queries', 'other', 'literal_error'],
];

for (const [field, within, beyond, type] of bounds) {
  test(`${field} at and beyond its bound (${type})`, async () => {
    const rest = field === 'text' ? {} : { records: ['x'] };
    await audited({ ...rest, [field]: within });
    const { detail } = await refused({ ...rest, [field]: beyond });
    assert.deepEqual(
      detail?.map((error) => [error.loc, error.type]),
      [[['body', field], type]],
    );
  });
}

test('a record at and beyond its bound, and a property that is not declared', async () => {
  await audited({ records: ['\u{1F600}'.repeat(20_000)] });
  const long = await refused({ records: ['a', 'x'.repeat(20_001)] });
  assert.deepEqual(
    long.detail?.map(({ loc, type }) => [loc, type]),
    [[['body', 'records', 1], 'string_too_long']],
  );
  const unknown = await refused({ records: ['a'], more: 1 });
  assert.deepEqual(
    unknown.detail?.map(({ loc, type }) => [loc, type]),
    [[['body', 'more'], 'extra_forbidden']],
  );
});

test('Wilson intervals', () => {
  const near = (actual: number, expected: number): void => assert.ok(Math.abs(actual - expected) < 1e-7);
  const cases: [number, number, number, number][] = [
    [0, 10, 0, 0.2775327998628892],
    [10, 10, 0.7224672001371107, 1],
    [1, 4, 0.04558726080970055, 0.6993581574175981],
    [50, 100, 0.4038315303659956, 0.5961684696340044],
  ];
  for (const [count, of, low, high] of cases) {
    const found = wilson(count, of);
    near(found.low, low);
    near(found.high, high);
    // The ends of the interval are where the score test just does not reject (Wilson's definition).
    for (const end of [found.low, found.high].filter((each) => each > 0 && each < 1)) {
      near(Math.abs(count / of - end) / Math.sqrt((end * (1 - end)) / of), 1.959963984540054);
    }
  }
});

test('unknown stacks and verticals count as custom, and the answer says so', async () => {
  const { stack, vertical, assumptions } = await audited({
    records: ['a'],
    stack: 'Sphinx',
    vertical: 'zoos',
  });
  assert.deepEqual([stack, vertical], ['custom', 'custom']);
  assert.ok(assumptions.includes('The stack “Sphinx” is not known and counts as custom.'));
  assert.ok(assumptions.includes('The vertical “zoos” is not known and counts as custom.'));
  assert.equal((await audited({ records: ['a'], stack: 'Elasticsearch' })).stack, 'elasticsearch');
});

test('every stack says what it does with each issue, and names a page or a measurement if it has one', () => {
  const { stacks, verticals } = examples.auditStacks.response.body as AuditStacksResponse;
  assert.deepEqual(
    stacks.map(({ stack }) => stack),
    [
      ...['elasticsearch', 'opensearch', 'solr', 'postgres', 'pgvector', 'qdrant', 'weaviate', 'milvus'],
      ...['pinecone', 'algolia', 'typesense', 'meilisearch', 'vespa', 'custom'],
    ],
  );
  for (const { stack, consequences } of stacks) {
    assert.deepEqual(
      consequences.map(({ issue }) => issue),
      [...auditIssues],
      stack,
    );
    for (const { consequence, source } of consequences) {
      assert.ok(consequence.length > 10, stack);
      assert.ok(
        source === null || source === 'measured here' || new URL(source).protocol === 'https:',
        stack,
      );
    }
  }
  assert.ok(verticals.includes('retail') && verticals.includes('custom'));
});

test('the estimate is the caller’s numbers times the interval, and null if one is missing', async () => {
  const records = ['CafÃ©', ...Array.from({ length: 99 }, (_, at) => `plain ${at}`)];
  const numbers = { corpus_records_total: 1000, monthly_queries: 500, aov_usd: 20 };
  const { roi, headline } = await audited({ records, use_case: 'both', ...numbers });
  const { low, high } = headline;
  assert.deepEqual(
    roi?.map((line) => [line.low, line.high, line.reason]),
    [
      [1000 * low, 1000 * high, null],
      [500 * low, 500 * high, null],
      [null, null, 'months_running was not given'],
      [0.01 * 500 * 20 * low, 0.01 * 500 * 20 * high, null],
      [null, null, 'ticket_cost_usd was not given'],
    ],
  );
  assert.equal((await audited({ records })).roi, null);
  // One number of several leaves its lines null with the reason, not the whole estimate.
  for (const number of [{ aov_usd: 80 }, { months_running: 5 }]) {
    const { roi: lines } = await audited({ records, ...number });
    assert.ok(lines !== null && lines.length > 0);
    assert.ok(lines.every(({ low, reason }) => low === null && reason?.includes('not given')));
  }
  assert.equal((await audited({ records, use_case: 'rag', aov_usd: 80 })).roi, null);
  // A sample that does not carry a line leaves it null, too.
  const few = await audited({ records: records.slice(1), monthly_queries: 500, use_case: 'search' });
  assert.deepEqual(
    few.roi?.map(({ low, reason }) => [low, reason]),
    [
      [null, 'corpus_records_total was not given'],
      [null, 'at least 100 records are needed to carry it, these are 99'],
      [null, 'months_running was not given'],
    ],
  );
  const support = await audited({ records, use_case: 'support', ticket_cost_usd: 3, monthly_queries: 10 });
  assert.ok(support.roi?.every(({ formula }) => !formula.includes('aov_usd')));
});

test('an audit of queries is worded for queries', async () => {
  const records = ['cafÃ©', ...Array.from({ length: 99 }, (_, at) => `plain ${at}`)];
  const numbers = { corpus_records_total: 1000, monthly_queries: 500 };
  const { roi, headline, assumptions } = await audited({ records, surface: 'queries', ...numbers });
  assert.match(headline.sentence, /^1\.0 % of the queries \(1 of 100; .*no plainly written record matches/);
  assert.deepEqual(
    roi?.slice(0, 2).map(({ line, low, reason }) => [line, low, reason]),
    [
      [
        'Records that plain words do not find',
        null,
        'the share is one of queries; audit records for this line',
      ],
      ['Queries a month that miss plainly written records by a word', 500 * headline.low, null],
    ],
  );
  assert.ok(assumptions.some((each) => each.startsWith('Each query is assumed to be asked as often')));
});

test('the headline is that of the stack, and is shown with what the stack does', async () => {
  const share = async (text: string, stack?: string) => {
    const { headline } = await audited({
      records: Array.from({ length: 20 }, () => text),
      stack: stack ?? null,
    });
    return [headline.share, headline.sentence] as const;
  };
  for (const [text, stack, expected] of [
    ['\uFB01ne print', undefined, 0],
    ['\uFB01ne print', 'elasticsearch', 1],
    ['cafe\u0301', 'elasticsearch', 1],
    ['cafe\u0301', 'meilisearch', 0],
    ['don’t', 'elasticsearch', 1],
    ['don’t', 'postgres', 0],
    ['H₂O and CO₂', undefined, 1],
    ['\uFF54\uFF45\uFF4E\uFF54', 'vespa', 0],
    ['TNFα and TGFβ1', 'elasticsearch', 0],
    ['don´t', undefined, 0],
  ] as const) {
    const [found, sentence] = await share(text, stack);
    assert.equal(found, expected, `${text}, ${stack ?? 'no stack'}: ${sentence}`);
    assert.equal(sentence.includes('Judged by the rules of'), stack !== undefined);
    assert.equal(sentence.startsWith('No gain: '), expected === 0);
  }
  assert.match(
    (await share('ﬁne', 'pinecone'))[1],
    /matches vectors, not words: judged by the words that BERT/,
  );
});

test('a vertical is mentioned only with what was found', async () => {
  const steps = async (records: string[], vertical: string) =>
    (await audited({ records, vertical })).next_steps.filter((step) => step.includes('vertical'));
  assert.deepEqual(await steps(['<b>x</b>', 'plain'], 'software'), [
    'Where texts are of the vertical software, look first at: HTML residue (1 of 2).',
  ]);
  assert.deepEqual(await steps(['<b>x</b>', 'plain'], 'travel'), []);
  assert.deepEqual(await steps(['plain'], 'software'), []);
});

test('examples show no personal data, at most five an issue', async () => {
  const records = Array.from(
    { length: 9 },
    (_, at) => `CafÃ© ${at}: ada${at}@example.com, +1 415 555 010${at}`,
  );
  const answer = await audited({ records });
  const examplesOf = answer.issues.flatMap((issue) => issue.examples);
  assert.equal(answer.issues.find(({ issue }) => issue === 'mojibake')?.examples.length, 5);
  for (const { before, after } of examplesOf) assert.doesNotMatch(`${before}${after}`, /ada\d@|555/);
});

test('over HTTP: six a minute and address, no store, the limit told', async () => {
  const access = testAccess({ routeLimits: { audits: 6 } });
  const parts = { ...native, access };
  const { port } = await startServer({
    routes: [servedRoute({ ...routes.audit, id: 'audit' }, handler, parts)],
  });
  const statuses: number[] = [];
  for (let each = 0; each < 7; each++) {
    const body = '{"records":["a"],"include_html":false}';
    const response = await exchange(port, post('/v1/audit', body));
    statuses.push(response.status);
    assert.match(response.headers.get('ratelimit') ?? '', /^"minute";r=\d+;t=\d+$/);
    if (response.status === 429) assert.match(response.headers.get('retry-after') ?? '', /^\d+$/);
  }
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 200, 429]);
});

test('over HTTP: a body over 128 MiB is refused by its head, one in another media type by that', async () => {
  const access = testAccess({ routeLimits: { audits: 0 } });
  const parts = { ...native, access };
  const served = servedRoute({ ...routes.audit, id: 'audit' }, handler, parts);
  const { port } = await startServer({ routes: [served] });
  const length = String(128 * 1024 * 1024 + 1);
  assert.equal((await exchange(port, head('POST', '/v1/audit', { 'content-length': length }))).status, 413);
  const typed = await exchange(port, post('/v1/audit', '{"records":[]}', { 'content-type': 'text/csv' }));
  assert.equal(typed.status, 422);
});
