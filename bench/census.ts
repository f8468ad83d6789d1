/**
 * The worst request of every route, found by a small evolutionary search over shapes: the one that comes
 * nearest to what a request may cost in processor time, on the event loop or in memory. Bodies that the
 * contract allows and bodies that it does not. `test/attack/census.test.ts` holds what was recorded last.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CostServer, most, shareOf, type Cost } from '../test/attack/costs.js';
import {
  bodyOf,
  fillings,
  kinds,
  requestOf,
  subjects,
  type Gene,
  type Genome,
  type Subject,
} from '../test/attack/shapes.js';
import { projectRoot } from '../test/support/python.js';
import { machine } from './machine.js';
import type { RecordOptions } from './options.js';

/** Options of the command. */
export interface CensusOptions extends RecordOptions {
  /** Bodies tried for each route. */
  readonly bodies: number;
  /** Routes whose name has this. */
  readonly only: string;
}

/** A generator of numbers below a bound, the same each time. */
function seeded(): (below: number) => number {
  let state = 20_261_122;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function geneOf({ names }: Subject, below: (bound: number) => number): Gene {
  return {
    name: names[below(names.length)] ?? 'z',
    kind: kinds[below(kinds.length)] ?? 'text',
    of: below(fillings),
  };
}

function mutated({ isWhole, genes }: Genome, subject: Subject, below: (bound: number) => number): Genome {
  const gene = geneOf(subject, below);
  const at = below(genes.length);
  if (below(4) === 0) return { isWhole: !isWhole, genes };
  if (below(3) === 0 && genes.length < 3) return { isWhole, genes: [...genes, gene] };
  if (below(3) === 0 && genes.length > 1) {
    return { isWhole, genes: genes.filter((_, other) => other !== at) };
  }
  return { isWhole, genes: genes.map((old, other) => (other === at ? gene : old)) };
}

/** The worst request of a route. */
interface Worst extends Cost {
  readonly route: string;
  /** What it costs at most in parts of what it may. */
  readonly share: number;
  readonly genome: Genome;
  readonly begins: string;
}

const rounded = (number: number): number => Math.round(number * 10) / 10;

async function worstOf(server: CostServer, subject: Subject, bodies: number): Promise<Worst> {
  const below = seeded();
  const cost = (genome: Genome, tries: number): Promise<Cost> =>
    server.cost(requestOf(subject, genome, server.key), sizeOf(subject, genome), tries);
  let best: { genome: Genome; share: number } = {
    genome: { isWhole: true, genes: [geneOf(subject, below)] },
    share: 0,
  };
  for (let tried = 0; tried < (subject.kind === 'target' ? 1 : bodies); tried += 1) {
    // Now and then another beginning, so that the search does not stay where it fell first.
    const fresh = { isWhole: below(2) === 0, genes: [geneOf(subject, below)] };
    const genome = tried % 4 === 0 ? fresh : mutated(best.genome, subject, below);
    if (shareOf(await cost(genome, 1), subject) <= best.share) continue;
    const share = shareOf(await cost(genome, 2), subject);
    if (share > best.share) best = { genome, share };
  }
  const found = await cost(best.genome, 5);
  return {
    route: subject.name,
    share: Math.round(100 * shareOf(found, subject)) / 100,
    ...found,
    cpuMs: rounded(found.cpuMs),
    loopMs: rounded(found.loopMs),
    genome: best.genome,
    begins: subject.kind === 'target' ? subject.path.slice(0, 90) : bodyOf(subject, best.genome).slice(0, 90),
  };
}

function sizeOf(subject: Subject, genome: Genome): number {
  return subject.kind === 'target' ? subject.path.length : Buffer.byteLength(bodyOf(subject, genome));
}

function print({ route, cpuMs, loopMs, memory, bytes, answerBytes, status, begins }: Worst): void {
  const cells = [
    route.padEnd(24),
    String(status),
    `${bytes.toLocaleString('en').padStart(9)} B`,
    `${cpuMs.toFixed(1).padStart(6)} of ${most.cpuMs(bytes).toFixed(0).padStart(3)} ms`,
    `${loopMs.toFixed(1).padStart(5)} ms on the loop`,
    `${(memory / 1e6).toFixed(0).padStart(4)} MB`,
    `${answerBytes.toLocaleString('en').padStart(10)} B back`,
  ];
  console.log(`${cells.join('  ')}  ${JSON.stringify(begins.slice(0, 50))}`);
}

/** Searches, prints and records; the exit code is 2 where a request costs more than what was decided. */
export async function benchCensus({ bodies, only, json, record }: CensusOptions): Promise<number> {
  const server = await CostServer.start();
  const found: Worst[] = [];
  try {
    for (const subject of subjects().filter(({ name }) => name.includes(only))) {
      const worst = await worstOf(server, subject, bodies);
      found.push(worst);
      if (!json) print(worst);
    }
  } finally {
    await server.stop();
  }
  const at = new Date();
  const bounds = { cpuMs: '5 + 100 a MiB', loopMs: most.loopMs, memory: '4 bodies, 2 answers, 24 MiB' };
  const document = { what: 'worst request of each route', at, machine: machine(), bodies, bounds, found };
  if (json) console.log(JSON.stringify(document, null, 2));
  if (record && only === '') {
    const file = join(projectRoot, 'bench/record', `${at.toISOString().slice(0, 10)}-census.json`);
    writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`);
  }
  return found.every(({ share }) => share <= 1) ? 0 : 2;
}
