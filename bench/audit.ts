/**
 * `bench audit`: POST /v1/audit of 500 records of 2,000 characters, bytes in to value out, and `fusegate
 * audit` of a file of a gigabyte: its time and its largest resident memory. Every answer is checked against
 * how often each kind of damage was planted.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditResponse } from '../src/contract/audit.js';
import { native } from '../src/native/addon.js';
import { answerAudit } from '../src/text/auditAnswer.js';
import { projectRoot } from '../test/support/python.js';
import { machine, writeRecord } from './machine.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import { figure, figures, spread, type Spread } from './statistics.js';

/** What the command line may set. */
export interface AuditOptions extends RecordOptions {
  readonly rounds: number;
  /** Bytes of the file, in millions. */
  readonly megabytes: number;
}

const RECORDS = 500;
const CHARACTERS = 2000;
const REQUEST_MS = 60;
const FILE_MB = 300;

/** What is planted, in every so many records, and the issue that it is found as. */
const planted: readonly { readonly every: number; readonly damage: string; readonly issue: string }[] = [
  { every: 20, damage: 'cafÃ© crÃ¨me', issue: 'mojibake' },
  { every: 25, damage: 'pass\u200bword', issue: 'invisible_characters' },
  { every: 50, damage: 'p\u0430ypal', issue: 'mixed_script_confusables' },
  { every: 40, damage: 'I ❤️ it', issue: 'emoji_and_symbols' },
  { every: 100, damage: '<b>bold</b>', issue: 'html_residue' },
];

const words = (
  'the boundary layer over a flat plate in steady flow of air at high speed was measured with two ' +
  'probes and ' +
  'compared with theory naïve façade Zürich where heat transfer is small'
).split(' ');

/** Text of a record: words that differ from record to record, and what is planted in it. */
function recordText(number: number, characters: number): string {
  let text = `${number}`;
  for (let at = number; text.length < characters; at++) text += ` ${words[(at * 7919) % words.length] ?? ''}`;
  const damages = planted.filter(({ every }) => number % every === 0).map(({ damage }) => damage);
  const tail = damages.length === 0 ? '' : ` ${damages.join(' ')}`;
  return `${text.slice(0, characters - tail.length)}${tail}`;
}

/** Fails unless every planted damage was found as often as it was planted, and nothing else. */
function check(report: AuditResponse, records: number): void {
  const expected = planted.map(({ every, issue }) => `${issue} ${Math.ceil(records / every)}`).sort();
  const found = report.issues.filter(({ issue, count }) => count > 0 && issue !== 'over_long');
  const counted = found.map(({ issue, count }) => `${issue} ${count}`).sort();
  if (report.records !== records || expected.join() !== counted.join()) {
    throw new Error(
      `${report.records} of ${records} records; found ${counted.join()}, not ${expected.join()}`,
    );
  }
}

function measureRequest(rounds: number): Spread {
  const records = Array.from({ length: RECORDS }, (_, number) => recordText(number, CHARACTERS));
  const body = Buffer.from(JSON.stringify({ records, include_html: false }));
  const times = Array.from({ length: rounds + 3 }, () => {
    const start = process.hrtime.bigint();
    const answer = answerAudit(body, native, 2);
    const ms = Number(process.hrtime.bigint() - start) / 1e6;
    if ('errors' in answer) throw new Error(JSON.stringify(answer.errors));
    check(answer.report, RECORDS);
    return ms;
  });
  // The first ones are before the code is compiled.
  return spread(times.slice(3));
}

/** Writes a CSV file of about so many bytes; returns how many records it has. */
function writeFile(path: string, bytes: number): number {
  const file = openSync(path, 'w');
  let written = 0;
  let number = 0;
  while (written < bytes) {
    let rows = number === 0 ? 'id,text\n' : '';
    for (const end = number + 1000; number < end; number++)
      rows += `${number},"${recordText(number, 500)}"\n`;
    written += writeSync(file, rows);
  }
  closeSync(file);
  return number;
}

