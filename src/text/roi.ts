/** Worth of a share in the caller's own numbers: ranges with their formulas, no promises. */
import type { AuditRoiLine, AuditShare, auditSurfaces, FreeAuditRequest } from '../contract/audit.js';

/** An input of a line. */
type Given = 'corpus_records_total' | 'monthly_queries' | 'months_running' | 'aov_usd' | 'ticket_cost_usd';

/** The inputs of an estimate. */
export type RoiNumbers = Pick<FreeAuditRequest, Given>;

type UseCase = NonNullable<FreeAuditRequest['use_case']>;

/** Number of records from which an interval is narrow enough to multiply: at most 20 points wide. */
const LEAST_RECORDS = 100;

/** Measurements. */
export interface Sample {
  readonly share: AuditShare;
  /** Number of records or queries examined. */
  readonly records: number;
  readonly surface: (typeof auditSurfaces)[number];
}

interface Line {
  readonly line: string;
  /** The line for an audit of queries; null: their share does not apply to it. */
  readonly ofQueries?: string | null;
  readonly unit: string;
  /** The numbers that are multiplied with the share. */
  readonly factors: readonly Given[];
  /** A constant factor, if any. */
  readonly constant?: number;
  readonly formula: string;
  /** Use cases whose reports include it; absent: all. */
  readonly of?: readonly UseCase[];
}

const PER_CENT = 0.01;

/** A line about the money in 1 % of the queries a month; it has no wording of its own for queries. */
function perCentWorth(line: string, usd: Given, useCase: UseCase): Line {
  return {
    line,
    unit: 'US dollars a month',
    factors: ['monthly_queries', usd],
    constant: PER_CENT,
    formula: `monthly_queries × share × 1 % × ${usd}`,
    of: [useCase, 'both'],
  };
}

const lines: readonly Line[] = [
  {
    line: 'Records that plain words do not find',
    ofQueries: null,
    unit: 'records',
    factors: ['corpus_records_total'],
    formula: 'corpus_records_total × share',
  },
  {
    line: 'Queries a month that may miss what they look for',
    ofQueries: 'Queries a month that miss plainly written records by a word',
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
  perCentWorth(
    'Order value for each 1 % of these queries that would have ended in an order',
    'aov_usd',
    'ecommerce',
  ),
  perCentWorth(
    'Ticket cost for each 1 % of these queries that became a ticket',
    'ticket_cost_usd',
    'support',
  ),
  {
    line: 'Answers a month whose passage a keyword search may miss',
    ofQueries: 'Answers a month whose question misses plainly written passages by a word',
    unit: 'answers a month',
    factors: ['monthly_queries'],
    formula: 'monthly_queries × share',
    of: ['rag'],
  },
];

/** Why a line has no figures; null if it has. */
function reasonOf({ factors, ofQueries }: Line, { records, surface }: Sample, numbers: RoiNumbers) {
  if (surface === 'queries' && ofQueries === null) {
    return 'the share is one of queries; audit records for this line';
  }
  const missing = factors.filter((name) => numbers[name] == null);
  if (missing.length > 0) {
    return `${missing.join(' and ')} ${missing.length > 1 ? 'were' : 'was'} not given`;
  }
  if (records >= LEAST_RECORDS) return null;
  return `at least ${LEAST_RECORDS} ${surface} are needed to carry it, these are ${records}`;
}

function worth(line: Line, sample: Sample, numbers: RoiNumbers): AuditRoiLine {
  const { formula, factors, constant = 1, unit } = line;
  const reason = reasonOf(line, sample, numbers);
  const named = sample.surface === 'queries' ? (line.ofQueries ?? line.line) : line.line;
  const head = { line: named, unit };
  if (reason !== null) return { ...head, low: null, high: null, formula, reason };
  const factor = factors.reduce((product, name) => product * (numbers[name] ?? 0), constant);
  const { low, high } = sample.share;
  return { ...head, low: factor * low, high: factor * high, formula, reason };
}

/** The estimate of a use case; null if none of its inputs was given. */
export function roi(sample: Sample, useCase: UseCase, numbers: RoiNumbers): AuditRoiLine[] | null {
  const mine = lines.filter(({ of }) => of === undefined || of.includes(useCase));
  const isGiven = mine.some(({ factors }) => factors.some((name) => numbers[name] != null));
  return isGiven ? mine.map((line) => worth(line, sample, numbers)) : null;
}

/** Assumptions of an estimate, of records or of queries. */
export function roiAssumptions(surface: string): string[] {
  return [
    'The estimate multiplies your own numbers with both ends of the 95 % interval of the headline. It is ' +
      'not a forecast: only a test in your own search shows what a found record is worth.',
    surface === 'queries'
      ? 'Each query is assumed to be asked as often as it occurs here. Where frequent ones are missing or ' +
        'occur only once, the estimate is too high or too low.'
      : 'Queries are assumed to want affected records as often as others. Where your most wanted records ' +
        'are cleaner or worse than the rest, the estimate is too high or too low.',
    'How many of these queries would have ended in an order or a ticket is not assumed: the lines say ' +
      'what each 1 % of them is worth.',
  ];
}
