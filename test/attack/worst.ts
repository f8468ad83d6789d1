/**
 * Requests made by hand that once cost far more than their bytes, all of them valid for ranking or repairing:
 * the search of the census does not find them, since its shapes know no words. `census.test.ts` checks them.
 */
import { LOOP_BODY_LIMIT as loopAudit } from '../../src/pages/audit.js';
import { LOOP_BODY_LIMIT as loopFuse } from '../../src/search/fuse.js';
import { LOOP_BODY_LIMIT as loopNormalize } from '../../src/text/normalize.js';
import { head } from '../support/raw.js';

/** A request with a key, and the status that it must get; null: any. */
export interface WorstCase {
  readonly name: string;
  readonly path: string;
  readonly body: string;
  readonly type: string;
  readonly status: number | null;
  /** False where its processor time does not go by its bytes; as of a route's census. */
  readonly byBytes?: false;
  /** Most processor time for a MiB, if it is more than that of other requests (ms). */
  readonly mibMs?: number;
  /** Further header fields. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** Most bytes of a body whose texts a model reads on the event loop. */
const loopRead = 48 << 10;

/** Longest body whose texts are repaired or highlighted on the event loop. */
const loopAnalyzed = 64 << 10;

const mostNormalize = 2 << 20;

/** About as many bytes as a text of 100,000 characters has in UTF-8. */
const longText = 256 << 10;

const large = 1 << 20;

/** Long enough for memory by its bytes to be seen beside what a collector of garbage leaves. */
const huge = 4 << 20;

/** Parts, each of another number, up to so many bytes. */
function parts(bytes: number, separator: string, part: (at: number) => string): string {
  const made: string[] = [];
  for (let left = bytes, at = 0; ; at += 1) {
    const next = part(at);
    left -= next.length + separator.length;
    if (left < 0) return made.join(separator);
    made.push(next);
  }
}

/** So many letters, others for each number. */
function letters(at: number, count: number): string {
  return Array.from({ length: count }, (_, place) =>
    String.fromCharCode(97 + (Math.floor(at / 26 ** place) % 26)),
  ).join('');
}

/** Members of a map whose keys once made one circle of all states of the search. */
const circle = (bytes: number): string => parts(bytes, ',', (at) => `"k${at}":"v"`);

/** Text that such keys are in, or nearly. */
const circled = (bytes: number): string => parts(bytes, '', (at) => `kk${at}`);

/** Words of 24 bytes that once had one hash, whatever its seed. */
const doubled = (bytes: number): string => parts(bytes, ' ', (at) => `${letters(at, 8).repeat(2)}zzzzzzzz`);

const words = (bytes: number): string => parts(bytes, ' ', (at) => at.toString(16));

const bare = (bytes: number): string => parts(bytes, ',', () => '{"id":"","text":"","dense_score":1}');

const name = (what: string, bytes: number): string => `${what}, ${Math.round(bytes / 1024)} KiB`;

/** A body in JSON, with what `json` puts into it for the bytes that the rest leaves. */
function posted(path: string, what: string, bytes: number, json: (left: number) => string): WorstCase {
  return { name: name(what, bytes), path, body: json(bytes - 200), type: 'application/json', status: 200 };
}

function normalized(bytes: number): WorstCase[] {
  const asked = (what: string, json: (left: number) => string): WorstCase =>
    posted('/v1/normalize', `normalize: ${what}`, bytes, json);
  const text = (left: number): string => circled(Math.min(left / 3, 90_000));
  return [
    asked('glosses in a circle', (left) => `{"text":"x","chinese_glosses":{${circle(left)}}}`),
    asked(
      'glosses in a circle, and their text',
      (left) => `{"text":"${text(left)}","max_changes":0,"chinese_glosses":{${circle((left * 2) / 3)}}}`,
    ),
    {
      ...asked('glosses that make the text long', (left) => {
        const text = 'a'.repeat(Math.min(left, 99_000));
        return `{"text":"${text}","max_changes":0,"chinese_glosses":{"a":"${'q'.repeat(24)}"}}`;
      }),
      // The text is 31 times as long as the body.
      mibMs: 400,
    },
    asked('one long form', (left) => `{"text":"x","chinese_glosses":{"${'ab'.repeat(left / 2)}":"a"}}`),
  ];
}

/** Words that mix scripts, and other texts that were once searched from one place again and again. */
const again = ['ϐаl', 'аl中', '²₂'];

/** A part over and over, in at most so many bytes and characters. */
function repeated(part: string, bytes: number, characters: number): string {
  return part.repeat(Math.min(bytes / Buffer.byteLength(part), characters / part.length));
}

/** Texts to be repaired, that cost the more for each byte the longer they were. */
function repaired(bytes: number): WorstCase[] {
  const asked = (what: string, json: (left: number) => string): WorstCase =>
    posted('/v1/normalize', `normalize: ${what}`, bytes, json);
  const gone = '"mode":"replace","chinese_glosses":{"中":""}';
  return [
    ...again.map((part) =>
      asked(`${part} again and again`, (left) => `{"text":"${repeated(part, left, 100_000)}"}`),
    ),
    asked('forms that are removed', (left) => `{"text":"${repeated('中', left, 100_000)}",${gone}}`),
  ];
}

/** Records whose words the rules of PostgreSQL once searched again at every character. */
function audited(bytes: number): WorstCase[] {
  const asked = (what: string, json: (left: number) => string): WorstCase =>
    posted('/v1/audit', `audit: ${what}`, bytes, json);
  const records = (part: string, left: number): string => {
    const record = `"ª${repeated(part, Math.min(left, 40_000), 19_990)}"`;
    return Array<string>(Math.max(1, Math.floor(left / Buffer.byteLength(record))))
      .fill(record)
      .join(',');
  };
  return [
    ...['ª&', '1.com', '+&#</&#', '<a '].map((part) => ({
      ...asked(
        `${part} again and again`,
        (left) => `{"stack":"postgres","records":[${records(part, left)}]}`,
      ),
      // Every one of these letters is repaired.
      ...(part === 'ª&' ? { mibMs: 400 } : {}),
    })),
    asked('many names of columns', (left) => {
      const names = parts(Math.min(left / 2, 49_000), ',', (at) => letters(at, 4));
      return `{"text":"${names}\\n${names}\\n"}`;
    }),
  ];
}

function mapped(bytes: number): WorstCase {
  return posted('/v1/fuse', 'fuse: entities in a circle, and their text', bytes, (left) => {
    const docs = `[{"id":"a","text":"${circled(left / 2)}"}]`;
    return `{"query":"a","embed_model":"static-256","docs":${docs},"entity_map":{${circle(left / 2)}}}`;
  });
}

/** A letter that stands for many words, each of a hundred word pieces, as often as the server allows. */
function grown(bytes: number): WorstCase {
  const asked = posted('/v1/fuse', 'fuse: entities that make the texts long', bytes, (left) => {
    const substitute = `${'q'.repeat(100)} `.repeat(10);
    const text = 'a'.repeat((2 * left + (16 << 10)) / substitute.length);
    const padding = ' '.repeat(Math.max(0, left - text.length - substitute.length));
    const read = `"embed_model":"static-256","docs":[{"id":"a","text":"${text}"}]`;
    return `{"query":"b",${read},"entity_map":{"a":"${substitute}"},"x":"${padding}"}`;
  });
  // The texts are twice as long as the body, and every byte of them is a piece.
  return { ...asked, mibMs: 200 };
}

function fused(bytes: number): WorstCase[] {
  const asked = (what: string, json: (left: number) => string): WorstCase =>
    posted('/v1/fuse', `fuse: ${what}`, bytes, json);
  const one = (text: string): string => `"docs":[{"id":"a","text":"${text}","dense_score":1}]`;
  return [
    asked('words that are one word twice', (left) => {
      const text = doubled(left / 2);
      return `{"query":"${text}",${one(text)}}`;
    }),
    asked('characters that stand for 18, compared', (left) => {
      const text = repeated('\ufdfa', Math.min(left, 48 << 10), left);
      return `{"query":"a","collapse":{"by":"text"},${one(text)}}`;
    }),
    asked('many places to highlight', (left) => {
      return `{"query":"é a","highlight":{},${one(repeated('é a ', left, left))}}`;
    }),
    asked(
      'many words of a query, explained for many docs',
      (left) => `{"query":"${words(left / 2)}","docs":[${bare(left / 2)}],"explain":true,"analyzer":{}}`,
    ),
    ...again.map((part) =>
      asked(`${part} again and again, normalized`, (left) => {
        const doc = `{"id":"a","text":"${repeated(part, left, left)}","dense_score":1}`;
        return `{"query":"a","docs":[${doc}],"analyzer":{"normalize":true}}`;
      }),
    ),
    asked('texts that are repaired, compared and explained', (left) => {
      const text = repeated('ϐаl ', left, left);
      const settings = '"analyzer":{"normalize":true},"diversify":{"diversity":0.5},"explain":true';
      return `{"query":"a",${settings},${one(text)}}`;
    }),
  ];
}

/** Texts whose repair or comparison once took many times their memory. */
function remembered(bytes: number): WorstCase[] {
  const asked = (what: string, text: (left: number) => string, settings: string): WorstCase =>
    posted('/v1/fuse', `fuse: ${what}`, bytes, (left) => {
      const doc = `{"id":"a","text":"${text(left)}","dense_score":1}`;
      return `{"query":"a","return_text":false,${settings},"docs":[${doc}]}`;
    });
  const normalized = '"analyzer":{"normalize":true}';
  return [
    asked('a control after each letter', (left) => repeated('a\x7f', left, left), normalized),
    asked('a chain wrongly decoded', (left) => repeated('Ã“\u0081', left, left), normalized),
    asked('a long line wrongly decoded at its start', (left) => `Ã©${'a'.repeat(left - 4)}`, normalized),
    {
      ...asked(
        'characters that stand for 18',
        (left) => repeated('\ufdfa', left, left),
        '"collapse":{"by":"text"}',
      ),
      // Each of them is compared as 33 bytes.
      mibMs: 400,
    },
  ];
}

/** Names of 62 characters that each take six bytes in an answer. */
const longName = (at: number): string => '\\u0001'.repeat(60) + letters(at, 2);

/** Every pair of these characters, in a text where each is a term. */
const allPairs = Array.from({ length: 26 }, (_, at) => letters(at, 1))
  .flatMap((one, at, all) => all.slice(at).map((other) => one + other))
  .join('');

/** What is explained, compared or removed for a request, none of which its texts have to be long for. */
function explained(bytes: number): WorstCase[] {
  const asked = (what: string, json: (left: number) => string, status = 200): WorstCase => ({
    ...posted('/v1/fuse', `fuse: ${what}`, bytes, json),
    status,
  });
  const names = Array.from({ length: 14 }, (_, at) => longName(at));
  const legs = names.map((one) => `"${one}":{"missing":"min"}`).join(',');
  const boosts = names.map((one) => `{"value":"${one}","origin":0,"scale":1}`).join(',');
  const numbers = names.map((one) => `"${one}":1`).join(',');
  const scored = `{"id":"","text":"","dense_score":1,"scores":{${numbers}},"values":{${numbers}}}`;
  const fixed = legs.length + boosts.length + scored.length;
  const paired = (left: number): string => {
    const text = allPairs.repeat(2);
    return parts(left, ',', () => `{"id":"","text":"${text}","dense_score":1}`);
  };
  return [
    asked(
      'legs and boosts of long names',
      (left) =>
        `{"query":"a","explain":true,"top_k":50000,"legs":{"bm25":{},"dense":{},${legs}},` +
        `"boosts":[${boosts}],"docs":[${scored},${bare(left - fixed)}]}`,
      413,
    ),
    {
      ...asked('pairs of characters, explained', (left) => {
        const asks = `"tokenizer":"ngram","explain":true,"corpus":{"docs":9,"average_length":9,"df":{}}`;
        return `{"query":"${allPairs}",${asks},"top_k":1000,"docs":[${paired(left - allPairs.length)}]}`;
      }),
      status: null,
    },
    asked('pairs of characters, compared', (left) => {
      const diversify = '"diversify":{"diversity":0.5,"candidates":500}';
      return `{"query":"ab","tokenizer":"ngram","top_k":500,${diversify},"docs":[${paired(left)}]}`;
    }),
    {
      ...asked(
        'numbers of hundreds of digits',
        (left) => {
          const digits = '2.4703282292062327208'.padEnd(480, '1');
          return `{"docs":[${parts(left, ',', () => `{"id":"","text":"","dense_score":${digits}e-324}`)}]}`;
        },
        422,
      ),
      mibMs: 200,
    },
    asked(
      'names that no doc has',
      (left) => {
        const sent = parts(left - legs.length, ',', (at) => `"${letters(at, 4)}":1`);
        const doc = `{"id":"","text":"","dense_score":1,"scores":{${sent}}}`;
        return `{"query":"a","legs":{${legs}},"docs":[${doc}]}`;
      },
      422,
    ),
  ];
}

/** Queries, and the rules by which an analyzer reads one and its texts. */
function analyzed(bytes: number): WorstCase[] {
  const asked = (what: string, json: (left: number) => string, mibMs = 100): WorstCase => ({
    ...posted('/v1/fuse', `fuse: ${what}`, bytes, json),
    mibMs,
  });
  const some = (count: number): string => parts(count, ',', (at) => `"${letters(at, 4)}"`);
  const read = (text: string): string => `"docs":[{"id":"","text":"${text}","dense_score":1}]`;
  return [
    asked('stop words', (left) => `{"query":"a","analyzer":{"stopwords":[${some(left)}]},${read('a')}}`),
    asked('words that begin as the query does, stemmed', (left) => {
      const text = parts(left, ' ', (at) => `ru${letters(at, 5)}`);
      return `{"query":"run","analyzer":"english",${read(text)}}`;
    }),
    asked('short words of a query, stemmed', (left) => {
      return `{"query":"${parts(left, ' ', (at) => letters(at, 3))}","analyzer":"english",${read('a')}}`;
    }),
    asked(
      'words of a query, beside stop words',
      (left) => {
        const words = parts(left, ' ', (at) => letters(at, 4));
        return `{"query":"${words}","analyzer":{"stopwords":["x"]},${read('a')}}`;
      },
      200,
    ),
    asked(
      'texts that are read again to be explained and highlighted',
      (left) => {
        const how = '"highlight":{"chars":2000,"fragments":10},"explain":true,"analyzer":"greek"';
        return `{"query":"é",${how},${read(repeated('É ab ', left, left))}}`;
      },
      400,
    ),
  ];
}

/** Texts of which a tool makes a long answer. */
function called(text: string): WorstCase {
  const params = { name: 'normalize_text', arguments: { text, mode: 'replace' } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  return {
    name: `/mcp: ${text.slice(0, 4)} repaired`,
    path: '/mcp',
    body,
    type: 'application/json',
    status: 200,
  };
}

function reranked(bytes: number): WorstCase[] {
  const asked = (what: string, documents: (left: number) => string) =>
    posted('/v2/rerank', `rerank: ${what}`, bytes, (left) => documents(left));
  return [
    asked('words that are one word twice', (left) => {
      const text = doubled(left / 2);
      return `{"model":"static-256","query":"${text}","documents":["${text}"]}`;
    }),
    asked('many words, many documents', (left) => {
      const documents = Array<string>(1_000).fill(`"${words((left - 4_000) / 2_000)}"`);
      return `{"model":"static-256","query":"${words(left / 2)}","documents":[${documents.join(',')}]}`;
    }),
  ];
}

/** Docs that are all compared with each other, by the vectors of a model. */
function diversified(): WorstCase {
  const docs = Array.from({ length: 500 }, (_, at) => ({ id: `${at}`, text: `fox ${at}` }));
  const body = {
    query: 'fox',
    docs,
    top_k: 500,
    diversify: { diversity: 0.5, by: 'vectors', candidates: 500 },
  };
  const sent = { path: '/v1/fuse', body: JSON.stringify(body), type: 'application/json', status: 200 };
  // It pays by its docs, of which a request may compare so many.
  return { name: 'fuse: docs compared with each other', ...sent, byBytes: false };
}

/** Header fields that the server reads, with values that a pattern could try from every place. */
function headed(): WorstCase[] {
  const names = [
    ...['Accept', 'Authorization', 'Content-Type', 'Forwarded', 'If-None-Match', 'Idempotency-Key', 'Prefer'],
    ...['Stripe-Signature', 'Traceparent', 'Tracestate', 'User-Agent', 'X-Claim-Token', 'X-Forwarded-For'],
  ];
  const fillings = [`a${' '.repeat(50_000)}b`, `a${','.repeat(50_000)}b`, `a${';q='.repeat(16_000)}b`];
  return ['/tile/0/000.p/1', '/health', '/graph'].flatMap((path) =>
    names.flatMap((field) =>
      fillings.map((filling) => ({
        name: `${path}: ${field} of ${filling.slice(1, 4)}`,
        ...{ path, body: '', type: 'text/plain', status: null, fields: { [field]: filling } },
      })),
    ),
  );
}

/** Fragments and pasted replies whose digests take the most. */
function submitted(): WorstCase[] {
  const content = '\ufdfa'.repeat(2_000);
  const asked = (path: string, what: string, body: object): WorstCase => ({
    ...{ name: `${path}: ${what}`, path, body: JSON.stringify(body), type: 'application/json', status: 200 },
  });
  // A harvest pays by its markers, of which an address has 300 a minute.
  const harvested = (what: string, marker: string): WorstCase => ({
    ...asked('/harvest', what, { text: marker.repeat(99_000 / marker.length) }),
    byBytes: false,
  });
  return [
    asked('/dream', 'characters that stand for 18', { title: 'a', content }),
    harvested('markers that never end', '<<SHARD>>'),
    harvested('markers without a fragment', '<<SHARD>>{}<</SHARD>>'),
  ];
}

/** Every case, on the event loop and off it. */
export function worstCases(): WorstCase[] {
  const percents = '%&'.repeat(3_500);
  const numbered = Array.from({ length: 10_000 }, (_, at) => `%${at}`).join('&');
  const form = { type: 'application/x-www-form-urlencoded', status: null };
  const asked = ['/dream_get', '/dream_confirm', '/graph/near', '/walk', '/buy'].map((path): WorstCase => ({
    ...form,
    name: `${path}: a query of nothing but signs`,
    path: `${path}?${percents}`,
    body: '',
  }));
  const names = ['/health', '/walk', '/graph/near'].map((path): WorstCase => ({
    ...form,
    name: `${path}: a query of thousands of names`,
    path: `${path}?${numbered}`,
    body: '',
  }));
  return [
    ...normalized(loopNormalize),
    ...normalized(mostNormalize),
    ...[loopNormalize, longText].flatMap(repaired),
    ...[loopAudit, longText].flatMap(audited),
    ...[loopRead, loopFuse, large].map(mapped),
    ...[2 << 10, loopRead, loopFuse, large].map(grown),
    ...[loopAnalyzed, loopFuse, large].flatMap(fused),
    ...[loopAnalyzed, large].flatMap((bytes) => [...explained(bytes), ...analyzed(bytes)]),
    called('㍿'.repeat(40_000)),
    called('中'.repeat(40_000)),
    ...remembered(huge),
    diversified(),
    ...[loopRead, loopFuse, large].flatMap(reranked),
    ...asked,
    ...names,
    ...headed(),
    ...submitted(),
    { ...form, name: '/buy: a form of nothing but signs', path: '/buy', body: '%&'.repeat(8_000) },
  ];
}

/** The request of a case. */
export function worstRequest({ path, body, type, fields: own }: WorstCase, key: string): Buffer {
  const fields = { 'X-API-Key': key, 'Accept-Encoding': 'identity', ...own };
  if (body === '') return Buffer.from(head('GET', path, fields));
  const more = { 'Content-Type': type, 'Content-Length': String(Buffer.byteLength(body)) };
  return Buffer.concat([Buffer.from(head('POST', path, { ...fields, ...more })), Buffer.from(body)]);
}
