/** `POST /v1/audit` and `GET /v1/audit/stacks` on the wire (contract, FreeAuditRequest). */
import typia, { type tags } from 'typia';
import type { DataVersions } from './normalize.js';
import { bodyProblems, information, mebibyte, type ResourceRoutes } from './route.js';
import { get, post } from './schema/route.js';
import type { Integer, MaxCodePoints } from './schema/tags.js';
import { type ValidationError, valueError } from './schema/validation.js';
import { bodyType, wireTypes } from './schema/wireType.js';

/** Ways to cut a text into records. */
export const auditFormats = ['auto', 'lines', 'csv', 'jsonl', 'json'] as const;

/** Estimates a report can make. */
export const auditUseCases = ['search', 'ecommerce', 'support', 'rag', 'both'] as const;

/** Kind of the input. */
export const auditSurfaces = ['records', 'queries'] as const;

/** Records or text to audit; properties not listed here are refused. */
export interface FreeAuditRequest {
  /** The records as one text; used when `records` is not given. */
  text?: (string & MaxCodePoints<100000>) | null;
  /** The records. */
  records?: ((string & MaxCodePoints<20000>)[] & tags.MaxItems<500>) | null;
  /** The rule that cuts `text` into records. */
  format?: (typeof auditFormats)[number];
  /** Search engine whose default analyzer is judged; an unknown one counts as `custom`. */
  stack?: (string & MaxCodePoints<80>) | null;
  /** Line of business; an unknown one counts as `custom`. */
  vertical?: (string & MaxCodePoints<80>) | null;
  /** Name printed on the report. */
  company?: string & MaxCodePoints<200>;
  /** Records in the whole corpus. */
  corpus_records_total?: (number & Integer & tags.Minimum<0> & tags.Maximum<10000000000>) | null;
  /** Queries a month. */
  monthly_queries?: (number & Integer & tags.Minimum<0> & tags.Maximum<10000000000>) | null;
  /** Months the search has run. */
  months_running?: (number & tags.Minimum<0> & tags.Maximum<600>) | null;
  /** Average order value in US dollars. */
  aov_usd?: (number & tags.Minimum<0> & tags.Maximum<1000000>) | null;
  /** Cost of one support ticket in US dollars. */
  ticket_cost_usd?: (number & tags.Minimum<0> & tags.Maximum<100000>) | null;
  /** The estimate that the report makes. */
  use_case?: (typeof auditUseCases)[number];
  /** Whether the input is records or queries. */
  surface?: (typeof auditSurfaces)[number];
  /** True: the answer carries the report as a page. */
  include_html?: boolean;
  /** True: the answer carries the normalized records. */
  include_text?: boolean;
}

/** Defaults of absent fields. */
export const auditDefaults = {
  format: 'auto',
  company: '',
  use_case: 'both',
  surface: 'records',
  include_html: true,
  include_text: false,
} as const satisfies Partial<FreeAuditRequest>;

/** Every issue an audit looks for, in the order of reports. */
export const auditIssues = [
  'mojibake',
  'invisible_characters',
  'mixed_script_confusables',
  'compatibility_forms',
  'emoji_and_symbols',
  'decomposed_accents',
  'control_characters',
  'html_residue',
  'exact_duplicates',
  'normalized_duplicates',
  'empty',
  'unsegmented_cjk',
  'over_long',
] as const;

/** An issue's id. */
export type AuditIssueId = (typeof auditIssues)[number];

/** Name of each issue. */
export const auditIssueTitles: Readonly<Record<AuditIssueId, string>> = {
  mojibake: 'Mojibake',
  invisible_characters: 'Invisible characters',
  mixed_script_confusables: 'Look-alike letters of another script',
  compatibility_forms: 'Compatibility forms',
  emoji_and_symbols: 'Emoji and symbols',
  decomposed_accents: 'Decomposed accents',
  control_characters: 'Control characters',
  html_residue: 'HTML residue',
  exact_duplicates: 'Exact duplicates',
  normalized_duplicates: 'Duplicates after normalization',
  empty: 'Empty records',
  unsegmented_cjk: 'Chinese and Japanese that white space does not split',
  over_long: 'Over-long for the embedding model',
};

/** A share with its Wilson 95 % interval. */
export interface AuditShare {
  share: number & tags.Minimum<0> & tags.Maximum<1>;
  low: number & tags.Minimum<0> & tags.Maximum<1>;
  high: number & tags.Minimum<0> & tags.Maximum<1>;
}

/** The one measured figure of a report. */
export interface AuditHeadline extends AuditShare {
  /** The figure in words. */
  sentence: string;
}

/** A part of a record before and after normalization, personal data masked. */
export interface AuditExample {
  before: string;
  after: string;
}

