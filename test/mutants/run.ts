/**
 * `npm run test:mutants -- FILES [TESTS] [--since COMMIT] [--most N] [--seconds N]`: changes built files one
 * place at a time, runs the tests that reach the place, and prints which changes no test noticed. Everything
 * happens in a copy of the build. The tests are those given, or those of the same folder and those that
 * import the file, themselves or by their helpers, as far as a file of them runs in N seconds (15): what
 * survives may still be noticed by a test that starts a server. A process stays for many changes, and runs
 * only tests that reach the place (`worker.ts`). With `--since`, only lines that differ from that commit are
 * changed; with `--most`, N places of each file, spread over it.
 */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Imports, makeBox } from './build.js';
import { Measurements, type Reaching } from './measured.js';
import { mutated, mutationsOf, type Mutation } from './mutations.js';
import { TestProcess } from './process.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    since: { type: 'string' },
    most: { type: 'string', default: 'Infinity' },
    seconds: { type: 'string', default: '15' },
  },
});

/** Longest that a test file may run when nothing is changed (ms): slower ones are left out. */
const mostMs = Number(values.seconds) * 1_000;

/** Time beyond that of a run without changes after which a run counts as stuck (ms). */
const stuckMs = 5_000;

const box = makeBox(root);
const imports = new Imports(box);
const measurements = new Measurements(root, box, imports, mostMs);

/** Whether a test file is there for a built one: it lies in the folder of the same name, or imports it. */
function isFor(test: string, file: string): boolean {
  const folder = (path: string): string => basename(dirname(path));
  const isHelper = (path: string): boolean => path.startsWith(join(box, 'dist/test/'));
  return folder(test) === folder(file) || imports.from(test, isHelper).has(file);
}

/** Test files that are tried for a built file. */
function testsFor(file: string, given: readonly string[]): readonly string[] {
  if (given.length > 0) return given;
  const all = imports.under('dist/test').filter((test) => test.endsWith('.test.js'));
  return all.filter((test) => !test.includes('/peers/') && isFor(test, file));
}

/** Runs a whole test file in a process of its own, as `npm test` does; whether it passed. */
function passesAlone(test: string, timeoutMs: number): Promise<boolean> {
  return new Promise((settle) => {
    const child = spawn(process.execPath, [test], { cwd: box, detached: true, stdio: 'ignore' });
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    child.on('close', (code) => {
      clearTimeout(timer);
      settle(code === 0);
    });
  });
}

/** Whether some test notices what is changed now. */
async function isNoticed(worker: TestProcess, tests: readonly Reaching[]): Promise<boolean> {
  for (const { test, only, ms } of tests) {
    const timeoutMs = ms * 4 + stuckMs;
    const { kind } = await worker.ask({ kind: 'run', test, only }, timeoutMs);
    if (kind === 'failed' || kind === 'late') return true;
    if (kind === 'unsure' && !(await passesAlone(test, timeoutMs + mostMs))) return true;
  }
  return false;
}

/** What became of a file's mutations. */
interface Score {
  readonly source: string;
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
  return `:${line ?? '?'}  ${short(around)}[${was} → ${short(mutation.text)}]`;
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

/** At most so many of a list, spread over it. */
function spread<Each>(list: readonly Each[], most: number): readonly Each[] {
  const step = Math.max(1, list.length / most);
  return list.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
}

/** Tries every mutation of a source file. */
async function tryFile(source: string, given: readonly string[]): Promise<Score> {
  const file = join(box, 'dist', source.replace(/\.ts$/, '.js'));
  const text = readFileSync(file, 'utf8');
  const tests = testsFor(file, given);
  const [lineOf, changed] = [linesOf(file, text), changedLines(source)];
  const mutations = mutationsOf(text).filter((mutation) => changed(lineOf(mutation)));
  const tried = spread(mutations, Number(values.most));
  const fresh = new Set([...imports.to(file), ...imports.under('dist/test')]);
  const worker = new TestProcess(box, [...fresh]);
  let killed = 0;
  for (const mutation of tried) {
    const found: Reaching[] = [];
    for (const test of tests) {
      const reaching = await measurements.reaching(test, file, mutation.reached);
      if (reaching !== undefined) found.push(reaching);
    }
    writeFileSync(file, mutated(text, mutation));
    const noticed = await isNoticed(
      worker,
      found.sort((left, right) => left.ms - right.ms),
    );
    if (noticed) killed += 1;
    else {
      const why = found.length === 0 ? '  (not reached)' : '';
      console.log(`${source}${shown(lineOf(mutation), text, mutation)}${why}`);
    }
  }
  worker.end();
  writeFileSync(file, text);
  console.log(`${source}: ${killed} of ${tried.length} noticed`);
  return { source, all: tried.length, killed };
}

/** One line a folder. */
function byFolder(scores: readonly Score[]): string {
  const folders = [...new Set(scores.map(({ source }) => dirname(source)))];
  const lines = folders.map((folder) => {
    const own = scores.filter(({ source }) => dirname(source) === folder);
    const [all, killed] = [
      own.reduce((sum, each) => sum + each.all, 0),
      own.reduce((sum, each) => sum + each.killed, 0),
    ];
    const percent = all === 0 ? 100 : Math.floor((100 * killed) / all);
    return `${folder.padEnd(20)} ${killed} of ${all} noticed (${percent} %)`;
  });
  return lines.join('\n');
}

const args = positionals.map((path) => relative(root, resolve(path)));
const sources = args.filter((path) => path.startsWith('src/'));
const given = args
  .filter((path) => /^(dist\/)?test\//.test(path))
  .map((path) => join(box, 'dist', path.replace(/^dist\//, '').replace(/\.ts$/, '.js')));
if (sources.length === 0) {
  console.error('Name source files: npm run test:mutants -- src/access/tiers.ts');
  process.exit(2);
}
const scores: Score[] = [];
for (const source of sources) scores.push(await tryFile(source, given));
console.log(byFolder(scores));
process.exit(scores.every(({ all, killed }) => all === killed) ? 0 : 1);
