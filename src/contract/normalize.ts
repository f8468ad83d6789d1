/** `POST /v1/normalize` on the wire (contract, NormalizeRequest; the rest are marked extensions). */
import typia, { type tags } from 'typia';
import { keyHeadersType } from './key.js';
import { batchDescription, batchProblems, failedLineType } from './lines.js';
import { keyedProblems, mebibyte, type ResourceRoutes } from './route.js';
import { post, postLines } from './schema/route.js';
import type { Integer, MaxCodePoints } from './schema/tags.js';
import { bodyType, wireTypes } from './schema/wireType.js';

/** Treatment of items that have a gloss. */
export const normalizeModes = ['augment', 'replace', 'repair'] as const;

/** A text to repair and gloss. */
export interface NormalizeRequest {
  /** The text. */
  text: string & MaxCodePoints<100000>;
  /** `augment`: a gloss in parentheses after each item; `replace`: in its place; `repair`: no glosses. */
  mode?: (typeof normalizeModes)[number];
  /** Maps surface forms to glosses; longest match first. */
  chinese_glosses?: { [surface: string]: string } | null;
  /** True: confusables map to Latin only inside a word whose other letters are Latin. */
  contextual?: boolean;
  /** Most changes to list. */
  max_changes?: number & Integer & tags.Minimum<0>;
  /** True: the answer carries the confusable skeleton (UTS #39). */
  include_skeleton?: boolean;
}

/** Defaults of absent fields. */
export const normalizeDefaults = {
  mode: 'augment',
  contextual: true,
  max_changes: 1000,
  include_skeleton: false,
} as const satisfies Partial<NormalizeRequest>;

/** One edit; positions are code points of the input. */
export interface NormalizeChange {
  /** First code point replaced. */
  start: number & Integer & tags.Minimum<0>;
  /** Code point after the last one replaced. */
  end: number & Integer & tags.Minimum<0>;
  /** The text before the edit. */
  original: string;
  /** The text after the edit. */
  replacement: string;
  /** Kind of repair or gloss. */
  kind: string;
  /** Why, in words. */
  reason: string;
}

/** Versions of the Unicode data that an answer depends on. */
export interface DataVersions {
  /** Unicode version. */
  unicode: string;
  /** CLDR version. */
  cldr: string;
}

/** The normalized text and every change made. */
export interface NormalizeResponse {
  /** The text as sent. */
  text: string;
  /** The text after the changes. */
  normalized: string;
  /** The mode that was used. */
  mode: string;
  /** True if anything changed. */
  changed: boolean;
  /** The changes, by position. */
  changes: NormalizeChange[];
  /** Present, and true, when there were more changes than are listed. */
  changes_truncated?: boolean;
  /** Changes by kind. */
  stats: { [kind: string]: number & Integer };
  /** Present when the request asked for it. */
  skeleton?: string;
  data_versions: DataVersions;
  /** Code points of the input. */
  chars: number & Integer;
}

const [requestType, normalizeResponseType] = wireTypes(
  typia.json.schemas<[NormalizeRequest, NormalizeResponse]>(),
  { mode: normalizeModes },
);

/** The body of POST /v1/normalize. */
export const normalizeRequestType = bodyType(requestType, typia.createIs<NormalizeRequest>(), {
  defaults: normalizeDefaults,
  extensions: ['max_changes', 'include_skeleton'],
});

const normalizeRequest: NormalizeRequest = {
  text: 'CafÃ© “Zürich” ① ❤️ pаypal',
  mode: 'augment',
};

const normalizeResponse: NormalizeResponse = {
  text: 'CafÃ© “Zürich” ① ❤️ pаypal',
  normalized: 'Café "Zürich" 1 ❤️ (red heart) paypal',
  mode: 'augment',
  changed: true,
  changes: [
    {
      start: 3,
      end: 5,
      original: 'Ã©',
      replacement: 'é',
      kind: 'mojibake',
      reason: 'UTF-8 that was read as Latin-1',
    },
    {
      start: 6,
      end: 7,
      original: '“',
      replacement: '"',
      kind: 'quote',
      reason: 'typographic quote',
    },
    {
      start: 13,
      end: 14,
      original: '”',
      replacement: '"',
      kind: 'quote',
      reason: 'typographic quote',
    },
    {
      start: 15,
      end: 16,
      original: '①',
      replacement: '1',
      kind: 'enclosed',
      reason: 'enclosed character',
    },
    {
      start: 17,
      end: 19,
      original: '❤️',
      replacement: '❤️ (red heart)',
      kind: 'emoji',
      reason: 'name of the emoji (CLDR)',
    },
    {
      start: 21,
      end: 22,
      original: 'а',
      replacement: 'a',
      kind: 'confusable',
      reason: 'looks like a Latin letter (UTS #39)',
    },
  ],
  stats: {
    mojibake: 1,
    emoji: 1,
    quote: 2,
    enclosed: 1,
    confusable: 1,
  },
  data_versions: {
    unicode: '17.0.0',
    cldr: '48.2.0',
  },
  chars: 26,
};

const problems = { ...keyedProblems, 503: ['overloaded', 'store_unavailable'] } as const;

/** Members common to both routes. */
const normalizing = {
  method: 'POST',
  part: 'gateway',
  tag: 'normalize',
  parameters: { header: keyHeadersType },
  access: 'key',
  unprocessable: true,
  cors: false,
  acts: false,
  documented: true,
} as const;

const repaired: NormalizeResponse = {
  text: 'ﬁne',
  normalized: 'fine',
  mode: 'repair',
  changed: true,
  changes: [
    {
      start: 0,
      end: 1,
      original: 'ﬁ',
      replacement: 'fi',
      kind: 'compatibility',
      reason: 'compatibility form (NFKC)',
    },
  ],
  stats: { compatibility: 1 },
  data_versions: normalizeResponse.data_versions,
  chars: 3,
};

const failedLine = {
  error: {
    line: 2,
    status: 422,
    detail: [{ type: 'missing', loc: ['body', 'text'], msg: 'Field required', input: {} }],
  },
};

/** POST /v1/normalize, and its batch with one text per line. */
export const normalizeRoutes = {
  normalize: {
    ...normalizing,
    path: '/v1/normalize',
    summary: 'Repair a text and gloss emoji and symbols',
    description:
      'Repairs mojibake, compatibility forms, invisible characters, typographic signs and look-alike ' +
      'letters, gives emoji and symbols their names, and lists every change with its place, so that it can ' +
      'be undone.',
    body: { kind: 'raw', schema: normalizeRequestType, other: 'none', limit: 2 * mebibyte },
    answers: { 200: { schema: normalizeResponseType, description: 'The text, and every change made.' } },
    problems,
    headers: ['server-timing', 'ratelimit', 'ratelimit-policy'],
    example: post('/v1/normalize', normalizeRequest, normalizeResponse),
  },
  normalizeBatch: {
    ...normalizing,
    path: '/v1/normalize/batch',
    extension: true,
    summary: 'Repair and gloss many texts',
    description: batchDescription,
    body: { kind: 'lines', schema: normalizeRequestType, limit: 2 * mebibyte },
    answers: {
      200: {
        schema: normalizeResponseType,
        failedLine: failedLineType,
        description: 'A line for each line sent: the text and every change made, or why there is none.',
      },
    },
    problems: batchProblems(problems),
    headers: ['ratelimit', 'ratelimit-policy'],
    example: postLines('/v1/normalize/batch', [{ text: 'ﬁne', mode: 'repair' }, {}], [repaired, failedLine]),
  },
} as const satisfies ResourceRoutes;
