/**
 * `npm run test:cluster`: three databases under Patroni with etcd and a synchronous standby, and three nodes
 * behind HAProxy, each on a machine of its own (a network namespace). Seeded schedules of faults go over them
 * under load; then everything that was acknowledged is looked for. Needs Linux, root and Debian's packages,
 * which it installs.
 *
 * `--seeds <n>`: how many schedules (3). `--seed <n>`: the first; one that failed comes again with
 * `--seed <its number> --seeds 1`. `--steps <n>`: faults of a schedule (3). `--only <faults>`: of these
 * kinds, by commas. `--fresh <n>`: schedules after which the cluster is made again (10).
 * `--patroni <version>`: the Patroni that its databases run (3.1.2). `--logs <folder>`:
 * has all that the machines' programs write, a file a program.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { etcdProgram, installAll, patroniAt, programOf, usualPatroni } from './install.js';
import { startRouter } from './network.js';
import { runRounds, type RoundsOptions } from './rounds.js';
import { faults, type Fault } from './schedule.js';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
    steps: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    fresh: { type: 'string', default: '10' },
    patroni: { type: 'string', default: usualPatroni },
    logs: { type: 'string' },
    inside: { type: 'boolean', default: false },
  },
});

/** Reads the kinds of faults that are asked for. */
function kindsOf(text: string): readonly Fault[] {
  return text
    .split(',')
    .filter(Boolean)
    .map((name) => {
      if (name in faults) return name as Fault;
      throw new Error(`There is no fault "${name}". There are: ${Object.keys(faults).join(', ')}`);
    });
}

/** Runs this program in namespaces of its own: what it makes there is gone when it ends, however it ends. */
function runInside(): number {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    console.error('The cluster needs Linux and root, for network namespaces: run it in a container or a VM.');
    return 1;
  }
  installAll();
  patroniAt(values.patroni);
  etcdProgram();
  const file = fileURLToPath(import.meta.url);
  const again = [process.execPath, '--enable-source-maps', file, '--inside', ...process.argv.slice(2)];
  const apart = ['--mount', '--net', '--pid', '--fork', '--mount-proc', '--kill-child'];
  // The shell is the first process there, and takes in what others leave behind. Databases that are killed
  // leave gigabytes in memory unless that goes with the namespace.
  const script = '[ ! -d /dev/shm ] || mount -t tmpfs none /dev/shm; "$@"; exit $?';
  const args = [...apart, '/bin/bash', '-c', script, 'bash', ...again];
  return spawnSync(programOf('unshare'), args, { stdio: 'inherit' }).status ?? 1;
}

async function main(): Promise<number> {
  const options: RoundsOptions = {
    seeds: Number(values.seeds),
    first: Number(values.seed),
    steps: Number(values.steps),
    only: kindsOf(values.only),
    fresh: Number(values.fresh),
    patroni: values.patroni,
    logs: values.logs,
  };
  if (values.logs !== undefined) mkdirSync(values.logs, { recursive: true });
  if (!values.inside) return runInside();
  startRouter();
  const place = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
  const folder = mkdtempSync(join(place, 'fusegate-cluster-'));
  // The user of the machines' programs passes through.
  chmodSync(folder, 0o711);
  try {
    return await runRounds(folder, options);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exit(await main());
