/** Native modules for a release: this machine's, stripped, or every target's, cross-built for one glibc. */
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { builtTargets, ran } from './contents.mjs';
import { glibc, hostTarget } from './targets.mjs';

/** Cross compiler and its cargo command: they link against the symbols of one glibc, whatever this machine has. */
const crossTools = ['ziglang==0.17.1', 'cargo-zigbuild==0.24.0'];

const parts = (version) => version.split('.').map(Number);
const isNewer = (a, b) =>
  parts(a)[0] > parts(b)[0] || (parts(a)[0] === parts(b)[0] && parts(a)[1] > parts(b)[1]);

/** The newest glibc whose symbols a library asks for. */
export function neededGlibc(file) {
  const names = readFileSync(file, 'latin1').matchAll(/GLIBC_(\d+\.\d+)/g);
  return [...names].map(([, version]) => version).reduce((a, b) => (isNewer(b, a) ? b : a), '2.0');
}

/** @throws Error where a module needs a newer glibc than its package promises */
function checked(file) {
  const needed = neededGlibc(file);
  if (isNewer(needed, glibc)) {
    throw new Error(
      `${file} needs glibc ${needed}, and the package promises ${glibc}: build it for all targets.`,
    );
  }
  return file;
}

/** The module that this working tree built, without its symbols. */
export function hostModule(root, scratch) {
  const target = hostTarget();
  if (target?.isBuilt !== true) throw new Error('Packages are made on Linux with glibc, x64 or arm64.');
  const file = join(scratch, 'host.node');
  copyFileSync(join(root, 'dist/native/fusegate.node'), file);
  ran('strip', ['--strip-unneeded', file]);
  return { target, file: checked(file) };
}

/**
 * Builds the module of every target, each for the same glibc. The same sources give the same bytes: paths of this
 * machine are taken out, and so are symbols.
 */
export function everyModule(root) {
  const tools = join(root, 'target/cross');
  if (!existsSync(join(tools, 'bin/cargo-zigbuild'))) {
    ran('python3', ['-m', 'venv', tools]);
    ran(join(tools, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', ...crossTools]);
  }
  const cargoHome = process.env['CARGO_HOME'] ?? join(homedir(), '.cargo');
  const output = process.env['CARGO_TARGET_DIR'] ?? join(root, 'target');
  mkdirSync(output, { recursive: true });
  const environment = {
    ...process.env,
    PATH: `${join(tools, 'bin')}:${process.env['PATH'] ?? ''}`,
    CARGO_PROFILE_RELEASE_STRIP: 'symbols',
    CARGO_PROFILE_RELEASE_DEBUG: 'false',
    RUSTFLAGS: `--remap-path-prefix=${cargoHome}=cargo --remap-path-prefix=${root}=fusegate`,
  };
  return builtTargets.map((target) => {
    console.error(`Building the native module for ${target.name} …`);
    const known = ran('rustc', ['--print', 'target-libdir', '--target', target.rust], { cwd: root }).trim();
    if (!existsSync(known)) ran('rustup', ['target', 'add', target.rust], { cwd: root });
    const options = ['--release', '--locked', '-p', 'fusegate-node', '--target', `${target.rust}.${glibc}`];
    ran('cargo', ['zigbuild', ...options], { cwd: root, env: environment });
    return { target, file: checked(join(output, target.rust, 'release/libfusegate_node.so')) };
  });
}
