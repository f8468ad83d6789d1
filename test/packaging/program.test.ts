/** What `npm run package` lays out: it runs by itself, and has nothing for other systems. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { patientEmbedding, run, temporaryFolder } from '../support/run.js';
import { until } from '../support/until.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Beside the build, so that packages of the runtime are found as they are beside an installed program. */
mkdirSync(join(root, 'dist'), { recursive: true });
const folder = mkdtempSync(join(root, 'dist/program-'));
after(() => rmSync(folder, { recursive: true }));

/** Runs a few lines that use the modules of `packaging`. */
function packaging(lines: string): void {
  const imports = ['contents', 'targets'].map(
    (name) => `import * as ${name} from './packaging/${name}.mjs';`,
  );
  const script = [...imports, lines].join('\n');
  execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: root, stdio: 'pipe' });
}

interface Described {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly bundleDependencies: readonly string[];
  readonly os: readonly string[];
  readonly cpu: readonly string[];
}

test('the package runs without sources, tools and libraries of other systems', async () => {
  packaging(`
    const module = { target: targets.hostTarget(), file: 'dist/native/fusegate.node' };
    contents.layProgram(process.cwd(), ${JSON.stringify(folder)}, [module]);
  `);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  assert.deepEqual(
    files.filter((file) => /\.(ts|map|rs)$|build\.mjs$|^src\//.test(file)),
    [],
  );
  const libraries = files.filter(
    (file) => file.includes('onnxruntime-node/bin/') && /\.(node|so|dll|dylib)/.test(file),
  );
  assert.ok(libraries.length >= 2);
  const ours = `/${process.platform}/${process.arch}/`;
  assert.deepEqual(
    libraries.filter((file) => !file.includes(ours)),
    [],
  );
  const described = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Described;
  assert.deepEqual(described.os, [process.platform]);
  for (const tool of ['typescript', 'typia', '@napi-rs/cli', 'marked']) {
    assert.equal(described.dependencies[tool], undefined, tool);
  }

  const program = join(folder, 'fusegate.mjs');
  const environment = { PORT: '0', WORKERS: '1', ...patientEmbedding };
  const server = run(program, ['serve'], environment, temporaryFolder());
  const [, address = ''] = await server.prints(/listens on (http:\/\/127\.0\.0\.1:\d+)/);
  const answer = await fetch(`${address}/v1/fuse`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"query": "battery", "docs": [{"id": "a", "text": "a battery"}]}',
  });
  assert.equal(answer.status, 200);
  await until(async () => (await fetch(`${address}/ready`)).status === 200);
  server.child.kill('SIGTERM');
  assert.equal((await server.ended()).code, 0);
});

test('a package for another system has only its own module and libraries, and names the system', () => {
  const foreign = join(folder, 'foreign');
  packaging(`
    const target = targets.targets.find(({ name }) => name === 'darwin-arm64');
    const module = { target, file: 'dist/native/fusegate.node' };
    contents.layProgram(process.cwd(), ${JSON.stringify(foreign)}, [module]);
  `);
  const { os, cpu, bundleDependencies } = JSON.parse(
    readFileSync(join(foreign, 'package.json'), 'utf8'),
  ) as Described;
  assert.deepEqual([os, cpu], [['darwin'], ['arm64']]);
  assert.deepEqual(
    bundleDependencies.filter((name) => name.startsWith('@fusegate/')),
    ['@fusegate/darwin-arm64'],
  );
  const libraries = readdirSync(join(foreign, 'node_modules/onnxruntime-node/bin'), { recursive: true })
    .map(String)
    .filter((file) => /\.(node|so|dll|dylib)/.test(file));
  assert.ok(libraries.length >= 2);
  assert.ok(libraries.every((file) => file.includes('/darwin/arm64/')));
});

test('the secrets of a composition come into no package, no image and no commit', () => {
  const composition = readFileSync(join(root, 'deploy/compose/compose.yaml'), 'utf8');
  const secrets = [...composition.matchAll(/file: \.\/(.+)/g)].map(([, name = '']) => name);
  assert.ok(secrets.length >= 3);
  // A working tree of its own: that of whoever runs the tests may have secrets.
  const tree = temporaryFolder();
  for (const name of readdirSync(root).filter((each) => each !== 'deploy')) {
    symlinkSync(join(root, name), join(tree, name));
  }
  cpSync(join(root, 'deploy'), join(tree, 'deploy'), { recursive: true });
  mkdirSync(join(tree, 'deploy/compose/secrets'), { recursive: true });
  for (const name of [...secrets, '.env']) writeFileSync(join(tree, 'deploy/compose', name), 'planted');
  const laid = join(folder, 'planted');
  packaging(`
    const module = { target: targets.hostTarget(), file: 'dist/native/fusegate.node' };
    contents.layProgram(${JSON.stringify(tree)}, ${JSON.stringify(laid)}, [module]);
  `);
  assert.deepEqual(readdirSync(join(laid, 'deploy/compose')).sort(), ['Caddyfile', 'compose.yaml']);
  const unsent = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  assert.ok(unsent.includes('**/secrets') && unsent.includes('**/.env'));
  for (const name of [...secrets, '.env']) {
    const path = `deploy/compose/${name}`;
    assert.equal(spawnSync('git', ['check-ignore', '--quiet', path], { cwd: root }).status, 0, path);
  }
});

test('a system that packages are not made for is an error that lists those that are', () => {
  const out = temporaryFolder();
  const made = spawnSync(process.execPath, ['build.mjs', '--package', out, 'win32-x64'], { cwd: root });
  assert.equal(made.status, 1);
  assert.match(made.stderr.toString(), /There is no target win32-x64: say one of linux-x64, linux-arm64/);
  assert.deepEqual(readdirSync(out), []);
});

test('the digest of the native sources changes with each of them, and with its name', () => {
  const sources = temporaryFolder();
  packaging(`
    import assert from 'node:assert/strict';
    import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
    process.chdir(${JSON.stringify(sources)});
    mkdirSync('native/core/target', { recursive: true });
    for (const name of ['Cargo.toml', 'Cargo.lock', 'native/a.rs']) writeFileSync(name, 'x');
    const seen = [targets.sourcesDigest('.')];
    writeFileSync('native/core/target/built', 'x');
    assert.equal(targets.sourcesDigest('.'), seen[0]);
    writeFileSync('native/a.rs', 'y');
    seen.push(targets.sourcesDigest('.'));
    renameSync('native/a.rs', 'native/b.rs');
    seen.push(targets.sourcesDigest('.'));
    writeFileSync('Cargo.lock', 'y');
    seen.push(targets.sourcesDigest('.'));
    assert.equal(new Set(seen).size, 4);
  `);
});
