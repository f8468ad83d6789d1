/** Puts many fragments into a store at once, sealed as submissions are. */
import assert from 'node:assert/strict';
import { native } from '../../src/native/addon.js';
import { encodeFragment, encodeReceipt } from '../../src/store/tables/fragments.js';
import type { Operation, Store } from '../../src/store/store.js';

const topics = [
  'lattice strut bridge load arch span truss beam tension keystone',
  'bread yeast flour oven crust starter rise dough salt crumb',
  'neutron star pulse radio orbit magnet spin decay mass crust',
  'ledger receipt digest seal proof witness anchor trust audit chain',
  'river delta silt flood channel meander bank gravel dam estuary',
  'memory recall sleep cue trace rehearsal context forgetting habit attention',
  'forest canopy fungus root seedling decay light soil drought succession',
  'queue buffer latency worker retry backoff burst shard lease drain',
  'tuning chord overtone rhythm string resonance pitch drum interval silence',
  'price auction bidder reserve signal scarcity market hoard barter subsidy',
].map((line) => line.split(' '));
const links = ['holds', 'breaks', 'mirrors', 'delays', 'hides', 'bounds', 'explains', 'resists'];
const kinds = [
  'HYPOTHESIS',
  'BRIDGE',
  'CRITIQUE',
  'HYPOTHESIS',
  'TEST_DESIGN',
  'COUNTEREXAMPLE',
  'HARNESS',
  'NEGATIVE_RESULT',
  'REINTERPRETATION',
];
const visitors = ['Ada', 'Ben', 'Cleo', '', 'Dana', 'Eve', 'Ada', 'Farid', 'Gro'];

/** A number below `bound` that a seed makes. */
function pick(seed: number, bound: number): number {
  return (Math.imul(seed ^ (seed >>> 15), 0x2c1b3c6d) >>> 8) % bound;
}

/** The receipt of a fragment by its number. */
export function receiptOf(number: number): string {
  return `fr_0${String(number).padStart(25, '0')}`;
}

/** The words of a fragment by its number: of one topic, now and then of two. */
export function textsOf(number: number): { readonly title: string; readonly content: string } {
  const topic = topics[pick(number, 10)] ?? [];
  const other = number % 7 === 0 ? (topics[pick(number + 1, 10)] ?? []) : topics.map(() => '');
  const word = (step: number): string => topic[pick(number * 31 + step, 10)] ?? '';
  const link = links[pick(number, 8)] ?? '';
  const words = Array.from({ length: 9 }, (_, step) => `${word(step)} ${step < 3 ? other[step] : ''}`.trim());
  return {
    title: `What ${word(11)} ${link} in the ${word(12)}, ${number}`,
    content: `${words.join(', ')}. The ${word(13)} ${link} the ${word(14)}: ${word(15)} is ${number % 13}.`,
  };
}

function operationsOf(number: number): Operation[] {
  const { title, content } = textsOf(number);
  const visitor = visitors[number % 9] ?? '';
  const kind = kinds[pick(number, 9)] ?? '';
  const receipt = receiptOf(number);
  const at = new Date(Date.UTC(2026, 9, 1) + number * 60_000).toISOString();
  const sealed = native.sealFragment(title, content, '', '', kind, visitor, receipt, at);
  const fragment = { title, content, mechanism: '', test: '', kind, visitor };
  const value = encodeFragment({ receipt, fragment, envelope: sealed.envelope, seal: sealed.seal });
  return [
    { kind: 'insert', space: 'fragments', key: Buffer.from(receipt), value },
    { kind: 'append', log: 'fragments', value: encodeReceipt(receipt) },
  ];
}

/** Puts the fragments of some numbers into a store, many in a unit. */
export async function fill(store: Pick<Store, 'commit'>, from: number, to: number): Promise<void> {
  for (let first = from; first < to; first += 500) {
    const numbers = Array.from({ length: Math.min(500, to - first) }, (_, index) => first + index);
    const outcome = await store.commit(numbers.flatMap(operationsOf));
    assert.equal(outcome.kind, 'done');
  }
}
