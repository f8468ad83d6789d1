/**
 * Rust files of the core. cargo-mutants names the changes (https://mutants.rs); each is made in a copy of the
 * sources and shown first to the unit tests of the file's own folder, then to the tests of Node that were
 * named, on a native module with the change, and last to all tests of the core.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mutated, spread } from './mutations.js';
import { succeeds } from './process.js';
import { shown, withoutChange, type Reasons } from './reasons.js';
import { inWords, type Score } from './score.js';

/** Which changes are made. */
export interface RustWish {
  readonly files: readonly string[];
  /** Only lines that differ from this commit; undefined: all. */
  readonly since: string | undefined;
  /** At most this many of each file, spread over it. */
  readonly most: number;
  /** No more are tried after this time, of `performance.now()` (ms). */
  readonly endMs: number;
  /** Built test files of Node in the box. */
  readonly tests: readonly string[];
}

/** A place of a file as cargo-mutants counts it: lines and columns from 1, in characters. */
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

/** Longest that a build, and that the tests of a folder or a file may take (ms). */
const [buildMs, testMs] = [300_000, 30_000];

/** Longest that all tests of the core may take (ms). */
const allTestsMs = 180_000;

/** Generated tables, and the slow twins that tests compare with. */
const left = ['**/*_tables.rs', '**/naive.rs', '**/tests.rs', 'native/core/examples/**'];

const core = ['--package', 'fusegate-core', '--features', 'naive'];

/** The folder of a file right under the core's sources, whose name is that of its tests' module. */
function folderOf(file: string): string {
  return file.replace('native/core/src/', '').split(/[/.]/)[0] ?? '';
}

/** The copy of the sources, beside a copy of what was built of TypeScript. */
class RustBox {
  private readonly env: NodeJS.ProcessEnv;
  private readonly target: string;

  constructor(
    root: string,
    private readonly box: string,
    private readonly tests: readonly string[],
  ) {
    for (const name of ['native', 'Cargo.toml', 'Cargo.lock']) {
      rmSync(join(box, name));
      cpSync(join(root, name), join(box, name), { recursive: true });
    }
    // What no change concerns is built once and stays.
    this.target = join(root, 'target/mutants/cargo');
    this.env = {
      ...process.env,
      CARGO_TARGET_DIR: this.target,
      CARGO_INCREMENTAL: '1',
      CARGO_PROFILE_DEV_DEBUG: '0',
      // Tests that draw much take minutes where nothing is optimized, and seconds where a little is.
      CARGO_PROFILE_DEV_OPT_LEVEL: '1',
    };
  }

  private cargo(args: readonly string[], timeoutMs: number): Promise<boolean> {
    return succeeds(['cargo', ...args], this.box, timeoutMs, this.env);
  }

  private async failsInNode(): Promise<boolean> {
    if (this.tests.length === 0) return false;
    if (!(await this.cargo(['build', '--package', 'fusegate-node'], buildMs))) return true;
    const addon = join(this.box, 'dist/native/fusegate.node');
    rmSync(addon);
    const suffix = process.platform === 'darwin' ? 'dylib' : 'so';
    copyFileSync(join(this.target, `debug/libfusegate_node.${suffix}`), addon);
    for (const test of this.tests)
      if (!(await succeeds([process.execPath, test], this.box, testMs))) return true;
    return false;
  }

  private async isNoticed(folder: string): Promise<boolean> {
    if (!(await this.cargo(['test', ...core, '--lib', '--', `${folder}::`], testMs))) return true;
    if (await this.failsInNode()) return true;
    if (!(await this.cargo(['test', ...core, '--lib', '--tests', '--no-run'], buildMs))) return true;
    return !(await this.cargo(['test', ...core, '--lib', '--tests'], allTestsMs));
  }

  /** What becomes of a change; undefined: it does not compile. */
  async noticed(file: string, text: string, changed: string): Promise<boolean | undefined> {
    const path = join(this.box, file);
    writeFileSync(path, changed);
    try {
      if (!(await this.cargo(['test', ...core, '--lib', '--no-run'], buildMs))) return undefined;
      return await this.isNoticed(folderOf(file));
    } finally {
      writeFileSync(path, text);
    }
  }

