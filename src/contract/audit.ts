/** `POST /v1/audit` and `GET /v1/audit/stacks` on the wire (contract, FreeAuditRequest). */
import type { tags } from 'typia';
import type { Integer, MaxCodePoints } from './tags.js';
import type { DataVersions } from './normalize.js';

/** Ways to cut a text into records. */
export const auditFormats = ['auto', 'lines', 'csv', 'jsonl', 'json'] as const;

/** Estimates a report can make. */
export const auditUseCases = ['search', 'ecommerce', 'support', 'rag', 'both'] as const;

/** What the input is. */
export const auditSurfaces = ['records', 'queries'] as const;

/** Records or text to audit; properties not listed here are refused. */
export interface FreeAuditRequest {
  /** The records as one text; used when `records` is not given. */
  text?: (string & MaxCodePoints<100000>) | null;
  /** The records. */
  records?: ((string & MaxCodePoints<20000>)[] & tags.MaxItems<500>) | null;
  /** How `text` is cut into records. */
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
  /** Which estimate the report makes. */
  use_case?: (typeof auditUseCases)[number];
  /** Whether the input is records or queries. */
  surface?: (typeof auditSurfaces)[number];
  /** True: the answer carries the report as a page. */
  include_html?: boolean;
  /** True: the answer carries the normalized records. */
  include_text?: boolean;
}

/** What a request that leaves a field out gets. */
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

/** One of them. */
export type AuditIssueId = (typeof auditIssues)[number];

/** What each issue is called. */
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

/** The one measured figure of the report. */
export interface AuditHeadline extends AuditShare {
  /** The figure in words. */
  sentence: string;
}

/** A part of a record before and after normalization, personal data masked. */
export interface AuditExample {
  before: string;
  after: string;
}

/** One kind of trouble looked for in the records. */
export interface AuditIssue extends AuditShare {
  issue: string;
  /** What it is called in a report. */
  title: string;
  /** Records that show it. */
  count: number & Integer;
  /** Records looked at for it: all, or for duplicates a sample of a very large file. */
  of: number & Integer;
  examples: AuditExample[];
  /** What the named stack does with it. */
  consequence: string;
  /** Address of the page that says so, or `measured here` where the project's tests run it; null: neither. */
  source: string | null;
}

/** One line of the estimate; low and high are null where a number was not given. */
export interface AuditRoiLine {
  line: string;
  /** What is counted: records, queries or US dollars, in all or a month. */
  unit: string;
  low: number | null;
  high: number | null;
  formula: string;
  /** Why the line is null; null where it is not. */
  reason: string | null;
}

/** What the audit found. */
export interface AuditResponse {
  /** Records audited. */
  records: number & Integer;
  headline: AuditHeadline;
  issues: AuditIssue[];
  stack: string;
  vertical: string;
  surface: string;
  use_case: string;
  /** Null where none of the numbers it is made of was given. */
  roi: AuditRoiLine[] | null;
  assumptions: string[];
  next_steps: string[];
  data_versions: DataVersions;
  /** The report as one self-contained page; null when not asked for. */
  html: string | null;
  /** The normalized records, one a line; null when not asked for. */
  text: string | null;
}

/** What one search engine's default analyzer does to one kind of trouble. */
export interface StackConsequence {
  issue: string;
  consequence: string;
  /** Address of the page that says so, or `measured here` where the project's tests run it; null: neither. */
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

/** The search engines and lines of business the audit knows. */
export interface AuditStacksResponse {
  stacks: AuditStack[];
  verticals: string[];
}
