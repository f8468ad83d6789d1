/** What a release is made of: packages of npm and crates, as CycloneDX documents and with the texts of their licences. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ran, readJson } from './contents.mjs';
import { targets } from './targets.mjs';

const byReference = (a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1);

/** The licence of a package as CycloneDX has it: an expression of SPDX, or words. */
function licensed(license) {
  if (typeof license !== 'string' || license === '') return {};
  return { licenses: [{ expression: license.replaceAll('/', ' OR ') }] };
}

/** The folder of `node_modules` in which a package at `from` finds another. */
function found(packages, from, name) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    const path = `${at === '' ? '' : `${at}/`}node_modules/${name}`;
    if (path in packages) return path;
    if (at === '') return undefined;
    if (!at.includes('/node_modules/')) at = '';
  }
}

/** Packages whose scripts are copied into the pages. */
const onPages = ['sigma', 'graphology', 'd3-dispatch', 'd3-force', 'd3-quadtree', 'd3-timer'];

/** Packages of the runtime by their folder, as the lockfile has them: no compilers, and what is optional too. */
export function npmPackages(root) {
  const { packages } = readJson(join(root, 'package-lock.json'));
  const own = packages[''];
  const taken = new Map();
  const waiting = [...Object.keys({ ...own.dependencies, ...own.optionalDependencies }), ...onPages].map(
    (name) => ['', name],
  );
  while (waiting.length > 0) {
    const [from, name] = waiting.pop();
    const path = found(packages, from, name);
    if (path === undefined || taken.has(path)) continue;
    const { dependencies = {}, optionalDependencies = {} } = packages[path];
    taken.set(path, { ...packages[path], name: packages[path].name ?? path.split('node_modules/').at(-1) });
    waiting.push(...Object.keys({ ...dependencies, ...optionalDependencies }).map((each) => [path, each]));
  }
  return taken;
}

/** Crates that the native module is made of, on any of the targets. */
function crates(root) {
  const taken = new Map();
  for (const { rust } of targets.filter(({ os }) => os === 'linux')) {
    const options = ['--locked', '--format-version', '1', '--filter-platform', rust];
    const { packages, resolve } = JSON.parse(ran('cargo', ['metadata', ...options], { cwd: root }));
    const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
    const waiting = packages.filter(({ name }) => name === 'fusegate-node').map(({ id }) => id);
    const seen = new Set();
    while (waiting.length > 0) {
      const id = waiting.pop();
      if (seen.has(id)) continue;
      seen.add(id);
      const inModule = nodes
        .get(id)
        .deps.filter(({ dep_kinds: kinds }) => kinds.some(({ kind }) => kind === null));
      waiting.push(...inModule.map(({ pkg }) => pkg));
    }
    for (const each of packages) if (seen.has(each.id) && each.source !== null) taken.set(each.id, each);
  }
  return [...taken.values()];
}

/** A CycloneDX document. It has no serial number and no time: the same sources give the same bytes. */
function document(root, name, components) {
  const { version, license } = readJson(join(root, 'package.json'));
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': name, name, version, ...licensed(license) } },
    components: components.sort(byReference),
  };
}

/** A package or a crate in a document; `content`: its digest in hexadecimal, undefined where there is none. */
function component(reference, { name, version, license }, alg, content) {
  return {
    type: 'library',
    'bom-ref': reference,
    name,
    version,
    purl: reference,
    ...licensed(license),
    ...(content === undefined ? {} : { hashes: [{ alg, content }] }),
  };
}

/** The packages of npm that a server runs. */
export function npmDocument(root) {
  const components = [...npmPackages(root).values()].map(({ name, version, license, integrity }) => {
    const reference = `pkg:npm/${name.replace('@', '%40')}@${version}`;
    const content =
      integrity === undefined ? undefined : Buffer.from(integrity.split('-')[1], 'base64').toString('hex');
    return component(reference, { name, version, license }, 'SHA-512', content);
  });
  const unique = new Map(components.map((each) => [each['bom-ref'], each]));
  return document(root, 'fusegate', [...unique.values()]);
}

/** The crates of the native module. */
export function cargoDocument(root) {
  const locked = readFileSync(join(root, 'Cargo.lock'), 'utf8').split('[[package]]');
  const checksum = ({ name, version }) =>
    locked
      .find((each) => each.includes(`name = "${name}"\n`) && each.includes(`version = "${version}"\n`))
      ?.match(/checksum = "(\w+)"/)?.[1];
  const components = crates(root).map((each) => {
    const { name, version, license } = each;
    const reference = `pkg:cargo/${name}@${version}`;
    const content = checksum(each);
    return component(reference, { name, version, license }, 'SHA-256', content);
  });
  return document(root, 'fusegate-native', components);
}

/** The texts of a package's licence and notices. */
function texts(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => /^(licen[cs]e|copying|notice|unlicense)/i.test(name) && !/\.(js|ts|json)$/.test(name))
    .sort()
    .flatMap((name) => {
      try {
        return [readFileSync(join(folder, name), 'utf8').trim()];
      } catch {
        return []; // A folder of licences, which its expression names.
      }
    });
}

/** Licences of everything that a package of Fusegate holds or brings, each text once. */
export function thirdPartyText(root) {
  const npm = [...npmPackages(root)].map(([path, { name, version, license }]) => {
    return { name: `${name} ${version}`, license, found: texts(join(root, path)) };
  });
  const rust = crates(root).map(({ name, version, license, manifest_path: manifest }) => {
    return { name: `${name} ${version} (crate)`, license, found: texts(dirname(manifest)) };
  });
  const all = [...npm, ...rust].sort((a, b) => (a.name < b.name ? -1 : 1));
  const holders = new Map();
  for (const { name, found: own } of all) {
    for (const text of own) holders.set(text, [...(holders.get(text) ?? []), name]);
  }
  const list = all.map(({ name, license }) => `${name}: ${license ?? 'see its text'}`);
  const each = [...holders].map(([text, names]) => `${'-'.repeat(78)}\n${names.join('\n')}\n\n${text}\n`);
  return `Fusegate holds or brings the following, under their own licences.\n\n${[...new Set(list)].join('\n')}\n\n${each.join('\n')}`;
}
