/** The learner's turns: how long a name waits for the next, who waits for disk space, and how it stops. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { followCorpora } from '../../src/corpora/follower.js';
import { CorpusLearner } from '../../src/corpora/learner.js';
import { native } from '../../src/native/addon.js';
import { corpusOwner, learnerIn } from '../../src/search/corpora.js';
import { fuseHandler } from '../../src/search/fuse.js';
import { findLearning, ownedCorpusLimits, removeCorpus } from '../../src/store/tables/corpora.js';
import { storedName } from '../../src/store/tables/names.js';
import { answered, requestWith, staticMode } from '../support/embedding.js';
import { HandClock } from '../support/handClock.js';
import { openTestStore } from '../support/serving.js';

/** A process on a store of its own, whose time passes by hand. */
async function started() {
  const store = await openTestStore();
  const clock = new HandClock();
  const corpora = new native.Corpora(Buffer.from('0123456789abcdef'));
  const disk = { isReserved: false };
  const log = { error: (fields: object) => assert.fail(JSON.stringify(fields)) };
  const parts = { store, corpora, clock, log, randomness: (count: number) => randomBytes(count) };
  const learner = new CorpusLearner({ ...parts, isStorageReserved: () => disk.isReserved });
  const follower = followCorpora({ ...parts, hurry: learner.hurry });
  await follower.start();
  const learnerOf = learnerIn(true, (raw) => Buffer.from(raw.repeat(8)));
  const handler = fuseHandler({ ...native, embedMode: staticMode(corpora), learnerOf });
  const ask = async (name: string, texts: readonly string[], more: object = {}, raw = '') => {
    const docs = texts.map((text, at) => ({ id: `${at}`, text, dense_score: 0 }));
    const request = { query: 'boots', docs, corpus: { name }, learn: true, ...more };
    const answer = await handler(requestWith(Buffer.from(JSON.stringify(request)), raw));
    return `${answer.status} ${JSON.stringify(answered(answer))}`;
  };
  const teach = async (name: string, texts: readonly string[], raw = ''): Promise<void> =>
    assert.match(await ask(name, texts, {}, raw), /^200 /);
  const docs = async (name: string) => (await findLearning(store, name))?.docs;
  return { store, clock, corpora, disk, learner, follower, ask, teach, docs };
}

/** A text of words that no other text has. */
function words(mark: string, count: number): string {
  return Array.from({ length: count }, (_, at) => `${mark}${at}`).join(' ');
}

/** Texts whose sample has about 16 bytes for each of their words. */
function large(mark: string): string[] {
  return Array.from({ length: 100 }, (_, at) => words(`${mark}${at}w`, 1_500));
}

test('a name waits a second for each 256 KiB of its sample, and others do not wait for it', async () => {
  const { store, clock, learner, teach, docs } = await started();
  await teach('large', large('a'));
  await learner.storeDue();
  const bytes = (await findLearning(store, 'large'))?.bytes ?? 0;
  assert.ok(bytes > 4 * 256 * 1_024, `${bytes}`);
  const waitMs = Math.ceil((1_000 * bytes) / (256 * 1_024));
  await teach('large', ['boots']);
  await teach('small', ['boots']);
  await learner.storeDue();
  assert.deepEqual([await docs('large'), await docs('small')], [100, 1]);
  clock.leap(1_000);
  await teach('small', ['more boots']);
  clock.leap(waitMs - 1_001);
  await learner.storeDue();
  assert.deepEqual([await docs('large'), await docs('small')], [100, 2]);
  clock.leap(1);
  await learner.storeDue();
  assert.equal(await docs('large'), 101);
  // A turn that finds nothing to write has read as much: a text without a word is in no sample.
  clock.leap(waitMs + 1_000);
  await teach('large', ['...']);
  await learner.storeDue();
  await teach('large', ['last boots']);
  await learner.storeDue();
  assert.equal(await docs('large'), 101);
  clock.leap(waitMs + 1_000);
  await learner.storeDue();
  assert.equal(await docs('large'), 102);
});

test('a name whose texts take half of the memory has its turn before', async () => {
  const { corpora, learner, teach, docs } = await started();
  await teach('large', large('a'));
  await learner.storeDue();
  // Words that are the same take no place in the sample, and much while they wait.
  await teach('large', ['boots '.repeat(1_000_000)]);
  await learner.storeDue();
  assert.equal(await docs('large'), 100);
  await teach('large', ['shoes '.repeat(500_000)]);
  assert.equal(corpora.isCrowded('large'), true);
  await learner.storeDue();
  assert.deepEqual([await docs('large'), corpora.isCrowded('large')], [102, false]);
});

test('a name that was removed has its turn at once, so that little of its next life is lost', async () => {
  const { store, learner, follower, teach, docs } = await started();
  await teach('large', large('a'));
  await learner.storeDue();
  await teach('large', ['of the sample that goes']);
  assert.equal(await removeCorpus(store, 'large'), true);
  await follower.look();
  await learner.storeDue();
  assert.equal(await docs('large'), undefined);
  await teach('large', ['boots', 'shoes']);
  await learner.storeDue();
  assert.equal(await docs('large'), 2);
});

test('while the disk is nearly full, names of keys are stored, and others wait', async () => {
  const { disk, corpora, learner, teach, docs } = await started();
  const owned = storedName(corpusOwner(Buffer.from('ada-'.repeat(8))), 'shop');
  disk.isReserved = true;
  await teach('shop', ['boots']);
  await teach('shop', ['boots'], 'ada-');
  await learner.storeDue();
  await learner.storeAll();
  assert.deepEqual([await docs('shop'), await docs(owned)], [undefined, 1]);
  assert.deepEqual(corpora.unsaved(), ['shop']);
  disk.isReserved = false;
  await learner.storeDue();
  assert.equal(await docs('shop'), 1);
});

test('a learner that stops stores what waits', async () => {
  const { clock, learner, teach, docs } = await started();
  learner.start();
  await teach('large', large('a'));
  await learner.storeDue();
  await teach('large', ['boots']);
  await learner.stop();
  assert.deepEqual([await docs('large'), clock.timers], [101, 1]);
});

test('requests that are refused take no names', async () => {
  const { learner, ask, teach } = await started();
  const { names } = ownedCorpusLimits;
  const texts = ['hiking boots'];
  const refused = [{ embed_model: 'none', docs: [{ id: '0', text: 'boots' }] }, { docs: [] }];
  for (let at = 0; at < 2 * names; at += 1) {
    await ask(`refused${at}`, texts, refused[at % 2], 'ada-');
  }
  assert.match(await ask('refused0', texts, refused[0], 'ada-'), /^422 /);
  for (let at = 0; at < names; at += 1) await teach(`n${at}`, texts, 'ada-');
  assert.match(await ask('more', texts, {}, 'ada-'), /^422 .*no room for more names/);
  await learner.storeAll();
});
