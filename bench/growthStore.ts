/** Stores for `bench growth`: fragments of words of this project's guides, put in as submissions are. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { kinds } from '../src/contract/exploration.js';
import { native } from '../src/native/addon.js';
import { insertBinding, insertFragment } from '../src/store/tables/fragments.js';
import type { Operation, Store } from '../src/store/store.js';
import { projectRoot } from '../test/support/python.js';

/** Fragments of a unit of the store. */
const UNIT = 250;
/** Words of a content: about 500 characters. */
const WORDS = 75;
const TOPICS = 500;
const TOPIC_WORDS = 24;
/** Visitors; of equal numbers the leaderboard has to choose. */
const VISITORS = 20_000;

/** Numbers without a pattern, the same in every run. */
function numbers(seed: number): (bound: number) => number {
  let state = (Math.imul(seed, 0x9e3779b1) ^ 0x85ebca6b) >>> 0;
  return (bound) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) % bound;
  };
}

/** Words of the guides, each as often as it stands there. */
function guideWords(): string[] {
  const folder = join(projectRoot, 'docs');
  const guides = readdirSync(folder).filter((name) => name.endsWith('.md'));
  const texts = guides.map((name) => readFileSync(join(folder, name), 'utf8').toLowerCase());
  return texts.flatMap((text) => text.match(/\b[a-z]{3,}\b/g) ?? []);
}

const common = guideWords();
const different = [...new Set(common)];

/** Words of a topic. */
function topicWords(topic: number): string[] {
  const number = numbers(topic + 1);
  return Array.from({ length: TOPIC_WORDS }, () => different[number(different.length)] ?? '');
}

const topics = Array.from({ length: TOPICS }, (_, topic) => topicWords(topic));

/** A fragment by its number: two thirds of its words are of two topics, the others as in any text. */
export function growthFragment(place: number): {
  readonly title: string;
  readonly content: string;
  readonly kind: string;
  readonly visitor: string;
} {
  const number = numbers(place + 1_000_000);
  const own = [topics[number(TOPICS)] ?? [], topics[number(TOPICS)] ?? []] as const;
  const word = (): string => {
    const from = number(3);
    const words = own[from] ?? common;
    return words[number(words.length)] ?? '';
  };
  const some = (count: number): string => Array.from({ length: count }, word).join(' ');
  const visitor = number(VISITORS) * number(VISITORS);
  return {
    title: `${some(4)} ${place}`,
    content: `${some(WORDS)}.`,
    kind: kinds[number(kinds.length)] ?? '',
    visitor: place % 10 === 0 ? '' : `visitor ${Math.floor(visitor / VISITORS)}`,
  };
}

/** A receipt that no server makes: its time is long past. */
export function growthReceipt(place: number): string {
  return `fr_0${String(place).padStart(25, '0')}`;
}

function operationsOf(place: number): Operation[] {
  const { title, content, kind, visitor } = growthFragment(place);
  const receipt = growthReceipt(place);
  const at = new Date(Date.UTC(2026, 0, 1) + place * 1_000).toISOString();
  const sealed = native.sealFragment(title, content, '', '', kind, visitor, receipt, at);
  const fragment = { title, content, mechanism: '', test: '', kind, visitor };
  const stored = { receipt, fragment, envelope: sealed.envelope, seal: sealed.seal };
  const payload = Buffer.from(sealed.digests.canonical, 'hex');
  return [
    insertBinding(`growth ${place}`, { payload, receipt }),
    ...insertFragment(stored, { probe: false, digest: sealed.digests.dedupe }),
  ];
}

/** Puts the fragments of some numbers into a store. */
export async function growStore(store: Pick<Store, 'commit'>, from: number, to: number): Promise<void> {
  for (let first = from; first < to; first += UNIT) {
    const places = Array.from({ length: Math.min(UNIT, to - first) }, (_, index) => first + index);
    const outcome = await store.commit(places.flatMap(operationsOf));
    assert.equal(outcome.kind, 'done');
  }
}
