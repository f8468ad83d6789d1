/** Builds what is not built (native module, TypeScript) and runs the tests, benchmarks and checks on the result. */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));

/** Ends the program with one sentence that says what to do. */
function stop(sentence) {
  console.error(sentence);
  process.exit(1);
}

/** Newest modification time (ms) of the files under `places`, folders walked, build results left out. */
function newest(places) {
  let latest = 0;
  for (const place of places) {
    const path = join(root, place);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    if (!stat.isDirectory()) latest = Math.max(latest, stat.mtimeMs);
    else {
      const inside = readdirSync(path).filter((name) => name !== 'target' && name !== 'fuzz');
      latest = Math.max(latest, stat.mtimeMs, newest(inside.map((name) => join(place, name))));
    }
  }
  return latest;
}

/** Runs a program of node_modules (or PATH) in the project's folder; ends this one when it fails. */
function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (result.error !== undefined) stop(`Could not run ${command}: ${result.error.message}`);
  if (result.status !== 0) process.exit(result.status ?? 1);
}

/** Path of a program that `npm install` brought, or the sentence that says to install. */
function tool(file) {
  const path = join(root, 'node_modules', file);
  if (!existsSync(path)) stop('Fusegate is not installed yet. Run: npm install');
  return path;
}

/** True while what lies in `dist` is taken for built: it was copied from another clone of the same commit. */
let isCopied = false;

/** Builds one part when its inputs are newer than its stamp. */
function step(name, inputs, build, force) {
  const stamp = join(root, 'dist', `.${name}`);
  const latest = newest(inputs);
  if (!force && existsSync(stamp) && Number(readFileSync(stamp, 'utf8')) === latest) return;
  if (!isCopied) build();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, String(latest));
}

function buildNative() {
  const napi = tool('@napi-rs/cli/dist/cli.js');
  if (spawnSync('cargo', ['--version'], { stdio: 'ignore' }).status !== 0) {
    stop(
      'Building the native module needs Rust 1.89 or newer (cargo): install it from https://rustup.rs, then run this again.',
    );
  }
  console.error('Building the native module (Rust, about a minute the first time) …');
  run(
    process.execPath,
    [
      napi,
      'build',
      '--release',
      '--no-js',
      '--no-const-enum',
      '--manifest-path',
      'native/node/Cargo.toml',
      '--output-dir',
      'dist/native',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const declared = join(root, 'src/native/index.d.ts');
  const built = readFileSync(join(root, 'dist/native/index.d.ts'), 'utf8');
  if (!existsSync(declared) || readFileSync(declared, 'utf8') !== built) {
    copyFileSync(join(root, 'dist/native/index.d.ts'), declared);
  }
}

/**
 * Compiles a project. Validators and schemas are made from types, also from those that a file imports through
 * another, whose changes an incremental build does not see: after a change of the contract it begins anew.
 */
function compile(project, state) {
  const known = statSync(join(root, state), { throwIfNoEntry: false });
  if (known !== undefined && newest(['src/contract', 'tsconfig.json']) > known.mtimeMs)
    rmSync(join(root, state));
  console.error(`Compiling TypeScript (${project}) …`);
  run(process.execPath, [tool('ts-patch/bin/tspc.js'), '-p', project]);
}

/**
 * Builds what changed since the last build: the native module and `src`; with `all` also `test` and `bench`,
 * which need the development packages.
 */
export function ensureBuilt({ all = false, force = false } = {}) {
  tool('typescript/package.json');
  step('native', ['native', 'Cargo.toml', 'Cargo.lock'], buildNative, force);
  const configuration = ['tsconfig.json', 'package-lock.json'];
  step('src', ['src', ...configuration], () => compile('src/tsconfig.json', 'dist/src.tsbuildinfo'), force);
  const pages = ['src/pages', 'docs', 'README.md', 'package-lock.json'];
  step('pages', pages, () => run(process.execPath, [join(root, 'src/pages/build.mjs')]), force);
  if (!all) return;
  tool('fast-check/package.json');
  step(
    'all',
    ['src', 'bench', 'test', ...configuration],
    () => compile('tsconfig.json', 'dist/tsconfig.tsbuildinfo'),
    force,
  );
}

/** Folders of `dist/test/peers` whose tests `npm run test:peers` runs: on real nodes, and with real clients. */
const peerFolders = ['payments', 'clients', 'packages', 'examples', 'tools'];

/** Compiled test files under `dist/test`, sorted. */
function testFiles(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return testFiles(path);
      return entry.name.endsWith('.test.js') ? [path] : [];
    })
    .sort();
}

/**
 * Options of a test run. Three files at least run beside each other, as most of them wait for processes that
 * they start. Results go to the output, the summary (test/reporter.ts) below them to standard error.
 */
