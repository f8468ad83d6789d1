/** Native modules for packages: this machine's, and those of other systems, built here by Zig's linker. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ran } from './contents.mjs';
import { glibc, hostTarget, targets } from './targets.mjs';

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
      `${file} needs glibc ${needed}, and packages promise ${glibc}: build it on an older system.`,
    );
  }
  return file;
}

/** The module that this working tree built, without its symbols. */
function hostModule(root, scratch) {
  const target = hostTarget();
  if (target?.os !== 'linux') throw new Error('Packages are made on Linux with glibc, x64 or arm64.');
  const file = join(scratch, 'host.node');
  copyFileSync(join(root, 'dist/native/fusegate.node'), file);
  ran('strip', ['--strip-unneeded', file]);
  return { target, file: checked(file) };
}

/** What a build for another system needs; throws where it is missing. */
function needZig() {
  if (spawnSync('cargo', ['zigbuild', '--help'], { stdio: 'ignore' }).status === 0) return;
  throw new Error(
    'Modules of other systems are built by cargo-zigbuild: run `pip install cargo-zigbuild ziglang`, then ' +
      `\`rustup target add ${targets.map(({ rust }) => rust).join(' ')}\`.`,
  );
}

/** Options of Cargo's release profile: debug information is no part of a package. */
const slim = { CARGO_PROFILE_RELEASE_DEBUG: 'none' };

/**
 * The module for another system, built of this working tree. Zig has what the linker of each system needs, and signs
 * what macOS loads only signed: nothing may change that file afterwards.
 */
function crossModule(root, target) {
  needZig();
  const isLinux = target.os === 'linux';
  const env = { ...process.env, ...slim, ...(isLinux ? { CARGO_PROFILE_RELEASE_STRIP: 'symbols' } : {}) };
  const triple = isLinux ? `${target.rust}.${glibc}` : target.rust;
  console.error(`Building the native module for ${target.name} …`);
  const options = ['--release', '--locked', '--quiet', '--package', 'fusegate-node', '--target', triple];
  ran('cargo', ['zigbuild', ...options], { cwd: root, env });
  const { target_directory: built } = JSON.parse(
    ran('cargo', ['metadata', '--no-deps', '--format-version=1'], { cwd: root }),
  );
  const file = join(built, target.rust, 'release', `libfusegate_node.${isLinux ? 'so' : 'dylib'}`);
  return { target, file: isLinux ? checked(file) : file };
}

/** The modules of some targets, by their names: each `{target, file}`. @throws Error where a name is unknown */
export function modulesOf(root, scratch, names) {
  const host = hostModule(root, scratch);
  return names.map((name) => {
    const target = targets.find((each) => each.name === name);
    if (target === undefined) {
      throw new Error(
        `There is no target ${name}: say one of ${targets.map((each) => each.name).join(', ')}.`,
      );
    }
    return target === host.target ? host : crossModule(root, target);
  });
}
