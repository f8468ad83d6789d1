/**
 * `npm run test:mutants -- FILES [TESTS] [--since COMMIT] [--most N] [--seconds N] [--whole TEST] [--anew]`:
 * changes built files one place at a time, runs the tests that reach the place, and prints which changes no
 * test noticed. Everything happens in a copy of the build. The tests are those given, or those of the same
 * folder and those that import the file, themselves or by their helpers, as far as a file of them runs in N
 * seconds (15). A process stays for many changes, and runs only tests that reach the place (`worker.ts`). A
 * change that survives them is tried with each test named by `--whole`, a file that starts processes which
 * nothing measures. With `--since`, only lines that differ from that commit are changed; with `--most`, N
 * places of each file, spread over it; with `--for`, no more are tried after N seconds. Verdicts of earlier
 * runs count (`verdicts.ts`), but with `--anew`. Files of Rust are tried by `rust.ts`.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Imports, makeBox } from './build.js';
import { Measurements, type Reaching } from './measured.js';
import { mutated, mutationsOf, spread, type Mutation } from './mutations.js';
import { succeeds, TestProcess } from './process.js';
import { readReasons, shown, withoutChange } from './reasons.js';
import { tryRust } from './rust.js';
import { byFolder, inWords, type Score } from './score.js';
import { Verdicts } from './verdicts.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    since: { type: 'string' },
    most: { type: 'string', default: 'Infinity' },
    seconds: { type: 'string', default: '15' },
    whole: { type: 'string', multiple: true, default: [] },
    anew: { type: 'boolean', default: false },
    for: { type: 'string', default: 'Infinity' },
  },
});

/** Longest that a test file may run when nothing is changed (ms): slower ones are left out. */
const mostMs = Number(values.seconds) * 1_000;

/** Longest that a file named by `--whole` may run (ms). */
const wholeMs = 180_000;

/** When no more changes are tried (ms). */
const endMs = performance.now() + Number(values.for) * 1_000;

/** Time beyond that of a run without changes after which a run counts as stuck (ms). */
const stuckMs = 5_000;

const box = makeBox(root);
const imports = new Imports(box);
const reasons = readReasons(root);
const measurements = new Measurements(root, box, imports, mostMs);

/** Runs a whole test file in a process of its own, as `npm test` does; whether it passed. */
function passesAlone(test: string, timeoutMs: number): Promise<boolean> {
  return succeeds([process.execPath, test], box, timeoutMs);
}

/** The test that notices what is changed now. */
async function whoNotices(worker: TestProcess, tests: readonly Reaching[]): Promise<string | undefined> {
  for (const { test, only, ms } of tests) {
    const timeoutMs = ms * 4 + stuckMs;
    const { kind } = await worker.ask({ kind: 'run', test, only }, timeoutMs);
    if (kind === 'failed' || kind === 'late') return test;
    if (kind === 'unsure' && !(await passesAlone(test, timeoutMs + mostMs))) return test;
  }
  for (const test of whole) if (!(await passesAlone(test, wholeMs))) return test;
  return undefined;
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

/** The tests that reach a place of a built file, the fastest first. */
async function reachingAll(tests: readonly string[], file: string, place: number): Promise<Reaching[]> {
  const found: Reaching[] = [];
  for (const test of tests) {
    const reaching = await measurements.reaching(test, file, place);
    if (reaching !== undefined) found.push(reaching);
  }
  return found.sort((left, right) => left.ms - right.ms);
}

/** Tries every mutation of a source file. */
async function tryFile(source: string, given: readonly string[]): Promise<Score> {
  const file = join(box, 'dist', source.replace(/\.ts$/, '.js'));
  const text = readFileSync(file, 'utf8');
  const tests = given.length > 0 ? given : imports.testsFor(file);
  const [lineOf, changed] = [linesOf(file, text), changedLines(source)];
  const mutations = mutationsOf(text).filter((mutation) => changed(lineOf(mutation)));
  const tried = spread(mutations, Number(values.most));
  const verdicts = new Verdicts(root, box, imports, text, [...tests, ...whole]);
  const explained = reasons[source] ?? {};
  const stale = withoutChange(
    explained,
    mutationsOf(text).map((mutation) => shown(text, mutation)),
  );
  for (const change of stale) console.log(`${source}: a reason without a change: ${change}`);
  const worker = new TestProcess(box, [...new Set([...imports.to(file), ...imports.under('dist/test')])]);
  const trial = async (mutation: Mutation): Promise<boolean> => {
    const found = await reachingAll(tests, file, mutation.reached);
    writeFileSync(file, mutated(text, mutation));
    const test = await whoNotices(worker, found);
    verdicts.keep(mutation, test);
    return test !== undefined;
  };
  const score = { source, all: tried.length, killed: 0, explained: 0, left: 0 };
  for (const mutation of tried) {
    const change = shown(text, mutation);
    const known = values.anew ? undefined : verdicts.of(mutation);
    const isExplained = Object.hasOwn(explained, change);
    if (known === 'noticed') score.killed += 1;
    else if (isExplained && !values.anew) score.explained += 1;
    else if (known === undefined && performance.now() > endMs) score.left += 1;
    else {
      const place = `${source}:${lineOf(mutation) ?? '?'}  ${change}`;
      const noticed = known === undefined && (await trial(mutation));
      if (noticed) score.killed += 1;
      else if (isExplained) score.explained += 1;
      else console.log(place);
    }
  }
  worker.end();
  writeFileSync(file, text);
  console.log(`${source}: ${inWords(score)}`);
  return score;
}

const args = positionals.map((path) => relative(root, resolve(path)));
const sources = args.filter((path) => path.startsWith('src/'));
const builtTest = (path: string): string =>
  join(box, 'dist', path.replace(/^dist\//, '').replace(/\.ts$/, '.js'));
const given = args.filter((path) => /^(dist\/)?test\//.test(path)).map(builtTest);
const whole = values.whole.map(builtTest);
const rust = args.filter((path) => path.startsWith('native/core/src/'));
if (sources.length + rust.length === 0) {
  console.error('Name source files: npm run test:mutants -- src/access/tiers.ts');
  process.exit(2);
}
const scores: Score[] = [];
for (const source of sources) scores.push(await tryFile(source, given));
if (rust.length > 0) {
  const most = Number(values.most);
  const wish = { files: rust, since: values.since, most, endMs, tests: [...given, ...whole] };
  scores.push(...(await tryRust(root, box, wish, reasons)));
}
console.log(byFolder(scores));
process.exit(scores.every(({ all, killed, explained }) => all === killed + explained) ? 0 : 1);
