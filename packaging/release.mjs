/**
 * `npm run release -- VERSION`: sets the version where it is another, and commits that; writes the packages, their
 * parts, checksums and origin into `dist/release/VERSION`. The same commit gives the same bytes on the same machine.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ran, readJson, writeJson } from './contents.mjs';
import { pack } from './pack.mjs';
import { cargoDocument, npmDocument } from './parts.mjs';
import { glibc, targets } from './targets.mjs';

/** Files that state the version, with the words around it. The documents and clients are generated of them. */
const stated = [
  ['package.json', /^(  "version": ")[^"]+/m],
  ['package-lock.json', /^(  "version": ")[^"]+/m],
  ['package-lock.json', /^(      "name": "fusegate",\n      "version": ")[^"]+/m],
  ['deploy/chart/Chart.yaml', /^(version: )\S+/m],
  ['deploy/chart/Chart.yaml', /^(appVersion: ')[^']+/m],
  ['Cargo.toml', /^(version = ")[^"]+/m],
  ['Cargo.lock', /^(name = "fusegate-core"\nversion = ")[^"]+/m],
  ['Cargo.lock', /^(name = "fusegate-node"\nversion = ")[^"]+/m],
  ['src/info/version.ts', /(SERVICE_VERSION = ')[^']+/],
  ['src/contract/info.ts', /(  version: ')\d[^']+/],
  ['src/contract/info.ts', /(  service: ')\d[^']+/],
  ['src/contract/info.ts', /(  native: ')\d[^']+/],
  ['src/contract/openapi.ts', /(      version: ')\d[^']+/],
  ['src/contract/rerank.ts', /(      version: ')\d[^']+/],
  ['test/contract/openapi.test.ts', /(\['gateway', ')[^']+/],
  ['test/http/rerank.test.ts', /(version: ')\d[^']+/],
  ['test/info/info.test.ts', /(body\['service'\], ')[^']+/],
  ['test/processes/commands.test.ts', /(version\.output, ')[^\\]+/],
  ['clients/typescript/package.json', /^(  "version": ")[^"]+/m],
  ['clients/python/pyproject.toml', /^(version = ")[^"]+/m],
  ['clients/python/fusegate/__init__.py', /^(__version__ = ")[^"]+/m],
];

/** Sets the version everywhere, and gives the changes since the last one its heading. */
export function setVersion(root, version) {
  const client = join(root, 'clients/typescript/src/gateway.ts');
  const old = readJson(join(root, 'package.json')).version.replaceAll('.', '\\.');
  const shown = new RegExp(`("(?:version|service|native)": ")${old}"`, 'g');
  writeFileSync(client, readFileSync(client, 'utf8').replace(shown, `$1${version}"`));
  for (const [file, pattern] of stated) {
    const text = readFileSync(join(root, file), 'utf8');
    if (!pattern.test(text)) throw new Error(`${file} does not state the version where it did.`);
    writeFileSync(join(root, file), text.replace(pattern, `$1${version}`));
  }
  const path = join(root, 'CHANGELOG.md');
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace('## Unreleased\n', `## Unreleased\n\n## ${version}\n`),
  );
}

const sha256 = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');

/** The statement of where the files come from (in-toto, with SLSA's predicate); not signed. */
function provenance(root, version, subjects) {
  const commit = ran('git', ['rev-parse', 'HEAD'], { cwd: root }).trim();
  const first = (command, args) => ran(command, args, { cwd: root }).split('\n')[0].trim();
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map(([name, digest]) => ({ name, digest: { sha256: digest } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'fusegate/npm-run-release/v1',
        externalParameters: { version },
        internalParameters: {
          node: process.versions.node,
          npm: first('npm', ['--version']),
          rustc: first('rustc', ['--version']),
          glibc,
        },
        resolvedDependencies: [{ name: 'fusegate', digest: { gitCommit: commit } }],
      },
      runDetails: { builder: { id: 'npm run release' } },
    },
  };
}

/** Writes a release; gives its folder. `prepare` builds, and writes the generated documents again. */
export function release(root, [version], prepare) {
  if (!/^\d+\.\d+\.\d+(-[0-9a-z.]+)?$/.test(version ?? '')) {
    throw new Error('Say which version: npm run release -- 1.2.3');
  }
  if (ran('git', ['status', '--porcelain'], { cwd: root }) !== '') {
    throw new Error('A release is of a commit: commit or take away what has changed.');
  }
  const isNew = readJson(join(root, 'package.json')).version !== version;
  if (isNew) setVersion(root, version);
  prepare(isNew);
  if (isNew) ran('git', ['commit', '--quiet', '--all', '--message', `release: ${version}`], { cwd: root });
  const out = join(root, 'dist/release', version);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  pack(root, [out, ...targets.map(({ name }) => name)]);
  writeJson(join(out, 'npm.cdx.json'), npmDocument(root));
  writeJson(join(out, 'cargo.cdx.json'), cargoDocument(root));
  const files = readdirSync(out).sort();
  const digests = files.map((name) => [name, sha256(join(out, name))]);
  writeJson(join(out, 'provenance.json'), provenance(root, version, digests));
  const all = [...digests, ['provenance.json', sha256(join(out, 'provenance.json'))]];
  writeFileSync(join(out, 'SHA256SUMS'), all.map(([name, digest]) => `${digest}  ${name}\n`).join(''));
  return out;
}
