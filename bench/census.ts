/**
 * The worst body of every route that takes JSON, found by a small evolutionary search over shapes: the one
 * that costs the most processor time a MiB. Bodies that the contract allows and bodies that it does not.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Answer, RouteRequest } from '../src/contract/exchange.js';
import { freeAuditRequestType } from '../src/contract/audit.js';
import { fuseRequestType } from '../src/contract/fuse.js';
import { normalizeRequestType } from '../src/contract/normalize.js';
import { routeList } from '../src/contract/routes.js';
import { checkBytes } from '../src/contract/schema/bytes.js';
import { fieldsOf } from '../src/contract/schema/shape.js';
import type { WireType } from '../src/contract/schema/wireType.js';
import { native } from '../src/native/addon.js';
import { audit } from '../src/pages/audit.js';
import { fuseHandler } from '../src/search/fuse.js';
import { systemClock } from '../src/system/clock.js';
import { auditOffLoop } from '../src/text/auditOffLoop.js';
import { normalizeHandler } from '../src/text/normalize.js';
import { request } from '../test/outreach/fixture.js';
import { projectRoot } from '../test/peers/python.js';
import { noModels } from '../test/search/embedding.js';
import { machine } from './machine.js';

/** Options of the command. */
export interface CensusOptions {
  /** Bodies tried for each route. */
  readonly bodies: number;
  readonly json: boolean;
  readonly record: boolean;
}

/** Most processor time a MiB of a body that what was decided allows (ms). */
const mostMs = 100;

/** A route, or its body's check where the rest is bounded by the contract's maxima. */
interface Subject {
  readonly name: string;
  readonly type: WireType;
  readonly limit: number;
  readonly run: (body: Buffer) => unknown;
}

type RawHandler = (request: RouteRequest) => Answer | Promise<Answer>;

function subjects(): Subject[] {
  const of = (name: string, type: WireType, handler: RawHandler): Subject => ({
    name,
    type,
    limit: 1 << 20,
    run: (body) => handler({ ...request({ input: undefined }), body, retain: () => Buffer.from(body) }),
  });
  const inPipeline = routeList.flatMap(({ id, body }) => {
    if (body.kind !== 'json') return [];
    const { schema, limit } = body;
    return [{ name: id, type: schema, limit, run: (bytes: Buffer) => checkBytes(schema, bytes, native) }];
  });
  return [
    of('fuse', fuseRequestType, fuseHandler({ ...native, embedMode: noModels() })),
    of('normalize', normalizeRequestType, normalizeHandler(native)),
    of(
      'audit',
      freeAuditRequestType,
      audit({ ...native, clock: systemClock, auditOffLoop: auditOffLoop(native, 1) }),
    ),
    ...inPipeline,
  ];
}

/** Texts of the kinds that readers have to work for. */
const units = ['x', 'a ', '\\u00e9', '\\ud83d\\ude00', '😀', 'Ã©', 'e\u0301', '漢', '<b>', '\\n', '7', 'ﬁ'];

/** Parts of a list or an object; `#` is another number each time. */
const parts = ['{}', '[]', '0', '""', '"a"', '1e-300', '{"id":"","text":"","dense_score":1}', '"k#"'];
const members = ['"":0', '"":""', '"k#":0', '"k#":"v"', '"\\u006b#":0', '"#":{}'];

/** One member of a body: its name, and what its value is filled with. */
interface Gene {
  readonly name: string;
  readonly kind: 'text' | 'list' | 'object' | 'texts';
  readonly of: number;
}

type Genome = readonly Gene[];

function filled(part: string, separator: string, bytes: number): string {
  const count = Math.max(1, Math.floor(bytes / (Buffer.byteLength(part) + separator.length)));
  if (!part.includes('#')) return Array<string>(count).fill(part).join(separator);
  return Array.from({ length: count }, (_, at) => part.replace('#', String(at))).join(separator);
}

