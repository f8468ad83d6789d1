/** Go programs that tests run: built once from modules whose versions are pinned; needs Go. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../support/python.js';

/** Where the programs are built to. */
export const programs = resolve(process.env['FUSEGATE_PEERS_DIR'] ?? join(projectRoot, '.peers'));

/** The modules that pin the programs, or are them, under the project's root. */
const [payments, log, chart] = ['test/peers/payments/go', 'test/peers/log/go', 'test/peers/chart/go'];

/** The programs: the module's folder, the Go package, its tags. */
const known = {
  btcd: { module: `${payments}/btcd`, path: 'github.com/btcsuite/btcd', tags: '' },
  lnd: {
    module: `${payments}/lnd`,
    path: 'github.com/lightningnetwork/lnd/cmd/lnd',
    tags: 'autopilotrpc signrpc walletrpc chainrpc invoicesrpc routerrpc',
  },
  'stripe-mock': { module: `${payments}/stripe-mock`, path: 'github.com/stripe/stripe-mock', tags: '' },
  'log-peer': { module: log, path: '.', tags: '' },
  helm: { module: chart, path: 'helm.sh/helm/v3/cmd/helm', tags: '' },
  etcd: { module: 'test/cluster/go', path: 'go.etcd.io/etcd/server/v3', tags: '' },
  litewitness: { module: log, path: 'filippo.io/torchwood/cmd/litewitness', tags: '' },
} as const;

/** A program's name. */
export type GoProgram = keyof typeof known;

/** Builds the programs that are not there in the pinned versions; says so, as it takes minutes. */
export function buildPrograms(wanted: readonly GoProgram[]): void {
  mkdirSync(programs, { recursive: true });
  for (const name of wanted) {
    const { module, path, tags } = known[name];
    const folder = join(projectRoot, module);
    const own = readdirSync(folder).filter((file) => file.endsWith('.go'));
    const pins = ['go.mod', 'go.sum', ...own].map((file) => readFileSync(join(folder, file)));
    const stamp = `${createHash('sha256').update(Buffer.concat(pins)).digest('hex')} ${tags}\n`;
    const [program, note] = [join(programs, name), join(programs, `${name}.stamp`)];
    if (existsSync(program) && existsSync(note) && readFileSync(note, 'utf8') === stamp) continue;
    console.error(`Building ${path} …`);
    const flags = ['-mod=readonly', '-buildvcs=false', '-trimpath', '-tags', tags, '-ldflags', '-s -w'];
    execFileSync('go', ['build', ...flags, '-o', program, path], {
      cwd: folder,
      env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '' },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    writeFileSync(note, stamp);
  }
}

// `npm run test:peers` builds all before its tests, two of which may need the same; with names, those alone.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const named = process.argv.slice(2);
  // The cluster's test builds its own.
  const all = (Object.keys(known) as GoProgram[]).filter((name) => name !== 'etcd');
  buildPrograms(named.length === 0 ? all : all.filter((name) => named.includes(name)));
}
