/** The native module for packages: this machine's, stripped, and checked against the glibc that they promise. */
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ran } from './contents.mjs';
import { glibc, hostTarget } from './targets.mjs';

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
export function hostModule(root, scratch) {
  const target = hostTarget();
  if (target?.os !== 'linux') throw new Error('Packages are made on Linux with glibc, x64 or arm64.');
  const file = join(scratch, 'host.node');
  copyFileSync(join(root, 'dist/native/fusegate.node'), file);
  ran('strip', ['--strip-unneeded', file]);
  return { target, file: checked(file) };
}
