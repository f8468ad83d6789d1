/**
 * POST /v1/audit as data: the findings in the records with intervals, their effect in the named search
 * engine, and their worth in the caller's numbers. Nothing is stored.
 */
import {
  auditDefaults,
  auditIssueTitles,
  type AuditHeadline,
  type AuditIssue,
  type AuditIssueId,
  type AuditResponse,
  type AuditShare,
  type AuditStack,
  type FreeAuditRequest,
} from '../contract/audit.js';
import { stacks, tolerantStacks, vectorStacks, verticals } from './stacks.js';
import type { AuditFindings } from '../native/index.js';
import { roi, roiAssumptions } from './roi.js';
import { wilson } from './wilson.js';

/** Inputs of an audit besides the records. */
export type AuditContext = Omit<FreeAuditRequest, 'text' | 'records' | 'format' | 'include_html'>;

/** Versions of a report's data. */
export type Versions = AuditResponse['data_versions'];

/** Remedy of each issue. */
const remedies: Readonly<Record<AuditIssueId, string>> = {
  mojibake: 'Repair with POST /v1/normalize, and find the import that reads UTF-8 as another encoding.',
  invisible_characters: 'Repair with POST /v1/normalize before indexing.',
  mixed_script_confusables:
    'Repair with POST /v1/normalize, and look at who sends them: some mean to deceive.',
  compatibility_forms: 'Normalize records and queries alike with POST /v1/normalize.',
  emoji_and_symbols: 'Index the text of mode augment, which names emoji and symbols in words.',
  decomposed_accents: 'Normalize records and queries alike with POST /v1/normalize.',
  control_characters: 'Repair with POST /v1/normalize, and look at the export that lets them through.',
  html_residue: 'Strip HTML where the text is exported: normalization leaves it alone.',
  exact_duplicates: 'Remove copies before indexing, or group results by their text.',
  normalized_duplicates: 'Normalize first, then remove copies.',
  empty: 'Leave these records out, or find out what is missing.',
  unsegmented_cjk: 'Search with the tokenizer ngram, or choose an analyzer for the language.',
  over_long: 'Cut long records into passages before they are embedded.',
};

/** A share for people: `12.3 %`. */
export function percent(share: number): string {
  const value = 100 * share;
  const digits = value === 0 || value === 100 ? 0 : value < 1 || value > 99 ? 2 : 1;
  return `${value.toFixed(digits)} %`;
}

/** A count with thousands separators. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US', { maximumFractionDigits: count < 10 ? 2 : 0 });
}

/** Why a record, or a query, is counted. */
const counted: Readonly<Record<string, string>> = {
  records: 'words that a plain-word query cannot match today and normalization makes findable.',
  queries: 'words that no plainly written record matches today and normalization makes match.',
};

/** Word of the sentence if no record or query is counted. */
const nothing: Readonly<Record<string, string>> = { records: 'findable', queries: 'match' };

/** The headline for one record or query: a share would be meaningless. */
function sentenceOfOne({ gains, gainsOwn }: AuditFindings, interval: string, things: string): string {
  const one = things === 'queries' ? 'query' : 'record';
  if (gains === 0) {
    return `No gain: normalization makes no word of the one ${one} ${nothing[things] ?? ''} (${interval}).`;
  }
  const named = gainsOwn === 0 ? ' Only the names of emoji and symbols come in.' : '';
  return `The one ${one} (${interval}) holds ${counted[things] ?? ''}${named}`;
}

function sentenceOf(found: AuditFindings, share: AuditShare, things: string): string {
  const { records, gains, gainsOwn } = found;
  const interval = `95 % interval ${percent(share.low)} to ${percent(share.high)}`;
  if (records === 0) return `There were no ${things} to audit.`;
  if (records === 1) return sentenceOfOne(found, interval, things);
  const all = grouped(records);
  if (gains === 0) {
    return (
      `No gain: normalization makes a word ${nothing[things] ?? ''} in none of the ${all} ${things} ` +
      `(${interval}).`
    );
  }
  const onlyNamed = gains - gainsOwn;
  const named =
    onlyNamed === 0 ? '' : ` In ${grouped(onlyNamed)} of them only the names of emoji and symbols come in.`;
  return (
    `${percent(share.share)} of the ${things} (${grouped(gains)} of ${all}; ${interval}) hold ` +
    `${counted[things] ?? ''}${named}`
  );
}

/** The rules of the headline, if a stack was named. */
function judgedBy({ stack, name }: AuditStack): string {
  if (stack === 'custom') return '';
  if (vectorStacks.has(stack)) {
    return ` ${name} matches vectors, not words: judged by the words that BERT’s normalizer makes.`;
  }
  return ` Judged by the rules of ${name}’s default analyzer.`;
}

function headlineOf(found: AuditFindings, things: string, stack: AuditStack): AuditHeadline {
  const share = wilson(found.gains, found.records);
  const judged = found.records === 0 ? '' : judgedBy(stack);
  return { ...share, sentence: `${sentenceOf(found, share, things)}${judged}` };
}

function issuesOf(found: AuditFindings, { consequences }: AuditStack): AuditIssue[] {
  return consequences.map(({ issue, consequence, source }) => {
    const { count, examples } = found.issues.find((each) => each.issue === issue) ?? {
      count: 0,
      examples: [],
    };
    const of = issue.endsWith('_duplicates') ? found.sampled : found.records;
    const title = auditIssueTitles[issue as AuditIssueId];
    return { issue, title, count, of, ...wilson(count, of), examples, consequence, source };
  });
}

const formatNames: Readonly<Record<string, string>> = {
  csv: 'CSV',
  jsonl: 'JSON Lines',
  json: 'JSON',
  lines: 'lines',
};

