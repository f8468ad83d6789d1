/** `fusegate audit FILE`: POST /v1/audit for a file of any size, with its report as a page. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { auditDefaults, auditFormats, auditSurfaces, auditUseCases } from '../contract/audit.js';
import type { AuditResponse } from '../contract/audit.js';
import type { AuditFindings, FileAuditStep } from '../native/index.js';
import { reportPage } from '../pages/auditReport.js';
import type { Clock } from '../system/clock.js';
import { reasonOf } from '../system/reason.js';
import { auditReport, knownStack, type AuditContext, type Versions } from '../text/audit.js';
import { stacks } from '../text/stacks.js';
import { nearestName } from '../system/lookalikes.js';
import { writeOwn, type WriteFile } from './ownFile.js';
import { progressOn } from './progress.js';

/** An audit of one file, part by part. */
export interface FileAuditing {
  readonly step: (threads: number) => Promise<FileAuditStep>;
  readonly findings: () => AuditFindings | null;
}

/** Dependencies of the command. */
export interface AuditCommandParts {
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly cores: number;
  readonly openFile: (path: string, format: string, stack: string) => FileAuditing;
  /** Size of a file in bytes. @throws Error with the reason if it cannot be read */
  readonly sizeOf: (path: string) => number;
  /** Copies standard input to a temporary file; `remove` deletes it. */
  readonly spool: () => Promise<{ readonly path: string; readonly remove: () => void }>;
  /**
   * @throws Error if the file cannot be written
   */
  readonly writeFile: WriteFile;
  readonly versions: () => Versions;
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
  readonly progressTo: NodeJS.WriteStream;
}

interface GivenOptions {
  readonly format: string;
  readonly report?: string;
  readonly json: boolean;
  readonly company: string;
  readonly stack?: string;
  readonly vertical?: string;
  readonly useCase: NonNullable<AuditContext['use_case']>;
  readonly surface: NonNullable<AuditContext['surface']>;
  readonly corpusRecords?: number;
  readonly monthlyQueries?: number;
  readonly monthsRunning?: number;
  readonly aovUsd?: number;
  readonly ticketCostUsd?: number;
}

/** A parser of numbers from 0 to the contract's limit. */
function numberTo(most: number, whole: boolean): (text: string) => number {
  return (text) => {
    const value = Number(text);
    const fits = text.trim() !== '' && value >= 0 && value <= most && (!whole || Number.isInteger(value));
    if (!fits) throw new InvalidArgumentError(`a ${whole ? 'whole ' : ''}number from 0 to ${most} is needed`);
    return value;
  };
}

function contextOf(given: GivenOptions): AuditContext {
  return {
    stack: given.stack ?? null,
    vertical: given.vertical ?? null,
    use_case: given.useCase,
    surface: given.surface,
    corpus_records_total: given.corpusRecords ?? null,
    monthly_queries: given.monthlyQueries ?? null,
    months_running: given.monthsRunning ?? null,
    aov_usd: given.aovUsd ?? null,
    ticket_cost_usd: given.ticketCostUsd ?? null,
  };
}

/** The unit in which a file's progress is shown, and its size in bytes: small files have small units. */
function unitOf(size: number): readonly [string, number] {
  if (size < 1e4) return ['bytes', 1];
  return size < 1e7 ? ['kB', 1e3] : ['MB', 1e6];
}

/** Warns if a named stack is unknown, and names the nearest one. */
function sayUnknownStack(given: string | undefined, printError: AuditCommandParts['printError']): void {
  if (given === undefined || given.toLowerCase() === 'custom') return;
  if (knownStack(given).stack !== 'custom') return;
  const names = stacks.map(({ stack }) => stack);
  const nearest = nearestName(
    given,
    names.map((name) => name.toUpperCase()),
  ).toLowerCase();
  printError(
    `There is no stack ${JSON.stringify(given)}: it is judged as custom. Did you mean ${nearest}? ` +
      `The stacks are ${names.join(', ')}.`,
  );
}

/** Audits standard input, after reading it to its end. */
async function auditInput(given: GivenOptions, parts: AuditCommandParts): Promise<AuditFindings | string> {
  const spooled = await parts.spool().catch((error: unknown) => {
    const why = `Standard input cannot be kept in the temporary folder (${reasonOf(error)}).`;
    return `${why} Set TMPDIR to one with room.`;
  });
  if (typeof spooled === 'string') return spooled;
  const { path, remove } = spooled;
  try {
    const found = await auditFile(path, given, parts);
    return typeof found === 'string' ? found.replaceAll(path, 'Standard input') : found;
  } finally {
    remove();
  }
}

