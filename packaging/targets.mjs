/** Systems that a native module is built for, and the digest of the sources that one is built of. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The glibc whose symbols a prebuilt module may need at most; lmdb's binaries need it as well. */
export const glibc = '2.34';

/** Each has the name of its package. A release has all of them. */
export const targets = [
  { name: 'linux-x64', package: '@fusegate/linux-x64-gnu', rust: 'x86_64-unknown-linux-gnu' },
  {
    name: 'linux-arm64',
    package: '@fusegate/linux-arm64-gnu',
    rust: 'aarch64-unknown-linux-gnu',
  },
  { name: 'darwin-x64', package: '@fusegate/darwin-x64', rust: 'x86_64-apple-darwin' },
  { name: 'darwin-arm64', package: '@fusegate/darwin-arm64', rust: 'aarch64-apple-darwin' },
].map((target) => {
  const [os, cpu] = target.name.split('-');
  return { ...target, os, cpu };
});

/** The target that this process runs on; undefined: none of them, as on musl. */
export function hostTarget() {
  const isMusl =
    process.platform === 'linux' && process.report.getReport().header.glibcVersionRuntime === undefined;
  if (isMusl) return undefined;
  return targets.find(({ os, cpu }) => os === process.platform && cpu === process.arch);
}

/** SHA-256 of what the native module is made of: names and bytes. */
export function sourcesDigest(root) {
  const hash = createHash('sha256');
  const add = (path) =>
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update('\0');
  const walk = (folder) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true }).sort(byName)) {
      const path = `${folder}/${entry.name}`;
      if (!entry.isDirectory()) add(path);
      else if (entry.name !== 'target' && entry.name !== 'fuzz') walk(path);
    }
  };
  ['Cargo.lock', 'Cargo.toml'].forEach(add);
  walk('native');
  return hash.digest('hex');
}

const byName = (a, b) => (a.name < b.name ? -1 : 1);
