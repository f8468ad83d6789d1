/**
 * Rust files of the core, whose changes cargo-mutants makes (https://mutants.rs): it builds each in a copy of
 * the sources and runs the core's tests on it. Its findings are shown as those of TypeScript are.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shown, type Reasons } from './reasons.js';
import type { Score } from './score.js';

/** Which changes are made. */
export interface RustWish {
  readonly files: readonly string[];
  /** Only lines that differ from this commit; undefined: all. */
  readonly since: string | undefined;
  /** At most this many, spread over the files. */
  readonly most: number;
  /** No more are tried after this time. */
  readonly seconds: number;
}

/** A place of a file as cargo-mutants counts it: lines and columns from 1. */
interface Place {
  readonly line: number;
  readonly column: number;
}

/** A change, as `cargo mutants --list --json` shows it. */
interface Change {
  readonly file: string;
  readonly span: { readonly start: Place; readonly end: Place };
  readonly replacement: string;
}

/** An entry of `outcomes.json`. */
interface Tried {
  readonly scenario: 'Baseline' | { readonly Mutant: Change };
  readonly summary: 'Success' | 'CaughtMutant' | 'MissedMutant' | 'Timeout' | 'Unviable' | 'Failure';
}

/** Where the runner's own build of the core is; its parts that no change concerns are built once. */
const target = 'target/mutants/cargo';

/** Where cargo-mutants leaves what it found. */
const found = 'target/mutants/rust';

/**
 * Builds of one change each: tests that draw much take two minutes where nothing is optimized, and seconds
 * where a little is.
 */
const quickBuild = {
  CARGO_PROFILE_DEV_DEBUG: '0',
  CARGO_PROFILE_DEV_OPT_LEVEL: '1',
  CARGO_INCREMENTAL: '1',
} as const;

/** Generated tables, and the slow twins that tests compare with. */
const left = ['**/*_tables.rs', '**/naive.rs', 'native/core/examples/**'];

function needTool(): void {
  const { status } = spawnSync('cargo', ['mutants', '--version'], { stdio: 'ignore' });
  if (status === 0) return;
  console.error('Changes of Rust need cargo-mutants. Run: cargo install cargo-mutants --locked');
  process.exit(2);
}

/** What cargo-mutants is told of the changes that are wanted. */
function wanted(root: string, { files, since }: RustWish): string[] {
  const options = files.flatMap((file) => ['--file', file]);
  for (const glob of left) options.push('--exclude', glob);
  if (since === undefined) return options;
  const diff = join(root, found, 'since.diff');
  writeFileSync(diff, execFileSync('git', ['diff', since, '--', ...files], { cwd: root }));
  return [...options, '--in-diff', diff];
}

/** The place of a text that a line and a column name. */
function offsetOf(text: string, { line, column }: Place): number {
  let from = 0;
  for (let at = 1; at < line; at += 1) from = text.indexOf('\n', from) + 1;
  return from + column - 1;
}

/** A change in words, as it is shown for TypeScript. */
function inWords(root: string, { file, span, replacement }: Change): string {
  const text = readFileSync(join(root, file), 'utf8');
  const [from, to] = [offsetOf(text, span.start), offsetOf(text, span.end)];
  return shown(text, { from, to, text: replacement });
}

/** Tries the changes of Rust files and prints each that no test noticed. */
export function tryRust(root: string, wish: RustWish, reasons: Readonly<Record<string, Reasons>>): Score[] {
  needTool();
  const out = join(root, found);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const options = wanted(root, wish);
  const list = execFileSync('cargo', ['mutants', '--list', '--json', ...options], {
    ...{ cwd: root, encoding: 'utf8', maxBuffer: 1 << 30 },
  });
  const all = JSON.parse(list === '' ? '[]' : list) as readonly Change[];
  if (all.length === 0) return [];
  const shards = Math.max(1, Math.ceil(all.length / wish.most));
  spawnSync(
    'cargo',
    [
      ...['mutants', ...options, '--shard', `0/${shards}`, '--sharding', 'round-robin', '--no-shuffle'],
      ...['--package', 'fusegate-core', '--features', 'naive', '--jobs', '1'],
      ...['--timeout-multiplier', '3', '--minimum-test-timeout', '20', '--output', out],
      ...[`--cargo-arg=--target-dir=${join(root, target)}`, '--', '--lib', '--tests'],
    ],
    {
      ...{ cwd: root, stdio: 'inherit', env: { ...process.env, ...quickBuild } },
      // It then ends the test that runs, and keeps what it has found.
      ...(wish.seconds === Infinity ? {} : { timeout: wish.seconds * 1_000, killSignal: 'SIGINT' }),
    },
  );
  const tried = triedIn(join(out, 'mutants.out/outcomes.json'));
  const chosen = all.filter((_, at) => at % shards === 0);
  return withLeft(scoresOf(root, tried, reasons), chosen, tried);
}

/** What was tried; nothing where the time was over before the first build was. */
function triedIn(path: string): readonly Tried[] {
  if (!existsSync(path)) return [];
  const { outcomes } = JSON.parse(readFileSync(path, 'utf8')) as { readonly outcomes: readonly Tried[] };
  return outcomes;
}

/** Scores with the changes that there was no time for. */
function withLeft(scores: readonly Score[], chosen: readonly Change[], tried: readonly Tried[]): Score[] {
  const triedOf = (source: string): number =>
    tried.filter(({ scenario }) => scenario !== 'Baseline' && scenario.Mutant.file === source).length;
  return [...new Set(chosen.map(({ file }) => file))].map((source) => {
    const left = chosen.filter(({ file }) => file === source).length - triedOf(source);
    const score = scores.find((each) => each.source === source);
    const { all, killed, explained } = score ?? { all: 0, killed: 0, explained: 0 };
    return { source, all: all + left, killed, explained, left };
  });
}

/** What became of each file's changes; those that do not compile are none. */
function scoresOf(
  root: string,
  tried: readonly Tried[],
  reasons: Readonly<Record<string, Reasons>>,
): Score[] {
  const scores = new Map<string, Score>();
  for (const { scenario, summary } of tried) {
    if (scenario === 'Baseline' || summary === 'Unviable') continue;
    const { file: source, span } = scenario.Mutant;
    const change = inWords(root, scenario.Mutant);
    const before = scores.get(source) ?? { source, all: 0, killed: 0, explained: 0, left: 0 };
    const isNoticed = summary === 'CaughtMutant' || summary === 'Timeout';
    const isExplained = !isNoticed && Object.hasOwn(reasons[source] ?? {}, change);
    if (!isNoticed && !isExplained) console.log(`${source}:${span.start.line}  ${change}`);
    scores.set(source, {
      ...{ ...before, all: before.all + 1 },
      killed: before.killed + Number(isNoticed),
      explained: before.explained + Number(isExplained),
    });
  }
  return [...scores.values()];
}
