/** Lays out what a user installs: compiled code, models, pages, tiers, documents, and a package.json for all of it. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { sourcesDigest } from './targets.mjs';

export const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));
export const writeJson = (path, value) => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
};

/** Runs a program and gives its output. @throws Error with its output where it fails */
export function ran(command, args, options = {}) {
  const result = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 28, ...options });
  if (result.error !== undefined) throw new Error(`Could not run ${command}: ${result.error.message}`);
  if (result.status !== 0) {
    throw new Error(`${command} ${args.join(' ')} failed:\n${result.stdout}${result.stderr}`);
  }
  return result.stdout;
}

/** Every file under a folder, by its path in it, sorted. */
export function filesUnder(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1))
    .sort();
}

/**
 * What says nothing to a running server: types, source maps, tests and papers of packages, OpenTelemetry's
 * builds for bundlers, twice what Node loads, and the names of its drafts, which none of its packages load.
 */
const unread = new RegExp(
  [
    /\.([cm]?ts|map|tsbuildinfo|flow)$/,
    /(^|\/)(CHANGELOG|HISTORY)[^/]*$/,
    /\/(test|tests|__tests__)\//,
    /@opentelemetry\/[^/]+\/build\/(esm|esnext)\//,
    /@opentelemetry\/semantic-conventions\/dist\/(experimental_|index-incubating)/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

/** True for what an operator puts beside the files of `deploy`: passwords, and the settings of a composition. */
const isPrivate = (path) => path.split('/').some((name) => name === 'secrets' || name === '.env');

/** Copies files of a folder; `wanted` decides by the path in it. */
function copy(from, to, wanted = () => true) {
  for (const path of filesUnder(from).filter(wanted)) {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    copyFileSync(join(from, path), join(to, path));
    // The same modes from every working tree, whatever its umask was.
    chmodSync(join(to, path), statSync(join(from, path)).mode & 0o100 ? 0o755 : 0o644);
  }
}

/** Lays out the package of one native module. */
export function layModule(root, target, file, folder) {
  const { version, license } = readJson(join(root, 'package.json'));
  mkdirSync(folder, { recursive: true });
  copyFileSync(file, join(folder, 'fusegate.node'));
  chmodSync(join(folder, 'fusegate.node'), 0o755);
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  writeJson(join(folder, 'package.json'), {
    name: target.package,
    version,
    description: `Native module of Fusegate for ${target.name}.`,
    license,
    main: 'fusegate.node',
    os: [target.os],
    cpu: [target.cpu],
    ...(target.os === 'linux' ? { libc: ['glibc'] } : {}),
    // A working tree of the same sources takes this module in place of building one.
    sources: sourcesDigest(root),
  });
}

/** Puts a package of `node_modules` beside the program, without what no server reads and what its install runs. */
function bundle(root, name, folder, wanted, keptDependencies) {
  const from = join(root, 'node_modules', name);
  const to = join(folder, 'node_modules', name);
  copy(from, to, (path) => !unread.test(path) && wanted(path));
  const described = readJson(join(from, 'package.json'));
  const kept = Object.entries(described.dependencies ?? {}).filter(([each]) =>
    keptDependencies.includes(each),
  );
  delete described.scripts;
  delete described.devDependencies;
  writeJson(join(to, 'package.json'), { ...described, dependencies: Object.fromEntries(kept) });
}

/** Packages of the runtime that come along: the whole of them would bring 219 MB of other systems' libraries. */
const bundled = ['onnxruntime-node', 'onnxruntime-common'];

/**
 * Lays out the program in `folder`, with the native modules (a list of `{target, file}`) and ONNX Runtime's
 * libraries for their targets.
 */
export function layProgram(root, folder, modules) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  copy(join(root, 'dist/src'), join(folder, 'dist/src'), (path) => path.endsWith('.js'));
  copy(join(root, 'dist/pages'), join(folder, 'dist/pages'));
  copy(join(root, 'models'), join(folder, 'models'), (path) => !path.startsWith('scripts/'));
  copy(join(root, 'docs'), join(folder, 'docs'), (path) => !path.startsWith('examples/'));
  copy(join(root, 'deploy'), join(folder, 'deploy'), (path) => !isPrivate(path));
  mkdirSync(join(folder, 'dist'), { recursive: true });
  copyFileSync(join(root, 'dist/tiers.json'), join(folder, 'dist/tiers.json'));
  for (const name of ['fusegate.mjs', 'README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md']) {
    cpSync(join(root, name), join(folder, name));
  }
  for (const { target, file } of modules) {
    layModule(root, target, file, join(folder, 'node_modules', target.package));
  }
  const libraries = modules.map(({ target }) => `${target.os}/${target.cpu}/`);
  const isOurs = (path) => !path.startsWith('bin/') || libraries.some((each) => path.includes(`/${each}`));
  bundle(root, 'onnxruntime-node', folder, (path) => isOurs(path) && !path.startsWith('script/'), [
    'onnxruntime-common',
  ]);
  bundle(root, 'onnxruntime-common', folder, () => true, []);
  const own = readJson(join(root, 'package.json'));
  const { name, version, description, license, type, engines, bin, dependencies } = own;
  const modulesByName = Object.fromEntries(modules.map(({ target }) => [target.package, version]));
  const common = readJson(join(root, 'node_modules/onnxruntime-common/package.json')).version;
  writeJson(join(folder, 'package.json'), {
    ...{ name, version, description, license, type, engines, bin },
    os: [...new Set(modules.map(({ target }) => target.os))],
    cpu: [...new Set(modules.map(({ target }) => target.cpu))],
    dependencies: { ...dependencies, 'onnxruntime-common': common },
    optionalDependencies: { ...own.optionalDependencies, ...modulesByName },
    bundleDependencies: [...bundled, ...Object.keys(modulesByName)],
  });
}

/** Packs a folder as npm does, which writes the same bytes for the same files; gives the file's name. */
export function npmPack(folder, out) {
  const options = ['--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', out];
  const [{ filename }] = JSON.parse(ran('npm', ['pack', ...options], { cwd: folder }));
  const name = filename.replace('@', '').replace('/', '-');
  if (!existsSync(join(out, name))) throw new Error(`npm pack did not write ${name}.`);
  return name;
}

/** Removes from installed packages what says nothing to a running server. */
export function prune(folder) {
  for (const path of filesUnder(folder)) {
    if (unread.test(path)) rmSync(join(folder, path));
  }
}