/** One kind of issue, with the records that have it. */
export interface AuditIssue extends AuditShare {
  issue: string;
  /** Its name in a report. */
  title: string;
  /** Number of records that have it. */
  count: number & Integer;
  /** Number of records checked for it: all; for duplicates in a very large file, a sample. */
  of: number & Integer;
  examples: AuditExample[];
  /** Behaviour of the named stack. */
  consequence: string;
  /** Address of the page that states it, or `measured here` if the project's tests measure it; else null. */
  source: string | null;
}

/** One line of the estimate; if low and high are null, `reason` says why. */
export interface AuditRoiLine {
  line: string;
  /** Unit: records, queries, answers or US dollars, in total or per month. */
  unit: string;
  low: number | null;
  high: number | null;
  formula: string;
  /** Why low and high are null; null if they are not. */
  reason: string | null;
}

/** Findings of the audit. */
export interface AuditResponse {
  /** Records audited. */
  records: number & Integer;
  headline: AuditHeadline;
  issues: AuditIssue[];
  stack: string;
  vertical: string;
  surface: string;
  use_case: string;
  /** Null where the request has none of the numbers that it is computed from. */
  roi: AuditRoiLine[] | null;
  assumptions: string[];
  next_steps: string[];
  data_versions: DataVersions;
  /** The report as one self-contained page; null when not asked for. */
  html: string | null;
  /** The normalized records, in order; null when not asked for. */
  texts: string[] | null;
  /** The normalized records as one text, one record a line: line feeds in a record become spaces. */
  text: string | null;
}

/** Effect of one search engine's default analyzer on one issue. */
export interface StackConsequence {
  issue: string;
  consequence: string;
  /** Address of the page that states it, or `measured here` if the project's tests measure it; else null. */
  source: string | null;
}

/** One search engine. */
export interface AuditStack {
  stack: string;
  name: string;
  /** Its default analyzer in a sentence. */
  analyzer: string;
  consequences: StackConsequence[];
}

/** The search engines and lines of business that the audit knows. */
export interface AuditStacksResponse {
  stacks: AuditStack[];
  verticals: string[];
}

function auditRules(request: FreeAuditRequest): ValidationError[] {
  if (request.text != null || request.records != null) return [];
  return [valueError(['body'], 'give records or text', request)];
}

const [requestType, auditResponseType, auditStacksResponseType] = wireTypes(
  typia.json.schemas<[FreeAuditRequest, AuditResponse, AuditStacksResponse]>(),
  { format: auditFormats, surface: auditSurfaces, use_case: auditUseCases },
);

/** The body of POST /v1/audit. */
export const freeAuditRequestType = bodyType(requestType, typia.createEquals<FreeAuditRequest>(), {
  closed: true,
  rules: auditRules,
  defaults: auditDefaults,
});

/** Sentences of the audit that the examples show. */
interface Given {
  readonly auditStacks: AuditStacksResponse;
}

/** Four records of a shop. */
const auditRequest: FreeAuditRequest = {
  records: [
    'CafÃ© crÃ¨me, 250 g',
    'Hiking boots <b>waterproof</b>, questions to ada@example.com',
    'Tent for ２ persons',
    'Sleeping bag, 3 seasons',
  ],
  stack: 'elasticsearch',
  vertical: 'retail',
  corpus_records_total: 120000,
  monthly_queries: 50000,
  aov_usd: 80,
  use_case: 'ecommerce',
  include_html: false,
  include_text: true,
};

const none: AuditShare = { share: 0, low: 0, high: 0.4898908364545973 };
const one: AuditShare = { share: 0.25, low: 0.04558726080970055, high: 0.6993581574175981 };

/** Findings in the example's records, one record an issue. */
const found: ReadonlyMap<AuditIssueId, AuditExample> = new Map([
  ['mojibake', { before: 'CafÃ© crÃ¨me, 250 g', after: 'Café crème, 250 g' }],
  ['compatibility_forms', { before: 'Tent for ２ persons', after: 'Tent for 2 persons' }],
  [
    'html_residue',
    {
      before: 'Hiking boots <b>waterproof</b>, questions to [email]',
      after: 'Hiking boots <b>waterproof</b>, questions to [email]',
    },
  ],
]);

function issue(id: AuditIssueId, { stacks }: AuditStacksResponse): AuditIssue {
  const example = found.get(id);
  const claims = stacks.find(({ stack }) => stack === 'elasticsearch')?.consequences;
  const claim = claims?.find((each) => each.issue === id);
  return {
    issue: id,
    title: auditIssueTitles[id],
    count: example === undefined ? 0 : 1,
    of: 4,
    ...(example === undefined ? none : one),
    examples: example === undefined ? [] : [example],
    consequence: claim?.consequence ?? '',
    source: claim?.source ?? null,
  };
}

