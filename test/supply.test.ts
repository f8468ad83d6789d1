/**
 * What is installed is what was reviewed: digests of packages, their sources, and scripts that run on
 * install.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

/** An entry of package-lock.json. */
interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));
const { packages } = read('package-lock.json') as { readonly packages: Readonly<Record<string, Locked>> };
const { allowScripts } = read('package.json') as { readonly allowScripts: Readonly<Record<string, boolean>> };
const digests = new Map(
  readFileSync('docs/uws.sha256', 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split('  ').reverse() as [string, string]),
);

test('the HTTP server’s binaries match docs/uws.sha256', () => {
  let compared = 0;
  for (const name of ['uws-20', 'uws-24']) {
    const wrapper = join('node_modules', name);
    const { version, optionalDependencies } = read(join(wrapper, 'package.json')) as {
      readonly version: string;
      readonly optionalDependencies: Readonly<Record<string, string>>;
    };
    for (const [binary, release] of Object.entries(optionalDependencies)) {
      assert.equal(release, version, 'a wrapper names binaries of its own release');
      // npm puts the binary of one release at the top, and of the other beneath its wrapper.
      const places = [join(wrapper, 'node_modules', binary), join('node_modules', binary)];
      const place = places.find((each) => {
        const manifest = join(each, 'package.json');
        return existsSync(manifest) && (read(manifest) as { version: string }).version === release;
      });
      if (place === undefined || !binary.includes('linux-x64')) continue;
      const digest = createHash('sha256')
        .update(readFileSync(join(place, 'uws.node')))
        .digest('hex');
      assert.equal(digest, digests.get(`${binary}@${release}`), `${binary}@${release}`);
      compared += 1;
    }
  }
  if (process.platform === 'linux' && process.arch === 'x64') assert.ok(compared > 0, 'none is installed');
});

test('docs/uws.sha256 has every binary for Linux on x64 that the lockfile names', () => {
  const locked = Object.entries(packages).flatMap(([path, { version = '' }]) => {
    const [, name] = /(@uwsjs\/linux-x64-\d+)$/.exec(path) ?? [];
    return name === undefined ? [] : [`${name}@${version}`];
  });
  assert.ok(locked.length > 4);
  for (const each of locked) assert.ok(digests.has(each), each);
});

test('every package of the lockfile has its digest, and none runs a script that is not listed', () => {
  for (const [path, { integrity, link, resolved = '', hasInstallScript }] of Object.entries(packages)) {
    if (path === '' || link === true) continue;
    assert.match(integrity ?? '', /^sha512-/, path);
    assert.ok(!/^(git|http:|file:)/.test(resolved), `${path} comes from ${resolved}`);
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    if (hasInstallScript === true) assert.ok(name in allowScripts, `${name} runs a script`);
  }
  const allowed = Object.entries(allowScripts).flatMap(([name, isAllowed]) => (isAllowed ? [name] : []));
  assert.deepEqual(allowed, [], 'nothing is compiled');
});

test('every crate comes from Rust’s registry, with its digest', () => {
  const crates = readFileSync('Cargo.lock', 'utf8').split('[[package]]').slice(1);
  const own = ['fusegate-core', 'fusegate-node'];
  assert.ok(crates.length > 50);
  for (const crate of crates) {
    const name = /name = "([^"]+)"/.exec(crate)?.[1] ?? '';
    if (own.includes(name)) continue;
    assert.match(crate, /source = "registry\+/, name);
    assert.match(crate, /checksum = "[0-9a-f]{64}"/, name);
  }
});

test('code that is compiled for users imports no development package', () => {
  const { dependencies } = read('package.json') as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  const folder = 'dist/src';
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.m?js$/.test(name),
  );
  assert.ok(files.length > 300);
  const imported = files.flatMap((file) =>
    [
      ...readFileSync(join(folder, file), 'utf8').matchAll(
        /^(?:import|export) (?:[^'"\n]* from )?['"]([^.'"][^'"]*)['"];?$/gm,
      ),
    ]
      .map(([, name = '']) => ({ file, name: name.split('/', name.startsWith('@') ? 2 : 1).join('/') }))
      .filter(({ name }) => !isBuiltin(name) && !name.startsWith('data:')),
  );
  assert.ok(imported.some(({ name }) => name === 'pino'));
  // Chromium runs what is under pages: its libraries are packed into it.
  const foreign = imported.filter(({ file, name }) => !(name in dependencies) && !file.startsWith('pages/'));
  assert.deepEqual(foreign, []);
});
