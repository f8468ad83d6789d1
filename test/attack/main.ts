/**
 * `npm run test:attack`: plays attacks on a server with its defaults while a paying customer's requests go
 * on, prints what came of each, and fails where a bound is passed.
 */
import { attacks, type Outcome } from './attacks.js';
import { startWorld, watch, type Seen } from './world.js';

/** Most memory of all processes while attacked (bytes). */
const mostMemory = 1_500_000_000;

/** One line of the table. */
interface Row extends Outcome {
  readonly name: string;
}

function percentile(sorted: readonly number[], share: number): number {
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
}

/** What the customer and the operator saw throughout. */
function throughout(seen: Seen): Row[] {
  const sorted = [...seen.tookMs].sort((a, b) => a - b);
  const name = 'throughout';
  return [
    { name, what: `customer's requests refused, of ${seen.asked}`, figure: seen.refused, bound: 0 },
    { name, what: 'ms of a customer’s request, median', figure: percentile(sorted, 0.5), bound: Infinity },
    { name, what: 'ms of a customer’s request, 99 %', figure: percentile(sorted, 0.99), bound: Infinity },
    { name, what: `/ready said no, of ${seen.readies}`, figure: seen.notReady, bound: 0 },
    { name, what: 'ms of /ready, longest', figure: Math.round(seen.readyMs), bound: Infinity },
    {
      name,
      what: 'MB of all processes, most',
      figure: Math.round(seen.memory / 1e6),
      bound: mostMemory / 1e6,
    },
  ];
}

function print(rows: readonly Row[]): number {
  let missed = 0;
  for (const { name, what, figure, bound } of rows) {
    const held = figure <= bound;
    missed += held ? 0 : 1;
    const most = bound === Infinity ? '' : `<= ${bound.toLocaleString('en')}`;
    const verdict = bound === Infinity ? '' : held ? 'held' : 'PASSED';
    const cells = [
      name.padEnd(18),
      what.padEnd(52),
      figure.toLocaleString('en').padStart(12),
      most.padStart(14),
    ];
    console.log(`${cells.join(' ')}  ${verdict}`);
  }
  return missed;
}

const world = await startWorld();
const { seen, end } = watch(world);
const rows: Row[] = [];
for (const { name, play } of attacks) {
  const begunMs = performance.now();
  for (const outcome of await play(world)) rows.push({ name, ...outcome });
  console.error(`${name}: ${((performance.now() - begunMs) / 1000).toFixed(1)} s`);
}
await end();
const missed = print([...rows, ...throughout(seen)]);
await world.stop();
process.exitCode = missed === 0 ? 0 : 1;
