/** What a share is worth, in the caller's own numbers: ranges with their formulas, and no promise. */
import type { AuditRoiLine, AuditShare, FreeAuditRequest } from '../contract/audit.js';

/** A number that a line is made of. */
type Given = 'corpus_records_total' | 'monthly_queries' | 'months_running' | 'aov_usd' | 'ticket_cost_usd';

/** The numbers of a request that an estimate is made of. */
export type RoiNumbers = Pick<FreeAuditRequest, Given>;

type UseCase = NonNullable<FreeAuditRequest['use_case']>;

interface Line {
  readonly line: string;
  readonly unit: string;
  /** The numbers that are multiplied with the share. */
  readonly factors: readonly Given[];
  /** A constant that is multiplied too. */
  readonly constant?: number;
  readonly formula: string;
  /** Use cases whose reports carry it; none: all. */
  readonly of?: readonly UseCase[];
}

const PER_CENT = 0.01;

const lines: readonly Line[] = [
  {
    line: 'Records that plain words do not find',
    unit: 'records',
    factors: ['corpus_records_total'],
    formula: 'corpus_records_total × share',
  },
  {
    line: 'Queries a month that may miss what they look for',
    unit: 'queries a month',
    factors: ['monthly_queries'],
    formula: 'monthly_queries × share',
  },
  {
    line: 'The same since the search began to run',
    unit: 'queries',
    factors: ['monthly_queries', 'months_running'],
    formula: 'monthly_queries × months_running × share',
  },
  {
    line: 'Order value for each 1 % of these queries that would have ended in an order',
    unit: 'US dollars a month',
    factors: ['monthly_queries', 'aov_usd'],
    constant: PER_CENT,
    formula: 'monthly_queries × share × 1 % × aov_usd',
    of: ['ecommerce', 'both'],
  },
  {
    line: 'Ticket cost for each 1 % of these queries that became a ticket',
    unit: 'US dollars a month',
    factors: ['monthly_queries', 'ticket_cost_usd'],
    constant: PER_CENT,
    formula: 'monthly_queries × share × 1 % × ticket_cost_usd',
    of: ['support', 'both'],
  },
  {
    line: 'Answers a month whose passage a keyword search may miss',
    unit: 'answers a month',
    factors: ['monthly_queries'],
    formula: 'monthly_queries × share',
    of: ['rag'],
  },
];

function worth(line: Line, share: AuditShare, numbers: RoiNumbers): AuditRoiLine {
  const { formula, factors, constant = 1, unit } = line;
  const missing = factors.filter((name) => numbers[name] == null);
  const factor = factors.reduce((product, name) => product * (numbers[name] ?? 0), constant);
  const head = { line: line.line, unit };
  if (missing.length > 0) {
    const reason = `${missing.join(' and ')} ${missing.length > 1 ? 'were' : 'was'} not given`;
    return { ...head, low: null, high: null, formula, reason };
  }
  return { ...head, low: factor * share.low, high: factor * share.high, formula, reason: null };
}

/** The estimate of a use case; null where none of its numbers was given. */
export function roi(share: AuditShare, useCase: UseCase, numbers: RoiNumbers): AuditRoiLine[] | null {
  const mine = lines.filter(({ of }) => of === undefined || of.includes(useCase));
  const isGiven = mine.some(({ factors }) => factors.some((name) => numbers[name] != null));
  return isGiven ? mine.map((line) => worth(line, share, numbers)) : null;
}

/** What an estimate takes for granted. */
export const roiAssumptions: readonly string[] = [
  'The estimate multiplies your own numbers with both ends of the 95 % interval of the headline. It is no ' +
    'forecast: what a found record is worth, only a test in your own search tells.',
  'Queries are taken to want affected records as often as others. Where your most wanted records are ' +
    'cleaner ' +
    'or worse than the rest, the estimate is too high or too low.',
  'How many of these queries would have ended in an order or a ticket is not assumed: the lines say ' +
    'what each ' +
    '1 % of them is worth.',
];