/** The example's report, without its issues. */
const report: Omit<AuditResponse, 'issues'> = {
  records: 4,
  headline: {
    share: 0.5,
    low: 0.15003898915214953,
    high: 0.8499610108478505,
    sentence:
      '50.0 % of the records (2 of 4; 95 % interval 15.0 % to 85.0 %) hold words that a ' +
      'plain-word query cannot match today and normalization makes findable. Judged by the ' +
      'rules of Elasticsearch’s default analyzer.',
  },
  stack: 'elasticsearch',
  vertical: 'retail',
  surface: 'records',
  use_case: 'ecommerce',
  roi: [
    {
      line: 'Records that plain words do not find',
      unit: 'records',
      low: null,
      high: null,
      formula: 'corpus_records_total × share',
      reason: 'at least 100 records are needed to carry it, these are 4',
    },
    {
      line: 'Queries a month that may miss what they look for',
      unit: 'queries a month',
      low: null,
      high: null,
      formula: 'monthly_queries × share',
      reason: 'at least 100 records are needed to carry it, these are 4',
    },
    {
      line: 'The same since the search began to run',
      unit: 'queries',
      low: null,
      high: null,
      formula: 'monthly_queries × months_running × share',
      reason: 'months_running was not given',
    },
    {
      line: 'Order value for each 1 % of these queries that would have ended in an order',
      unit: 'US dollars a month',
      low: null,
      high: null,
      formula: 'monthly_queries × share × 1 % × aov_usd',
      reason: 'at least 100 records are needed to carry it, these are 4',
    },
  ],
  assumptions: [
    'The records are assumed to be a random sample of all of them: only then do the intervals hold for ' +
      'the rest.',
    'Intervals are Wilson score intervals at 95 %, each figure for itself.',
    'A record counts where one of its words, asked as people type it, scores 0 as the record ' +
      'is and above 0 after POST /v1/normalize (mode augment), by the terms of Elasticsearch’s ' +
      'default analyzer (standard: words by UAX #29, lower-cased).',
    'Over-long is judged by the least number of word pieces that a text can have, so that some are not ' +
      'counted.',
    'The estimate multiplies your own numbers with both ends of the 95 % interval of the headline. It is ' +
      'not a forecast: only a test in your own search shows what a found record is worth.',
    'Queries are assumed to want affected records as often as others. Where your most wanted records are ' +
      'cleaner or worse than the rest, the estimate is too high or too low.',
    'How many of these queries would have ended in an order or a ticket is not assumed: ' +
      'the lines say what each 1 % of them is worth.',
  ],
  next_steps: [
    'Mojibake: Repair with POST /v1/normalize, and find the import that reads UTF-8 as ' +
      'another encoding.',
    'Compatibility forms: Normalize records and queries alike with POST /v1/normalize.',
    'HTML residue: Strip HTML where the text is exported: normalization leaves it alone.',
    'Where texts are of the vertical retail, look first at: Mojibake (1 of 4).',
    'Measure it: normalize a copy of the index and the queries, and compare what your own ' + 'users click.',
  ],
  data_versions: {
    unicode: '17.0.0',
    cldr: '48.2.0',
  },
  html: null,
  texts: [
    'Café crème, 250 g',
    'Hiking boots <b>waterproof</b>, questions to ada@example.com',
    'Tent for 2 persons',
    'Sleeping bag, 3 seasons',
  ],
  text:
    'Café crème, 250 g\nHiking boots <b>waterproof</b>, questions to ada@example.com\nTent ' +
    'for 2 persons\nSleeping bag, 3 seasons',
};

/** The example's answer. */
function auditResponse(stacks: AuditStacksResponse): AuditResponse {
  const { records, headline, ...rest } = report;
  return { records, headline, issues: auditIssues.map((id) => issue(id, stacks)), ...rest };
}

/** POST /v1/audit and GET /v1/audit/stacks. */
export const auditRoutes = {
  audit: {
    method: 'POST',
    path: '/v1/audit',
    part: 'gateway',
    tag: 'audit',
    summary: 'What keeps plain words from finding your records',
    description:
      'Counts the issues in up to 500 records or a text, with intervals and examples, and the records that ' +
      'a search with plain words misses. Says how the named search engine treats each issue. Personal data ' +
      'is masked in the examples; nothing is stored.',
    body: { kind: 'raw', schema: freeAuditRequestType, other: 'none', limit: 128 * mebibyte },
    parameters: {},
    access: 'public',
    limit: 'audits',
    answers: { 200: { schema: auditResponseType, description: 'The report.' } },
    unprocessable: true,
    problems: { ...bodyProblems, 429: ['rate_limited'], 503: ['overloaded'] },
    headers: ['ratelimit', 'ratelimit-policy'],
    cors: true,
    acts: false,
    documented: true,
    example: ({ auditStacks }: Given) => post('/v1/audit', auditRequest, auditResponse(auditStacks)),
  },
  auditStacks: {
    ...information,
    tag: 'audit',
    path: '/v1/audit/stacks',
    summary: 'The search engines and verticals that an audit knows',
    description: 'How the default analyzer of each engine treats each issue, with the source of every claim.',
    answers: { 200: { schema: auditStacksResponseType, description: 'The engines and verticals.' } },
    example: ({ auditStacks }: Given) => get('/v1/audit/stacks', auditStacks),
  },
} as const satisfies ResourceRoutes;