function testOptions() {
  const together = Math.max(3, availableParallelism() - 1);
  return [
    '--enable-source-maps',
    '--test',
    `--test-concurrency=${together}`,
    `--test-reporter=${process.stdout.isTTY ? 'spec' : 'tap'}`,
    '--test-reporter-destination=stdout',
    `--test-reporter=${join(root, 'dist/test/reporter.js')}`,
    '--test-reporter-destination=stderr',
  ];
}

/** `npm run check`: formatting and lint of both languages; warnings fail. */
function check() {
  run(process.execPath, [tool('prettier/bin/prettier.cjs'), '--check', '.']);
  run(process.execPath, [tool('eslint/bin/eslint.js'), '--max-warnings', '0', '.']);
  run('cargo', ['fmt', '--all', '--check']);
  run('cargo', ['clippy', '--workspace', '--all-targets', '--locked', '--', '-D', 'warnings']);
}

/**
 * `npm run test:node -- VERSION [FOLDER ...]`: what is committed, tested on another Node, which npm brings. All
 * but what a browser draws, what a kill leaves on the disk, and the peers: Node has no part in them. With folders
 * of `test`: theirs.
 */
function testOnNode([version, ...folders]) {
  if (version === undefined) stop('Say which Node: npm run test:node -- 22');
  const scratch = mkdtempSync(join(tmpdir(), 'fusegate-node-'));
  process.once('exit', () => rmSync(scratch, { recursive: true }));
  const [brought, clone] = [join(scratch, 'node'), join(scratch, 'clone')];
  mkdirSync(brought);
  writeFileSync(join(brought, 'package.json'), '{"private": true}');
  const quiet = ['--no-progress', '--no-audit', '--no-fund', '--loglevel=error'];
  run('npm', ['install', ...quiet, `node@${version}`], { cwd: brought });
  const bin = join(brought, 'node_modules/node/bin');
  const inClone = { cwd: clone, env: { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` } };
  // npm chooses binary packages by the Node that runs it. What was built is the same for every Node: JavaScript,
  // and a module on Node-API.
  run('git', ['clone', '--quiet', root, clone]);
  run('npm', ['install', ...quiet], inClone);
  cpSync(join(root, 'dist'), join(clone, 'dist'), { recursive: true, preserveTimestamps: true });
  if (existsSync(join(root, '.venv'))) symlinkSync(join(root, '.venv'), join(clone, '.venv'));
  run('node', ['build.mjs', '--copied'], inClone);
  const skipped = /\/(pages|peers)\/|\/kill\.test\.js$/;
  const places = folders.length > 0 ? folders : ['.'];
  const files = places.flatMap((place) => testFiles(join(clone, 'dist/test', place)));
  run('node', ['--version'], inClone);
  run('node', [...testOptions(), ...files.filter((file) => !skipped.test(file))], inClone);
}

function main([command, ...rest]) {
  if (command === undefined) return ensureBuilt({ force: false });
  if (command === '--force') return ensureBuilt({ all: true, force: true });
  if (command === '--check') return check();
  if (command === '--copied') {
    isCopied = true;
    return ensureBuilt({ all: true });
  }
  ensureBuilt({ all: true });
  if (command === '--test' || command === '--test-long') {
    if (command === '--test-long') process.env['FUSEGATE_LONG'] = '1';
    // The payment nodes' tests say in the summary that they were not asked for; the clients run with them.
    const elsewhere = new RegExp(`/peers/(?:${peerFolders.slice(1).join('|')})/`);
    const all = () => testFiles(join(root, 'dist/test')).filter((file) => !elsewhere.test(file));
    const files = rest.length > 0 ? rest : all();
    return run(process.execPath, [...testOptions(), ...files]);
  }
  if (command === '--test-peers') {
    process.env['FUSEGATE_PAYMENT_NODES'] = '1';
    const files = peerFolders.flatMap((name) => testFiles(join(root, 'dist/test/peers', name)));
    return run(process.execPath, ['--enable-source-maps', '--test', '--test-concurrency=1', ...files]);
  }
  if (command === '--test-node') return testOnNode(rest);
  if (command === '--test-mutants')
    return run(process.execPath, [join(root, 'dist/test/mutants/run.js'), ...rest]);
  if (command === '--test-attack')
    return run(process.execPath, ['--enable-source-maps', join(root, 'dist/test/attack/main.js'), ...rest]);
  if (command === '--generate')
    return run(process.execPath, [join(root, 'dist/test/contract/writeDocuments.js')]);
  if (command === '--bench') return run(process.execPath, [join(root, 'dist/bench/main.js'), ...rest]);
  return stop(
    `Unknown option ${command}. Known: --force, --copied, --check, --test, --test-long, --test-node, --test-peers, --test-mutants, --test-attack, --generate, --bench.`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