/** Audits the file part by part; returns the findings, or a sentence if there are none. */
async function auditFile(
  path: string,
  { format, stack }: GivenOptions,
  parts: AuditCommandParts,
): Promise<AuditFindings | string> {
  let size: number;
  try {
    size = parts.sizeOf(path);
  } catch (error) {
    return `${path} cannot be read (${reasonOf(error)}).`;
  }
  const [unit, bytesOfUnit] = unitOf(size);
  const display = progressOn(parts.progressTo, unit);
  const audit = parts.openFile(path, format, knownStack(stack).stack);
  for (;;) {
    const { bytes, more, fault } = await audit.step(parts.cores);
    if (fault != null) {
      display.end();
      return `${path}: ${fault}.`;
    }
    display.progress('audit', Math.ceil(bytes / bytesOfUnit), Math.ceil(size / bytesOfUnit));
    if (!more) break;
  }
  display.end();
  return audit.findings() ?? `${path} was not read.`;
}

const COLUMNS = 100;

/** A sentence wrapped into lines; a number and its unit stay together. */
function wrapped(sentence: string): string {
  let column = 0;
  return sentence
    .split(/ (?!%)/)
    .map((word, at) => {
      const fits = column + word.length < COLUMNS;
      const gap = at === 0 ? '' : fits ? ' ' : '\n';
      column = (fits ? column : 0) + gap.length + word.length;
      return `${gap}${word}`;
    })
    .join('');
}

function summary({ headline, issues }: AuditResponse): string[] {
  const found = issues.filter(({ count }) => count > 0).sort((left, right) => right.share - left.share);
  const width = Math.max(0, ...found.map(({ title }) => title.length));
  return [
    wrapped(headline.sentence),
    ...found.map(({ title, count, share, of }) => {
      const sample = of === 0 ? '' : `${(100 * share).toFixed(2).padStart(6)} %`;
      return `  ${title.padEnd(width)}  ${sample}  ${count.toLocaleString('en-US')}`;
    }),
  ];
}

/** Resolves to the exit code. */
async function audit(path: string, given: GivenOptions, parts: AuditCommandParts): Promise<number> {
  sayUnknownStack(given.stack, parts.printError);
  const found = path === '-' ? await auditInput(given, parts) : await auditFile(path, given, parts);
  if (typeof found === 'string') {
    parts.printError(found);
    return 1;
  }
  const report = auditReport(found, contextOf(given), parts.versions());
  if (given.report !== undefined) {
    const page = reportPage(report, { company: given.company, wallMs: parts.clock.wallMs() });
    const unwritten = writeOwn(parts.writeFile, given.report, page);
    if (unwritten !== undefined) {
      parts.printError(unwritten.wrong);
      return 1;
    }
  }
  if (given.json) {
    parts.print(JSON.stringify(report, null, 2));
    return 0;
  }
  for (const line of summary(report)) parts.print(line);
  if (given.report !== undefined) parts.print(`The report is in ${given.report}.`);
  return 0;
}

/** Adds `audit`. */
export function addAudit(program: Command, parts: AuditCommandParts): void {
  const { format, use_case: useCase, surface } = auditDefaults;
  const count = numberTo(1e10, true);
  program
    .command('audit')
    .description(
      'audit the records of a file of any size, with all cores; nothing of them leaves the machine',
    )
    .argument('<file>', 'CSV, JSON Lines, JSON or lines, in UTF-8; - is standard input')
    .addOption(new Option('--format <format>', 'how the file is cut').choices(auditFormats).default(format))
    .option('--report <file>', 'write the report as a page')
    .option('--json', 'print what was found as JSON, as POST /v1/audit answers', false)
    .option('--company <name>', 'name on the report', auditDefaults.company)
    .option('--stack <name>', 'search engine that is judged, such as elasticsearch')
    .option('--vertical <name>', 'line of business, such as retail')
    .addOption(
      new Option('--use-case <name>', 'what the estimate is for').choices(auditUseCases).default(useCase),
    )
    .addOption(new Option('--surface <name>', 'what the file holds').choices(auditSurfaces).default(surface))
    .option('--corpus-records <n>', 'records in the whole corpus', count)
    .option('--monthly-queries <n>', 'queries a month', count)
    .option('--months-running <n>', 'months the search has run', numberTo(600, false))
    .option('--aov-usd <amount>', 'average order value in US dollars', numberTo(1e6, false))
    .option('--ticket-cost-usd <amount>', 'cost of one support ticket in US dollars', numberTo(1e5, false))
    .allowExcessArguments(false)
    .action(async (file: string, options: GivenOptions) => {
      process.exitCode = await audit(file, options, parts);
    });
}