const separatorNames: Readonly<Record<string, string>> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'tabs',
  '|': 'vertical bars',
};

/** The format in which the text was read. */
function readingOf({ format, separator }: AuditFindings): string[] {
  if (format == null) return [];
  const name = formatNames[format] ?? format;
  if (separator == null) return [`The text was read as ${name}.`];
  const parted = separatorNames[separator] ?? separator;
  return [
    `The text was read as ${name} with fields parted by ${parted}; its first row is the header and ` +
      `no record.`,
  ];
}

/** The check that counts a record or query. */
function countedBy({ stack, things }: KnownContext): string {
  const one = things === 'queries' ? 'query' : 'record';
  const rules = vectorStacks.has(stack.stack)
    ? 'the words that BERT’s normalizer makes'
    : stack.stack === 'custom'
      ? 'BM25 over the tokenizer ws of POST /v1/fuse'
      : `the terms of ${stack.name}’s default analyzer (${stack.analyzer.replace(/\.$/, '')})`;
  return (
    `A ${one} counts where one of its words, asked as people type it, scores 0 as the ${one} is and above ` +
    `0 after POST /v1/normalize (mode augment), by ${rules}.`
  );
}

function assumptionsOf(found: AuditFindings, context: AuditContext, known: KnownContext): string[] {
  const { stack, vertical, things, hasRoi } = known;
  const unknown = [
    ...(stack.stack === 'custom' && context.stack != null && context.stack.toLowerCase() !== 'custom'
      ? [`The stack “${context.stack}” is not known and counts as custom.`]
      : []),
    ...(vertical === 'custom' && context.vertical != null && context.vertical.toLowerCase() !== 'custom'
      ? [`The vertical “${context.vertical}” is not known and counts as custom.`]
      : []),
  ];
  const sampled = found.sampled < found.records;
  return [
    `The ${things} are assumed to be a random sample of all of them: only then do the intervals hold for ` +
      `the rest.`,
    'Intervals are Wilson score intervals at 95 %, each figure for itself.',
    countedBy(known),
    ...(tolerantStacks.has(stack.stack)
      ? [`Typo tolerance and prefix search, which ${stack.name} adds, may find more today.`]
      : []),
    ...readingOf(found),
    ...(sampled
      ? [`Duplicates were counted among ${grouped(found.sampled)} ${things}, a sample by their texts.`]
      : []),
    'Over-long is judged by the least number of word pieces that a text can have, so that some are not ' +
      'counted.',
    ...unknown,
    ...(hasRoi ? roiAssumptions(things) : []),
  ];
}

/** Remedies for the most frequent issues, then how to verify them. */
function nextSteps(issues: readonly AuditIssue[], context: AuditContext, known: KnownContext): string[] {
  const found = issues.filter(({ count }) => count > 0).sort((left, right) => right.share - left.share);
  const fixes = found.slice(0, 4).map(({ issue, title }) => `${title}: ${remedies[issue as AuditIssueId]}`);
  const prove =
    'Measure it: normalize a copy of the index and the queries, and compare what your own users click.';
  const typical = verticals.get(known.vertical) ?? [];
  const first = found.find(({ issue }) => typical.includes(issue as AuditIssueId));
  const look =
    first === undefined
      ? []
      : [
          `Where texts are of the vertical ${known.vertical}, look first at: ${first.title} ` +
            `(${grouped(first.count)} of ${grouped(first.of)}).`,
        ];
  const numbers =
    'Send corpus_records_total and monthly_queries, and aov_usd or ticket_cost_usd, to see what it ' +
    'is worth.';
  return [
    ...(fixes.length === 0 ? ['Nothing to repair was found in these records.'] : [...fixes, ...look, prove]),
    ...(known.hasRoi ? [] : [numbers]),
    ...(context.surface === 'queries'
      ? ['Audit the records too: a query finds what both sides write alike.']
      : []),
  ];
}

interface KnownContext {
  readonly stack: AuditStack;
  readonly vertical: string;
  readonly things: string;
  readonly hasRoi: boolean;
}

/** The stack with this name, in any letter case; `custom` if there is none, or if it is unknown. */
export function knownStack(name: string | null | undefined): AuditStack {
  const wanted = name?.toLowerCase() ?? 'custom';
  const found =
    stacks.find(({ stack }) => stack === wanted) ?? stacks.find(({ stack }) => stack === 'custom');
  if (found === undefined) throw new Error('there is no stack for unknown ones');
  return found;
}

/** The report of an audit, without its page. `normalized`: the records, if requested. */
export function auditReport(
  found: AuditFindings,
  context: AuditContext,
  versions: Versions,
  normalized: Pick<AuditResponse, 'texts' | 'text'> = { texts: null, text: null },
): AuditResponse {
  const stack = knownStack(context.stack);
  const named = context.vertical?.toLowerCase() ?? 'custom';
  const vertical = verticals.has(named) ? named : 'custom';
  const useCase = context.use_case ?? auditDefaults.use_case;
  const surface = context.surface ?? auditDefaults.surface;
  const headline = headlineOf(found, surface, stack);
  const sample = { share: headline, records: found.records, surface };
  const worth = found.records === 0 ? null : roi(sample, useCase, context);
  const known: KnownContext = { stack, vertical, things: surface, hasRoi: worth !== null };
  const issues = issuesOf(found, stack);
  return {
    records: found.records,
    headline,
    issues,
    stack: stack.stack,
    vertical,
    surface,
    use_case: useCase,
    roi: worth,
    assumptions: assumptionsOf(found, context, known),
    next_steps: nextSteps(issues, context, known),
    data_versions: versions,
    html: null,
    ...normalized,
  };
}
