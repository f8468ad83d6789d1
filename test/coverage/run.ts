/**
 * `npm run test:coverage -- [FOLDERS OR FILES OF SRC]`: runs the tests of these, or all tests, and prints for
 * each file which lines ran and each place that ran in no process: neither in the tests' own nor in one that
 * they started. V8 counts (Node's documentation, NODE_V8_COVERAGE); a process that is killed does not report.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Imports } from '../mutants/build.js';
import { coveredIn, type Interval, type Range } from '../mutants/intervals.js';
import { coverageOf, marks, type Coverage, type LineOf } from './lines.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const builtSource = join(root, 'dist/src');

/** A process's report. */
interface Report {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly Range[] }[];
  }[];
}

const asked = process.argv.slice(2).map((path) => relative(root, resolve(path)).replace(/\.ts$/, '.js'));
const imports = new Imports(root);

/** Whether a built file is one of those asked for. */
function isAsked(file: string): boolean {
  const path = relative(join(root, 'dist'), file);
  return asked.length === 0 || asked.some((each) => path === each || path.startsWith(`${each}/`));
}

/** What ran of each built file, process by process. */
function readReports(folder: string): Map<string, Interval[][]> {
  const ran = new Map<string, Interval[][]>();
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Report;
    for (const { url, functions } of result) {
      if (!url.startsWith(pathToFileURL(builtSource).href)) continue;
      const file = fileURLToPath(url);
      if (!isAsked(file)) continue;
      const intervals = coveredIn(functions.flatMap(({ ranges }) => ranges));
      ran.set(file, [...(ran.get(file) ?? []), intervals]);
    }
  }
  return ran;
}

function linesOf(file: string, text: string): LineOf {
  const map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')) as SourceMapPayload);
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return (place) => {
    const row = starts.findLastIndex((start) => start <= place);
    const entry = map.findEntry(row, place - (starts[row] ?? 0));
    return 'originalLine' in entry ? entry.originalLine + 1 : undefined;
  };
}

/** Runs tests so that every process reports into a folder; ends this process where one fails. */
function runTests(tests: readonly string[], folder: string): void {
  const env = { ...process.env, NODE_V8_COVERAGE: folder };
  const args = ['--test', '--test-reporter=dot', '--test-concurrency=3', ...tests];
  const { status } = spawnSync(process.execPath, args, { cwd: root, env, stdio: 'inherit' });
  if (status !== 0) console.log('Some tests fail: what they reach before is counted.');
}

function print(file: string, { lines, reached, unreached }: Coverage): void {
  const source = relative(join(root, 'dist'), file).replace(/\.js$/, '.ts');
  for (const { line, text } of unreached) console.log(`${source}:${line}  ${text.slice(0, 90)}`);
  console.log(`${source}: ${reached} of ${lines} lines, ${unreached.length} places never run`);
}

const folder = mkdtempSync(join(tmpdir(), 'fusegate-coverage-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const files = imports.under('dist/src').filter((file) => isAsked(file) && !file.endsWith('.d.js'));
const elsewhere = /\/peers\//;
const all = imports.under('dist/test').filter((test) => test.endsWith('.test.js') && !elsewhere.test(test));
const tests = asked.length === 0 ? all : [...new Set(files.flatMap((file) => imports.testsFor(file)))];
runTests(tests, folder);
const ran = readReports(folder);
const sum = { lines: 0, reached: 0 };
for (const file of files) {
  const text = readFileSync(file, 'utf8');
  const coverage = coverageOf(text, marks(text.length, ran.get(file) ?? []), linesOf(file, text));
  print(file, coverage);
  sum.lines += coverage.lines;
  sum.reached += coverage.reached;
}
console.log(`${sum.reached} of ${sum.lines} lines`);
