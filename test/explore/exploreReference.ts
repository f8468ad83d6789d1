/** Fragments to explore, and a naive reading of similarity. */

/** A fragment that was submitted. */
export interface Submitted {
  readonly title: string;
  readonly content: string;
  readonly kind?: string;
  readonly visitor?: string;
  readonly receipt: string;
  readonly vector: Uint8Array;
}

/** Cosine of the angle between int8 vectors; 0 where one is 0. */
export function cosine(a: Uint8Array, b: Uint8Array): number {
  const [left, right] = [a, b].map((bytes) => Array.from(bytes, (byte) => (byte << 24) >> 24)) as [
    number[],
    number[],
  ];
  const dot = (x: readonly number[], y: readonly number[]): number =>
    x.reduce((sum, one, at) => sum + one * (y[at] ?? 0), 0);
  const product = dot(left, left) * dot(right, right);
  return product === 0 ? 0 : dot(left, right) / Math.sqrt(product);
}

const topics = [
  'lattice struts carry the load of bridges and spread it',
  'sourdough bread rises slowly with wild yeast from flour',
  'neutron stars pulse in radio and slow down with age',
  'a ledger of signed receipts needs no trusted keeper',
  '格子は支柱で荷重を支える 橋の構造',
];
const turns = [
  'when one part fails',
  'at twice the size',
  'under noise',
  'seen from its opposite',
  'in winter',
];
const kinds = ['BRIDGE', 'CRITIQUE', 'HYPOTHESIS', 'TEST_DESIGN', 'BRIDGE', 'HARNESS'];
const visitors = ['Ada', 'Ben', 'Ada', '', 'Cleo', 'Ada', 'Ben', 'Dana'];

/** Some forty fragments of a few topics; two of one visitor say the same under other titles. */
export const exploreExamples: readonly Omit<Submitted, 'receipt' | 'vector'>[] = [
  ...Array.from({ length: 39 }, (_, index) => ({
    title: `Note ${index} on ${(topics[index % 5] ?? '').split(' ').slice(0, 2).join(' ')}`,
    content: `${topics[index % 5]} ${turns[(index * 3) % 7] ?? 'again and again'} (${index})`,
    kind: kinds[index % 6] ?? 'BRIDGE',
    visitor: visitors[index % 8] ?? '',
  })),
  {
    title: 'A fifth',
    content: 'A fifth note, so that two visitors have as many',
    kind: 'CRITIQUE',
    visitor: 'Dana',
  },
  { title: 'Said twice', content: 'bread rises', kind: 'CRITIQUE', visitor: 'Ada' },
  { title: 'Said twice, again', content: 'bread rises', kind: 'CRITIQUE', visitor: 'Ada' },
];
