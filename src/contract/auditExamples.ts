/** The examples of POST /v1/audit and GET /v1/audit/stacks. */
import type {
  AuditExample,
  AuditIssue,
  AuditIssueId,
  AuditResponse,
  AuditShare,
  AuditStacksResponse,
  FreeAuditRequest,
} from './audit.js';
import { auditIssues, auditIssueTitles } from './audit.js';
import { stacks, verticals } from './auditStacks.js';

/** GET /v1/audit/stacks answers with what this installation knows. */
export const auditStacksResponse: AuditStacksResponse = {
  stacks: [...stacks],
  verticals: [...verticals.keys()],
};

/** Four records of a shop. */
export const auditRequest: FreeAuditRequest = {
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

/** What one record shows, by issue. */
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

function issue(id: AuditIssueId): AuditIssue {
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

/** What is found in them. */
export const auditResponse: AuditResponse = {
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
  issues: auditIssues.map(issue),
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
    'The records are taken for a random sample of all of them: only then do the intervals ' +
      'hold for the rest.',
    'Intervals are Wilson score intervals at 95 %, each figure for itself.',
    'A record counts where one of its words, asked as people type it, scores 0 as the record ' +
      'is and above 0 after POST /v1/normalize (mode augment), by the terms of Elasticsearch’s ' +
      'default analyzer (standard: words by UAX #29, lower-cased).',
    'Over-long is told by the least number of word pieces that a text can have, so that ' +
      'some are not counted.',
    'The estimate multiplies your own numbers with both ends of the 95 % interval of the ' +
      'headline. It is no forecast: what a found record is worth, only a test in your own ' +
      'search tells.',
    'Queries are taken to want affected records as often as others. Where your most wanted ' +
      'records are cleaner or worse than the rest, the estimate is too high or too low.',
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
  text:
    'Café crème, 250 g\nHiking boots <b>waterproof</b>, questions to ada@example.com\nTent ' +
    'for 2 persons\nSleeping bag, 3 seasons',
};
