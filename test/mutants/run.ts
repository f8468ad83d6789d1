/**
 * `npm run test:mutants FILES [TESTS] [--since COMMIT] [--seconds N]`: changes built files one place at a
 * time, runs the tests that reach the place, and prints which changes no test noticed. Everything happens
 * in a copy of the build. The tests are those given, or those of the same folder and those that import the
 * file, as far as they run it in their own process and in N seconds (15): what survives may still be
 * noticed by a test that starts a server. With `--since`, only lines that differ from that commit are
 * changed.
 */
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { mutated, mutationsOf, type Mutation } from './mutations.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { since: { type: 'string' }, seconds: { type: 'string', default: '15' } },
});

/** Longest that a test file may run when nothing is changed (ms): slower ones are left out. */
const mostMs = Number(values.seconds) * 1_000;

/** A copy of the build beside links to everything else, in which nothing harms the project. */
function makeBox(): string {
  const box = mkdtempSync(join(tmpdir(), 'fusegate-mutants-'));
  process.on('exit', () => rmSync(box, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
  for (const name of readdirSync(root)) {
    if (!['dist', 'target', '.git'].includes(name)) symlinkSync(join(root, name), join(box, name));
  }
  cpSync(join(root, 'dist'), join(box, 'dist'), { recursive: true });
  return box;
}

/** Compiled test files under a folder. */
function testsUnder(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => join(folder, name))
    .sort();
}

/** Files of the build that a file imports. */
function importsOf(file: string): string[] {
  const names = [...readFileSync(file, 'utf8').matchAll(/^(?:import|export) .*?from '(\.[^']+)';$/gms)];
  return names.map(([, name = '']) => resolve(dirname(file), name));
}

/** Whether a test file is there for a built one: it lies in the folder of the same name, or imports it. */
function isFor(test: string, file: string): boolean {
  const folder = (path: string): string => basename(dirname(path));
  return folder(test) === folder(file) || importsOf(test).includes(file);
}

/** Runs a test file; whether it passed. A failure ends it at once. */
function passes(box: string, test: string, timeoutMs: number, environment = {}): Promise<boolean> {
  return new Promise((settle) => {
    const child = spawn(process.execPath, ['--enable-source-maps', '--test-reporter=tap', test], {
      cwd: box,
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, ...environment },
    });
    const end = (passed: boolean): void => {
      clearTimeout(timer);
      settle(passed);
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has ended with all that it started.
      }
    };
    const timer = setTimeout(() => end(false), timeoutMs);
    child.stdout.on('data', (data: Buffer) => {
      if (/^ *not ok /m.test(data.toString())) end(false);
    });
    child.on('close', (code) => end(code === 0));
  });
}

/** What V8 writes of one process (Profiler.takePreciseCoverage). */
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly ranges: readonly {
        readonly startOffset: number;
        readonly endOffset: number;
        readonly count: number;
      }[];
    }[];
  }[];
}

/** A test file, how long it takes, and whether it runs a place of the file. */
interface Reaching {
  readonly test: string;
  readonly ms: number;
  readonly reaches: (offset: number) => boolean;
}

function reachedIn(folder: string, file: string): ((offset: number) => boolean) | undefined {
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  const scripts = texts.flatMap((text) => (JSON.parse(text) as Coverage).result);
  const ranges = scripts
    .filter(({ url }) => url === pathToFileURL(file).href)
    .map(({ functions }) => functions.flatMap((each) => each.ranges));
  if (ranges.length === 0) return undefined;
  return (offset) =>
    ranges.some((script) => {
      const around = script.filter((each) => each.startOffset <= offset && offset < each.endOffset);
      const sizes = around.map((each) => each.endOffset - each.startOffset);
      return around.some((each, index) => sizes[index] === Math.min(...sizes) && each.count > 0);
    });
}

/** A test file that was run, how long it took, and where its coverage is. */
interface Measured {
  readonly ms: number;
  readonly coverage: string | undefined;
}

const measured = new Map<string, Promise<Measured>>();

/** Runs a test file, once for all source files. */
async function measure(box: string, test: string): Promise<Measured> {
  const coverage = mkdtempSync(join(box, 'coverage-'));
  const begunMs = performance.now();
  const passed = await passes(box, test, mostMs, { NODE_V8_COVERAGE: coverage });
  if (!passed) console.log(`${relative(box, test)} is left out: it fails, or takes too long`);
  return { ms: performance.now() - begunMs, coverage: passed ? coverage : undefined };
}