/** Largest resident memory of a process so far, in bytes (proc(5), VmHWM); 0 once it has gone. */
function peakOf(pid: number): number {
  try {
    return 1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

async function measureFile(path: string, records: number): Promise<{ seconds: number; peakBytes: number }> {
  const start = process.hrtime.bigint();
  const program = join(projectRoot, 'dist/src/main.js');
  const child = spawn(process.execPath, [program, 'audit', path, '--json'], { cwd: projectRoot });
  let text = '';
  let peakBytes = 0;
  child.stdout.on('data', (data: Buffer) => (text += data.toString()));
  const watch = setInterval(() => (peakBytes = Math.max(peakBytes, peakOf(child.pid ?? 0))), 20);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  clearInterval(watch);
  if (code !== 0) throw new Error(`fusegate audit ended with ${code ?? 'a signal'}`);
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  check(JSON.parse(text) as AuditResponse, records);
  return { seconds, peakBytes };
}

async function measureFiles({
  rounds,
  megabytes,
}: AuditOptions): Promise<{ seconds: Spread; peakMB: Spread }> {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-bench-'));
  try {
    const path = join(folder, 'records.csv');
    const records = writeFile(path, megabytes * 1e6);
    const all = [];
    for (let round = 0; round < Math.min(rounds, 3); round++) all.push(await measureFile(path, records));
    return {
      seconds: spread(all.map(({ seconds }) => seconds)),
      peakMB: spread(all.map(({ peakBytes }) => peakBytes / 1e6)),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs it all, prints figures beside their targets, and writes the record; resolves to the exit code. */
export async function benchAudit(options: AuditOptions): Promise<number> {
  const say = (line: string): void => console.error(line);
  const host = machine();
  const startedAt = new Date();
  say(`${RECORDS} records of ${CHARACTERS} characters …`);
  const requestMs = measureRequest(options.rounds);
  say(`A file of ${options.megabytes} MB …`);
  const { seconds, peakMB } = await measureFiles(options);
  const reached = { request: requestMs.median < REQUEST_MS, file: peakMB.max > 0 && peakMB.max < FILE_MB };
  const rate = options.megabytes / seconds.median;
  const { rounds, megabytes } = options;
  const settings = { rounds, megabytes, records: RECORDS, characters: CHARACTERS };
  const record = {
    ...{ startedAt: startedAt.toISOString(), machine: host, settings },
    ...{ requestMs, fileSeconds: seconds, filePeakMB: peakMB, targets: { REQUEST_MS, FILE_MB }, reached },
  };
  const verdict = (is: boolean): string => (is ? 'pass' : 'missed');
  if (options.json) console.log(JSON.stringify(record, null, 2));
  else {
    console.log(`request: ${figures(requestMs)} ms  [target < ${REQUEST_MS}: ${verdict(reached.request)}]`);
    console.log(`file: ${figures(seconds)} s, ${figure(rate)} MB/s`);
    console.log(`file, peak memory: ${figures(peakMB)} MB  [target < ${FILE_MB}: ${verdict(reached.file)}]`);
  }
  if (options.record) {
    const drawn = dotPlot({
      title: 'Audits: one request, and a file from the command line',
      subtitle: `Median and range of the rounds. ${host.cpu}, Node ${host.node.slice(1)}`,
      axis: 'milliseconds (logarithmic)',
      series: ['Fusegate'],
      rows: [
        { label: '500 × 2,000 characters', values: [requestMs], note: `target < ${REQUEST_MS} ms` },
        {
          label: `CSV of ${figure(megabytes)} MB`,
          values: [spread([seconds.min, seconds.median, seconds.max].map((each) => each * 1000))],
          note: `${figure(peakMB.max)} MB at most`,
        },
      ],
    });
    for (const file of writeRecord('audit', startedAt, record, drawn)) say(`Wrote ${file}`);
  }
  return reached.request && reached.file ? 0 : 2;
}
