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
import { hostTarget, sourcesDigest } from './packaging/targets.mjs';

const root = dirname(fileURLToPath(import.meta.url));

/** Ends the program with one sentence that says what to do. */
function stop(sentence) {
  console.error(sentence);
  process.exit(1);
}

/** Names under an input that are generated or installed, and that no build reads. */
const brought = new Set(['target', 'fuzz', 'node_modules', 'package-lock.json', '__pycache__']);

/** Newest modification time (ms) of the files and folders under `places`, without those that are {@link brought}. */
function newest(places) {
  let latest = 0;
  for (const place of places) {
    const path = join(root, place);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    if (!stat.isDirectory()) latest = Math.max(latest, stat.mtimeMs);
    else {
      const inside = readdirSync(path).filter((name) => !brought.has(name));
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

/** Path of a program that `npm install` installs; if it is missing, ends with a sentence that says so. */
function tool(file) {
  const path = join(root, 'node_modules', file);
  if (!existsSync(path)) stop('Fusegate is not installed yet. Run: npm install');
  return path;
}

/** Options of npm for runs whose output nobody follows. */
const quiet = ['--no-progress', '--no-audit', '--no-fund', '--loglevel=error'];

/** True if the contents of `dist` count as built: they were copied from another clone of the same commit. */
let isCopied = false;

/** The file that records the newest time of the inputs that a step was built from. */
const stampOf = ({ name }) => join(root, 'dist', `.${name}`);

/** The steps that a step does: itself, and one that it contains. */
function doneBy(step) {
  return [step, ...steps.filter(({ name }) => name === step.contains)];
}

function isBuilt(step) {
  return doneBy(step).every((each) => {
    const stamp = stampOf(each);
    return existsSync(stamp) && Number(readFileSync(stamp, 'utf8')) === newest(each.inputs);
  });
}

function build(step) {
  const stamps = doneBy(step).map((each) => [each, newest(each.inputs)]);
  if (!isCopied) step.build();
  mkdirSync(join(root, 'dist'), { recursive: true });
  for (const [each, time] of stamps) writeFileSync(stampOf(each), String(time));
}

/** The prebuilt module that an installed package has for this machine, if it was built from these very sources. */
function prebuiltModule() {
  const target = hostTarget();
  if (target === undefined) return undefined;
  const folder = join(root, 'node_modules', target.package);
  if (!existsSync(join(folder, 'package.json'))) return undefined;
  const { main, sources } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return sources === sourcesDigest(root) ? join(folder, main) : undefined;
}

/** Puts the native module into `dist/native`: a prebuilt one if it fits, else one built from Rust. */
function buildNative() {
  const prebuilt = prebuiltModule();
  if (prebuilt !== undefined) {
    mkdirSync(join(root, 'dist/native'), { recursive: true });
    copyFileSync(prebuilt, join(root, 'dist/native/fusegate.node'));
    copyFileSync(join(root, 'src/native/index.d.ts'), join(root, 'dist/native/index.d.ts'));
    return;
  }
  const napi = tool('@napi-rs/cli/dist/cli.js');
  if (spawnSync('cargo', ['--version'], { stdio: 'ignore' }).status !== 0) {
    stop(
      'Building the native module needs Rust 1.89 or newer (cargo): install it from https://rustup.rs, then run this again.',
    );
  }
  console.error('Building the native module (Rust, about two minutes the first time) …');
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
 * Compiles a project. Validators and schemas are generated from types, including those that a file imports
 * indirectly, whose changes an incremental build does not see: after a change of the contract all is compiled again.
 */
function compile(project, state) {
  const known = statSync(join(root, state), { throwIfNoEntry: false });
  if (known !== undefined && newest(['src/contract', 'tsconfig.json']) > known.mtimeMs)
    rmSync(join(root, state));
  console.error(`Compiling TypeScript (${project}) …`);
  run(process.execPath, [tool('ts-patch/bin/tspc.js'), '-p', project]);
  dropCompilers(join(root, 'dist/src/contract'));
}

/** Removes from compiled files the import of typia, which has put validators in its place and is not run. */
function dropCompilers(folder) {
  for (const name of readdirSync(folder, { recursive: true }).filter((each) => each.endsWith('.js'))) {
    const file = join(folder, name);
    const text = readFileSync(file, 'utf8');
    // The line stays, so that source maps hold.
    const without = text.replace(/^import typia(?:, \{\})? from 'typia';$/m, '');
    if (without !== text) writeFileSync(file, without);
  }
}

/** Puts what a server reads beside the compiled program: its pages, and the tiers. */
function buildAssets() {
  run(process.execPath, [join(root, 'src/pages/build.mjs')]);
  copyFileSync(join(root, 'src/access/tiers.json'), join(root, 'dist/tiers.json'));
}

const configuration = ['tsconfig.json', 'package-lock.json'];

/** The build steps of a server, in order; `needsTools`: true if a step needs the development packages. */
const steps = [
  {
    name: 'native',
    inputs: ['native', 'Cargo.toml', 'Cargo.lock'],
    build: buildNative,
    needsTools: () => prebuiltModule() === undefined,
  },
  {
    name: 'src',
    inputs: ['src', ...configuration],
    build: () => compile('src/tsconfig.json', 'dist/src.tsbuildinfo'),
    needsTools: () => true,
  },
  {
    name: 'pages',
    inputs: ['src/pages', 'src/access/tiers.json', 'docs', 'README.md', 'package-lock.json'],
    build: buildAssets,
    needsTools: () => true,
  },
];

/** Tests and benchmarks, and with them `src`, which is then not compiled by itself. */
const testStep = {
  name: 'all',
  contains: 'src',
  inputs: ['src', 'bench', 'test', ...configuration],
  build: () => compile('tsconfig.json', 'dist/tsconfig.tsbuildinfo'),
  needsTools: () => true,
};

/**
 * Builds what changed since the last build: the native module and `src`; with `all` also `test` and `bench`.
 * An install without the development packages gets them for the build, and loses them again after it.
 */
export function ensureBuilt({ all = false, force = false } = {}) {
  tool('lmdb/package.json');
  if (all) tool('fast-check/package.json');
  let areBrought = false;
  for (const step of steps) {
    const each = all && step.name === testStep.contains ? testStep : step;
    if (!force && isBuilt(each)) continue;
    if (!isCopied && !existsSync(join(root, 'node_modules/ts-patch')) && each.needsTools()) {
      console.error('Bringing what the build needs (npm install --include=dev) …');
      run('npm', ['install', '--include=dev', ...quiet], { stdio: ['ignore', 'ignore', 'inherit'] });
      areBrought = true;
    }
    build(each);
  }
  if (areBrought) run('npm', ['prune', '--omit=dev', ...quiet], { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Folders of `dist/test/peers` whose tests `npm run test:peers` runs: on real nodes, and with real clients. */
const peerFolders = ['payments', 'clients', 'packages', 'examples', 'tools', 'proxies', 'log', 'chart'];

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
 * Options of a run of `together` test files at a time: three at least, as most of them wait for processes that they
 * start. Results go to standard output, the summary (test/reporter.ts) after them to standard error.
 */
function testOptions(together = Math.max(3, availableParallelism() - 1)) {
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

/** `npm run check`: formatting and lint of both languages, warnings fail; lockfiles of both workspaces of crates. */
function check() {
  run(process.execPath, [tool('prettier/bin/prettier.cjs'), '--check', '.']);
  run(process.execPath, [tool('eslint/bin/eslint.js'), '--max-warnings', '0', '.']);
  run('cargo', ['fmt', '--all', '--check']);
  // The fuzz targets are a workspace of their own, which nothing else builds before CI does.
  run('cargo', [
    'update',
    '--workspace',
    '--locked',
    '--quiet',
    '--manifest-path',
    'native/core/fuzz/Cargo.toml',
  ]);
  run('cargo', ['clippy', '--workspace', '--all-targets', '--locked', '--', '-D', 'warnings']);
}

/**
 * `npm run test:node -- VERSION [FOLDER ...]`: tests the present commit on another Node, which npm installs. Leaves
 * out pages in a browser, data on the disk after a kill, and the peers: Node has no part in them. With folders of
 * `test`, runs only theirs.
 */
function testOnNode([version, ...folders]) {
  if (version === undefined) stop('Say which Node: npm run test:node -- 22');
  const scratch = mkdtempSync(join(tmpdir(), 'fusegate-node-'));
  process.once('exit', () => rmSync(scratch, { recursive: true }));
  const [brought, clone] = [join(scratch, 'node'), join(scratch, 'clone')];
  mkdirSync(brought);
  writeFileSync(join(brought, 'package.json'), '{"private": true}');
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

/** The Rust target of `npm run test:arm64`, its linker, and the emulator that runs its programs. */
const arm64 = {
  target: 'aarch64-unknown-linux-gnu',
  linker: 'aarch64-linux-gnu-gcc',
  emulator: 'qemu-aarch64-static',
  libraries: '/usr/aarch64-linux-gnu',
  packages: 'gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static',
};

/**
 * `npm run test:arm64 [-- NAME ...]`: runs the core's tests, built for arm64, in an emulation of it; with names only
 * those tests. Their vectors are those of x64, so both processors must give the same bytes.
 */
function testArm64(names) {
  const { target, linker, emulator, libraries, packages } = arm64;
  const missing = [linker, emulator].filter((name) => spawnSync(name, ['--version']).error !== undefined);
  if (missing.length > 0 || !existsSync(libraries)) {
    stop(`Tests for arm64 need ${packages}. As root on Debian or Ubuntu: apt-get install ${packages}`);
  }
  const installed = spawnSync('rustup', ['target', 'list', '--installed'], { encoding: 'utf8' });
  if (installed.status === 0 && !installed.stdout.includes(target)) run('rustup', ['target', 'add', target]);
  const name = target.toUpperCase().replaceAll('-', '_');
  const runner = `${emulator} -L ${libraries}`;
  const env = {
    ...process.env,
    [`CARGO_TARGET_${name}_LINKER`]: linker,
    [`CARGO_TARGET_${name}_RUNNER`]: runner,
    // For a test that starts itself again.
    FUSEGATE_TEST_RUNNER: runner,
    // The emulation is slow: optimized programs make up for most of it.
    CARGO_PROFILE_TEST_OPT_LEVEL: '1',
    CARGO_PROFILE_TEST_DEBUG: 'none',
    RUSTFLAGS: '-D warnings',
  };
  const cargo = ['test', '--locked', '--no-fail-fast', '--package', 'fusegate-core', '--target', target];
  run('cargo', [...cargo, '--', ...names], { env });
}

/** `npm run package -- FOLDER`: writes what a user installs, and prints the names of the files. */
async function packInto(args) {
  const { pack } = await import('./packaging/pack.mjs');
  try {
    for (const name of pack(root, args)) console.log(name);
  } catch (error) {
    stop(error.message);
  }
}

/** `npm run release -- VERSION`: makes everything that a release has, from the commit that states the version. */
async function releaseAs(args) {
  const { release } = await import('./packaging/release.mjs');
  try {
    const out = release(root, args, (isNew) => {
      ensureBuilt({ all: isNew });
      if (isNew) run(process.execPath, [join(root, 'dist/test/contract/writeDocuments.js')]);
    });
    console.log(out);
  } catch (error) {
    stop(error.message);
  }
}

/** `npm run test:install`: tests the packages on systems that have nothing else. */
async function testInstall(args) {
  const { prove } = await import('./packaging/prove.mjs');
  try {
    await prove(root, args);
  } catch (error) {
    stop(error.stack);
  }
}

async function main([command, ...rest]) {
  if (command === undefined) return ensureBuilt({ force: false });
  if (command === '--all') return ensureBuilt({ all: true });
  if (command === '--force') return ensureBuilt({ all: true, force: true });
  if (command === '--check') return check();
  if (command === '--copied') {
    isCopied = true;
    return ensureBuilt({ all: true });
  }
  if (command === '--package') {
    ensureBuilt();
    return packInto(rest);
  }
  if (command === '--release') return releaseAs(rest);
  if (command === '--test-arm64') return testArm64(rest);
  if (command === '--test-install') {
    ensureBuilt();
    return testInstall(rest);
  }
  ensureBuilt({ all: true });
  if (command === '--test' || command === '--test-long') {
    if (command === '--test-long') process.env['FUSEGATE_LONG'] = '1';
    // The payment nodes' tests are included, to report that they were skipped; other peers run with them.
    const elsewhere = new RegExp(`/peers/(?:${peerFolders.slice(1).join('|')})/`);
    const all = () => testFiles(join(root, 'dist/test')).filter((file) => !elsewhere.test(file));
    const files = rest.length > 0 ? rest : all();
    // What requests cost is measured last, while no other test uses the cores.
    const measures = (file) => file.endsWith('/attack/census.test.js');
    const [measured, others] = [files.filter(measures), files.filter((file) => !measures(file))];
    if (others.length > 0) run(process.execPath, [...testOptions(), ...others]);
    if (measured.length > 0) run(process.execPath, [...testOptions(1), ...measured]);
    return;
  }
  if (command === '--test-peers') {
    process.env['FUSEGATE_PAYMENT_NODES'] = '1';
    const files = peerFolders.flatMap((name) => testFiles(join(root, 'dist/test/peers', name)));
    // Two files at once could both begin to build the programs that they need.
    run(process.execPath, [join(root, 'dist/test/peers/go.js')]);
    return run(process.execPath, [...testOptions(2), ...files]);
  }
  if (command === '--test-node') return testOnNode(rest);
  if (command === '--test-mutants')
    return run(process.execPath, [join(root, 'dist/test/mutants/run.js'), ...rest]);
  if (command === '--test-coverage')
    return run(process.execPath, [join(root, 'dist/test/coverage/run.js'), ...rest]);
  if (command === '--test-loaded')
    return run(process.execPath, ['--enable-source-maps', join(root, 'dist/test/loaded/run.js'), ...rest]);
  if (command === '--test-attack')
    return run(process.execPath, ['--enable-source-maps', join(root, 'dist/test/attack/main.js'), ...rest]);
  if (command === '--test-cluster')
    return run(process.execPath, ['--enable-source-maps', join(root, 'dist/test/cluster/main.js'), ...rest]);
  if (command === '--generate')
    return run(process.execPath, [join(root, 'dist/test/contract/writeDocuments.js')]);
  if (command === '--bench') return run(process.execPath, [join(root, 'dist/bench/main.js'), ...rest]);
  return stop(
    `Unknown option ${command}. Known: --all, --force, --copied, --check, --test, --test-long, --test-node, --test-peers, --test-mutants, --test-coverage, --test-loaded, --test-attack, --test-cluster, --test-install, --test-arm64, --generate, --bench, --package, --release.`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
