/**
 * Installs the programs of a cluster, without starting any: Debian's packages, Patroni from PyPI, and etcd
 * from Go's modules.
 */
import { execFileSync, spawnSync, type ExecFileSyncOptions } from 'node:child_process';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPrograms, programs as builtPrograms } from '../peers/go.js';
import { projectRoot } from '../support/python.js';

/** Packages, and a program that each of them brings. */
const packages: Readonly<Record<string, readonly string[]>> = {
  postgresql: ['postgres'],
  haproxy: ['haproxy'],
  pgbouncer: ['pgbouncer'],
  iproute2: ['ip', 'tc'],
  'util-linux': ['setpriv', 'unshare'],
};

/** Folder of PostgreSQL's programs; undefined: there is none. */
export function postgresFolder(): string | undefined {
  const all = '/usr/lib/postgresql';
  const versions = existsSync(all) ? readdirSync(all).sort((a, b) => Number(b) - Number(a)) : [];
  return versions
    .map((version) => join(all, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'postgres')));
}

/** Path of a program; undefined: it is not installed. */
export function pathOf(program: string): string | undefined {
  const bin = postgresFolder();
  const places = [
    '/usr/sbin',
    '/usr/bin',
    '/sbin',
    '/bin',
    '/usr/local/bin',
    ...(bin === undefined ? [] : [bin]),
  ];
  return places.map((place) => join(place, program)).find((path) => existsSync(path));
}

/** Path of a program that {@link installAll} has brought. */
export function programOf(name: string): string {
  const path = pathOf(name);
  if (path === undefined) throw new Error(`${name} is not installed`);
  return path;
}

/** True if Debian's Python is there, with what its environments need. */
function canMakeEnvironment(): boolean {
  const python = pathOf('python3');
  return python !== undefined && spawnSync(python, ['-c', 'import ensurepip']).status === 0;
}

/** The file by which Debian's packages are told not to start what they bring. */
const policy = '/usr/sbin/policy-rc.d';

/** Installs what is not there. */
export function installAll(): void {
  const missing = Object.entries(packages)
    .filter(([, programs]) => programs.some((program) => pathOf(program) === undefined))
    .map(([name]) => name);
  // The package brings no program: Debian's Python makes no environment without it.
  if (!canMakeEnvironment()) missing.push('python3-venv');
  if (missing.length === 0) return;
  console.error(`Installing ${missing.join(', ')} (Debian) …`);
  const hasPolicy = existsSync(policy);
  if (!hasPolicy) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
    execFileSync('apt-get', ['update', '-qq'], { ...options, stdio: ['ignore', 'ignore', 'inherit'] });
    const install = ['install', '-y', '-qq', '--no-install-recommends', ...missing];
    execFileSync('apt-get', install, { ...options, stdio: ['ignore', 'ignore', 'inherit'] });
  } finally {
    if (!hasPolicy) rmSync(policy);
  }
}

/**
 * The Patroni that databases run unless another is named. Debian 12 has 3.0.2, which writes the leader's key
 * to etcd without a comparison: a leader that was cut off takes the lead back, and what its successor
 * acknowledged is lost. 3.2 and later take no `ttl` below 20 s: when a leader's machine dies, nothing is
 * written for longer than 15 s.
 */
export const usualPatroni = '3.1.2';

/**
 * Path of etcd, built where it is not there. Debian 12 has 3.4.23: a leader of it that was paused lets every
 * lease end when it goes on, through its successor (etcd's issue 15247). The key of PostgreSQL's leader is
 * gone then, and an earlier leader takes the lead back by renewing it: what its successor acknowledged is
 * lost.
 */
export function etcdProgram(): string {
  buildPrograms(['etcd']);
  return join(builtPrograms, 'etcd');
}

/** Path of a version of Patroni, in an environment of its own; installs it where it is not there. */
export function patroniAt(version: string): string {
  const folder = join(projectRoot, '.peers', `patroni-${version}`);
  const path = join(folder, 'bin', 'patroni');
  if (existsSync(path)) return path;
  console.error(`Installing Patroni ${version} (Python's packages) …`);
  const options: ExecFileSyncOptions = { stdio: ['ignore', 'ignore', 'inherit'] };
  // Debian's Python: what is below root's home is not the database user's to run.
  execFileSync(programOf('python3'), ['-m', 'venv', folder], options);
  const packages = [`patroni[etcd3]==${version}`, 'psycopg[binary]==3.3.9', 'setuptools==80.9.0'];
  execFileSync(join(folder, 'bin', 'pip'), ['install', '--quiet', ...packages], options);
  return path;
}