/** The test files that run a file, the quickest first. */
async function reaching(box: string, file: string, given: readonly string[]): Promise<Reaching[]> {
  const all = testsUnder(join(box, 'dist/test')).filter((test) => !test.includes('/peers/'));
  const tests = given.length > 0 ? given : all.filter((test) => isFor(test, file));
  const found: Reaching[] = [];
  for (const test of tests) {
    const run = measured.get(test) ?? measure(box, test);
    measured.set(test, run);
    const { ms, coverage } = await run;
    const reaches = coverage === undefined ? undefined : reachedIn(coverage, file);
    if (reaches !== undefined) found.push({ test, ms, reaches });
  }
  return found.sort((left, right) => left.ms - right.ms);
}

/** What became of a file's mutations. */
interface Score {
  readonly all: number;
  readonly killed: number;
}

/** The source line (from 1) of each place of a built file; undefined where the compiler wrote it. */
function linesOf(file: string, text: string): (mutation: Mutation) => number | undefined {
  const map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')) as SourceMapPayload);
  return ({ from }) => {
    const before = text.slice(0, from).split('\n');
    const entry = map.findEntry(before.length - 1, before.at(-1)?.length ?? 0);
    return 'originalLine' in entry ? entry.originalLine + 1 : undefined;
  };
}

/** Says where a mutation is in the source, and what it does. */
function shown(line: number | undefined, text: string, mutation: Mutation): string {
  const short = (part: string): string => part.replaceAll(/\s+/g, ' ').slice(0, 100);
  const around = text.slice(text.lastIndexOf('\n', mutation.from - 1) + 1, mutation.from).trimStart();
  const was = short(text.slice(mutation.from, mutation.to));
  return `:${line ?? '?'}  ${short(around)}[${was} → ${mutation.text}]`;
}

/** Whether a source line differs from its commit, or all lines where none was named. */
function changedLines(source: string): (line: number | undefined) => boolean {
  if (values.since === undefined) return () => true;
  const diff = execFileSync('git', ['diff', '-U0', values.since, '--', source], {
    cwd: root,
    encoding: 'utf8',
  });
  const ranges = [...diff.matchAll(/^@@ -\S+ \+(\d+)(?:,(\d+))? @@/gm)].map(([, first, count]) => ({
    first: Number(first),
    end: Number(first) + Number(count ?? 1),
  }));
  return (line) => line !== undefined && ranges.some(({ first, end }) => first <= line && line < end);
}

/** Tries every mutation of a source file. */
async function tryFile(box: string, source: string, given: readonly string[]): Promise<Score> {
  const file = join(box, 'dist', source.replace(/\.ts$/, '.js'));
  const text = readFileSync(file, 'utf8');
  const tests = await reaching(box, file, given);
  const [lineOf, changed] = [linesOf(file, text), changedLines(source)];
  const mutations = mutationsOf(text).filter((mutation) => changed(lineOf(mutation)));
  let killed = 0;
  for (const mutation of mutations) {
    const own = tests.filter(({ reaches }) => reaches(mutation.reached));
    writeFileSync(file, mutated(text, mutation));
    let noticed = false;
    for (const { test, ms } of own) {
      noticed = !(await passes(box, test, ms * 4 + 5_000));
      if (noticed) break;
    }
    if (noticed) killed += 1;
    else
      console.log(
        `${source}${shown(lineOf(mutation), text, mutation)}${own.length === 0 ? '  (not reached)' : ''}`,
      );
  }
  writeFileSync(file, text);
  const percent = mutations.length === 0 ? 100 : Math.floor((100 * killed) / mutations.length);
  console.log(
    `${source}: ${killed} of ${mutations.length} noticed (${percent} %), by ${tests.length} test files`,
  );
  return { all: mutations.length, killed };
}

const args = positionals.map((path) => relative(root, resolve(path)));
const sources = args.filter((path) => path.startsWith('src/'));
const box = makeBox();
const given = args
  .filter((path) => /^(dist\/)?test\//.test(path))
  .map((path) => join(box, 'dist', path.replace(/^dist\//, '').replace(/\.ts$/, '.js')));
if (sources.length === 0) {
  console.error('Name source files: npm run test:mutants src/access/tiers.ts');
  process.exit(2);
}
const scores: Score[] = [];
for (const source of sources) scores.push(await tryFile(box, source, given));
const [all, killed] = [
  scores.reduce((sum, each) => sum + each.all, 0),
  scores.reduce((sum, each) => sum + each.killed, 0),
];
if (sources.length > 1) console.log(`Together: ${killed} of ${all} noticed`);
process.exit(killed === all ? 0 : 1);