function valueOf({ kind, of }: Gene, bytes: number): string {
  if (kind === 'text') return `"${filled(units[of % units.length] ?? 'x', '', bytes)}"`;
  if (kind === 'object') return `{${filled(members[of % members.length] ?? '"":0', ',', bytes)}}`;
  if (kind === 'list') return `[${filled(parts[of % parts.length] ?? '0', ',', bytes)}]`;
  // As many as an audit takes, so that some bodies are valid.
  return `[${filled(`"${filled(units[of % units.length] ?? 'x', '', bytes / 400)}"`, ',', bytes)}]`;
}

function bodyOf(genome: Genome, limit: number): Buffer {
  const room = Math.floor((limit - 64 * genome.length) / genome.length);
  const text = genome.map((gene) => `${JSON.stringify(gene.name)}:${valueOf(gene, room)}`).join(',');
  return Buffer.from(`{${text}}`);
}

/** A generator of numbers below a bound, the same each time. */
function seeded(): (below: number) => number {
  let state = 20_261_122;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const kinds = ['text', 'list', 'object', 'texts'] as const;

function geneOf(names: readonly string[], below: (bound: number) => number): Gene {
  return {
    name: names[below(names.length)] ?? 'z',
    kind: kinds[below(kinds.length)] ?? 'text',
    of: below(24),
  };
}

function mutated(genome: Genome, names: readonly string[], below: (bound: number) => number): Genome {
  const gene = geneOf(names, below);
  const at = below(genome.length);
  if (below(3) === 0 && genome.length < 3) return [...genome, gene];
  if (below(3) === 0 && genome.length > 1) return genome.filter((_, other) => other !== at);
  return genome.map((old, other) => (other === at ? gene : old));
}

/** Processor time of a body (ms a MiB): the least of three tries, as what else runs adds to it. */
async function costOf(subject: Subject, body: Buffer): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < 3; round += 1) {
    const before = process.cpuUsage();
    await subject.run(body);
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000 / (body.length / (1 << 20)));
  }
  return least;
}

interface Worst {
  readonly route: string;
  readonly msPerMiB: number;
  readonly bytes: number;
  readonly begins: string;
}

async function worstOf(subject: Subject, bodies: number): Promise<Worst> {
  const below = seeded();
  const names = [...fieldsOf(subject.type).map(({ name }) => name), 'z'];
  let best: { genome: Genome; cost: number } = { genome: [geneOf(names, below)], cost: 0 };
  for (let tried = 0; tried < bodies; tried += 1) {
    // Now and then another beginning, so that the search does not stay where it fell first.
    const genome = tried % 4 === 0 ? [geneOf(names, below)] : mutated(best.genome, names, below);
    const cost = await costOf(subject, bodyOf(genome, subject.limit));
    if (cost > best.cost) best = { genome, cost };
  }
  const body = bodyOf(best.genome, subject.limit);
  return {
    route: subject.name,
    msPerMiB: Number(best.cost.toFixed(1)),
    bytes: body.length,
    begins: body.toString('utf8', 0, 90),
  };
}

/** Searches, prints and records; the exit code is 2 where a body costs more than what was decided. */
export async function benchCensus({ bodies, json, record }: CensusOptions): Promise<number> {
  const found: Worst[] = [];
  for (const subject of subjects()) {
    const worst = await worstOf(subject, bodies);
    found.push(worst);
    if (!json)
      console.log(
        `${worst.route.padEnd(22)} ${worst.msPerMiB.toFixed(1).padStart(7)} ms/MiB  ${worst.begins}`,
      );
  }
  const at = new Date();
  const document = { what: 'worst body of each route', at, machine: machine(), bodies, mostMs, found };
  if (json) console.log(JSON.stringify(document, null, 2));
  if (record) {
    const file = join(projectRoot, 'bench/record', `${at.toISOString().slice(0, 10)}-census.json`);
    writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`);
  }
  return found.every(({ msPerMiB }) => msPerMiB <= mostMs) ? 0 : 2;
}