  /** Throws unless all that is to notice changes passes without one. */
  async check(folders: ReadonlySet<string>): Promise<void> {
    // Longer than tests may take: all that they depend on is built.
    await this.cargo(['test', ...core, '--lib', '--no-run'], buildMs);
    for (const folder of folders)
      if (await this.isNoticed(folder)) throw new Error(`Tests of ${folder} fail without a change.`);
  }
}

function needTool(): void {
  const { status } = spawnSync('cargo', ['mutants', '--version'], { stdio: 'ignore' });
  if (status === 0) return;
  console.error('Changes of Rust need cargo-mutants. Run: cargo install cargo-mutants --locked');
  process.exit(2);
}

/** The changes of some files, as cargo-mutants lists them; `since`: of lines that differ from this commit. */
function listed(root: string, files: readonly string[], since: string | undefined): readonly Change[] {
  const options = files.flatMap((file) => ['--file', file]);
  for (const glob of left) options.push('--exclude', glob);
  if (since !== undefined) {
    const folder = join(root, 'target/mutants');
    mkdirSync(folder, { recursive: true });
    const diff = join(folder, 'since.diff');
    writeFileSync(diff, execFileSync('git', ['diff', since, '--', ...files], { cwd: root }));
    options.push('--in-diff', diff);
  }
  const list = execFileSync('cargo', ['mutants', '--list', '--json', ...options], {
    ...{ cwd: root, encoding: 'utf8', maxBuffer: 1 << 30 },
  });
  return JSON.parse(list === '' ? '[]' : list) as readonly Change[];
}

/** The place of a text that a line and a column name. */
function offsetOf(text: string, { line, column }: Place): number {
  let from = 0;
  for (let at = 1; at < line; at += 1) from = text.indexOf('\n', from) + 1;
  return from + column - 1;
}

/** Tries the changes of one file. */
async function tryFile(
  box: RustBox,
  text: string,
  source: string,
  changes: readonly Change[],
  wish: RustWish,
  reasons: Reasons,
): Promise<Score> {
  const edits = changes.map(({ span, replacement }) => ({
    ...{ from: offsetOf(text, span.start), to: offsetOf(text, span.end), text: replacement },
    line: span.start.line,
  }));
  if (wish.since === undefined) {
    const names = edits.map((edit) => shown(text, edit));
    for (const change of withoutChange(reasons, names))
      console.log(`${source}: a reason without a change: ${change}`);
  }
  const score = { source, all: 0, killed: 0, explained: 0, left: 0 };
  for (const edit of spread(edits, wish.most)) {
    const change = shown(text, edit);
    score.all += 1;
    if (Object.hasOwn(reasons, change)) score.explained += 1;
    else if (performance.now() > wish.endMs) score.left += 1;
    else {
      const isNoticed = await box.noticed(source, text, mutated(text, edit));
      if (isNoticed === undefined) score.all -= 1;
      else if (isNoticed) score.killed += 1;
      else console.log(`${source}:${edit.line}  ${change}`);
    }
  }
  console.log(`${source}: ${inWords(score)}`);
  return score;
}

/** Tries the changes of Rust files and prints each that no test noticed. */
export async function tryRust(
  root: string,
  boxed: string,
  wish: RustWish,
  reasons: Readonly<Record<string, Reasons>>,
): Promise<Score[]> {
  needTool();
  const all = listed(root, wish.files, wish.since);
  const files = [...new Set(all.map(({ file }) => file))];
  const box = new RustBox(root, boxed, wish.tests);
  await box.check(new Set(files.map(folderOf)));
  const scores: Score[] = [];
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8');
    const own = all.filter((change) => change.file === file);
    scores.push(await tryFile(box, text, file, own, wish, reasons[file] ?? {}));
  }
  return scores;
}
