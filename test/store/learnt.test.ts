/**
 * Statistics learnt from requests, on every engine: against a naive sample to the last bit, by several
 * processes at once, after a restart, removed, and together with statistics that were put.
 */
import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { followCorpora } from '../../src/corpora/follower.js';
import { CorpusLearner } from '../../src/corpora/learner.js';
import { native } from '../../src/native/addon.js';
import { corpusOwner, learnerIn } from '../../src/search/corpora.js';
import { fuseHandler } from '../../src/search/fuse.js';
import {
  findCorpus,
  findLearning,
  mostCorpusVersions,
  ownedCorpusLimits,
  putCorpus,
  removeCorpus,
  storeLearnt,
} from '../../src/store/tables/corpora.js';
import { storedName } from '../../src/store/tables/names.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { stems } from '../reference/analyzer.js';
import { fuse, tokenize } from '../reference/fuse.js';
import { foldText } from '../reference/unicode.js';
import { counted, type Way } from '../search/counted.js';
import { answered, requestWith, staticMode } from '../support/embedding.js';
import { bothEngines } from './engines.js';
import { storeAt } from '../support/openStore.js';

const key = Buffer.from('0123456789abcdef');
const clock = { every: () => ({ stop: () => undefined }), wallMs: () => 1_000, monotonicMs: () => 0 };

/** A process on a store: what it learns is stored, and what is stored is known, when it is told to. */
async function started(store: Store, isOpen = true) {
  const corpora = new native.Corpora(key);
  const faults: object[] = [];
  const log = { error: (fields: object) => void faults.push(fields) };
  const parts = { store, corpora, clock, log, randomness: (count: number) => randomBytes(count) };
  const [follower, learner] = [followCorpora(parts), new CorpusLearner(parts)];
  await follower.start();
  const learnerOf = learnerIn(isOpen, (raw) => Buffer.from(raw.repeat(8)));
  const handler = fuseHandler({ ...native, embedMode: staticMode(corpora), learnerOf });
  const ask = async (request: object, raw = '') => {
    const answer = await handler(requestWith(Buffer.from(JSON.stringify(request)), raw));
    return { status: answer.status, body: answered(answer) };
  };
  const settle = async (): Promise<void> => {
    await learner.storeAll();
    await follower.look();
  };
  return { ask, settle, follower, learner, faults, corpora };
}

/** Smallest digests first: the obvious sample of the texts that were seen, and its versions. */
class ObviousSample {
  private texts: readonly string[] = [];
  private bound = 2n ** 64n;
  readonly versions: (readonly string[])[] = [];

  private digest(text: string): bigint {
    return createHmac('sha256', key).update(text).digest().readBigUInt64BE(0);
  }

  learn(texts: readonly string[], way: Way): void {
    const worth = texts.filter((text) => tokenize(text, way.tokenizer).length > 0);
    const all = [...new Set([...this.texts, ...worth])];
    all.sort((one, next) => (this.digest(one) < this.digest(next) ? -1 : 1));
    this.texts = all.slice(0, 512);
    const step = [512, 256, 128, 64].find((docs) => docs <= this.texts.length) ?? 0;
    const greatest = this.digest(this.texts.at(-1) ?? '');
    const isNext = step > (this.versions.at(-1)?.length ?? 0);
    if (step === 0 || !(isNext || (step === 512 && greatest <= this.bound / 2n))) return;
    this.versions.push(this.texts.slice(0, step));
    this.bound = this.digest(this.texts[step - 1] ?? '');
  }
}

const words = stems.filter(({ language, word }) => language === 'english' && foldText(word) === word);
const few = words.filter((_, at) => at % Math.ceil(words.length / 40) === 0).map(({ word }) => word);
const phrase = fc
  .array(fc.constantFrom(...few, 'the', 'x2'), { minLength: 1, maxLength: 8 })
  .map((parts) => parts.join(' '));

const text = fc
  .tuple(phrase, fc.integer({ min: 0, max: 4_000 }))
  .map(([words, number]) => `${words} n${number}`);

/** Texts of which most are seen once, and some again. */
const texts = fc.oneof(
  { arbitrary: fc.array(text, { minLength: 1, maxLength: 20 }), weight: 1 },
  { arbitrary: fc.array(text, { minLength: 60, maxLength: 90 }), weight: 3 },
);

function requestOf(docs: readonly string[], query = 'n1 the', more: object = {}) {
  const listed = docs.map((text, at) => ({ id: `${at}`, text, dense_score: at % 3 }));
  return { query, docs: listed, explain: true, ...more };
}

/** Texts that no other call gives. */
function fresh(count: number, mark: string): string[] {
  return Array.from({ length: count }, (_, at) => `hiking boots ${mark}${at}`);
}

const name = 'shop';
const corpus = { name };

for (const { name: engine, skip, fresh: place } of bothEngines()) {
  describe(`learnt statistics on ${engine}`, { skip }, () => {
    test('equal those of the naive sample, to the last bit, whichever process learns', async (context) => {
      const url = await place();
      const store = await storeAt(url);
      context.after(() => store.close());
      const processes = [await started(store), await started(store)];
      let run = 0;
      const way = fc.constantFrom<Way[]>(
        { analyzer: 'plain', tokenizer: 'ws' },
        { analyzer: 'english', tokenizer: 'ws' },
        { analyzer: 'plain', tokenizer: 'ngram' },
      );
      const requests = fc.array(fc.tuple(texts, phrase, fc.boolean()), { minLength: 26, maxLength: 30 });
      let most = 0;
      await fc.assert(
        fc.asyncProperty(way, requests, async (settings, asked) => {
          run += 1;
          const named = { name: `run${run}` };
          const sample = new ObviousSample();
          for (const [at, [docs, query, isSecond]] of asked.entries()) {
            const { ask, settle } = processes[isSecond ? 1 : 0] ?? assert.fail();
            const request = requestOf(docs, query, settings);
            await ask({ ...request, corpus: named, learn: true });
            await settle();
            sample.learn(docs, settings);
            const other = processes[at % 2] ?? assert.fail();
            await other.follower.look();
            const { versions } = sample;
            const answer = await other.ask({ ...request, corpus: named });
            if (versions.length === 0) {
              assert.equal(answer.status, 422);
              continue;
            }
            const pinned = Math.floor(versions.length / 2) + 1;
            for (const version of [versions.length, pinned]) {
              const seen = versions[version - 1] ?? [];
              const expected = fuse({ ...request, corpus: counted(seen, settings) });
              const { body } = await other.ask({ ...request, corpus: { ...named, version } });
              assert.deepEqual(body, { ...expected, corpus: { ...named, version, docs: seen.length } });
            }
            assert.deepEqual((answer.body as { corpus: object }).corpus, {
              ...named,
              version: versions.length,
              docs: versions.at(-1)?.length,
            });
          }
          most = Math.max(most, sample.versions.length);
        }),
        { seed: 20_261_123, numRuns: 4 },
      );
      assert.ok(most > 4, `a sample of 512 docs was frozen again: ${most}`);
      assert.deepEqual(
        processes.flatMap(({ faults }) => faults),
        [],
      );
    });

    test('start with the statistics of the request, and have a first version at 64 docs', async (context) => {
      const store = await storeAt(await place());
      context.after(() => store.close());
      const { ask, settle } = await started(store);
      const request = requestOf(fresh(63, 'a'));
      const own = await ask({ ...request, analyzer: 'plain' });
      const learning = { ...request, analyzer: 'plain', corpus, learn: true };
      assert.deepEqual(await ask(learning), own);
      await settle();
      assert.deepEqual((await findLearning(store, name))?.docs, 63);
      // The same docs again count once, and texts without a word count for nothing.
      assert.deepEqual(await ask(learning), own);
      await ask({ ...requestOf(['...', '', '!']), analyzer: 'plain', corpus, learn: true });
      await settle();
      assert.deepEqual((await findLearning(store, name))?.docs, 63);
      assert.equal(await findCorpus(store, name), undefined);
      await ask({ ...requestOf(fresh(1, 'b')), corpus, learn: true });
      await settle();
      const { body } = await ask(learning);
      assert.deepEqual((body as { corpus?: object }).corpus, { name, version: 1, docs: 64 });
      const [version] = (await findCorpus(store, name))?.versions ?? [];
      assert.deepEqual([version?.learnt, version?.terming, version?.docs], [true, 'ws, plain', 64]);
    });

    test('give the same answers after a restart, and continue from what was stored', async (context) => {
      const url = await place();
      const store = await storeAt(url);
      const one = await started(store);
      await one.ask({ ...requestOf(fresh(100, 'a')), corpus, learn: true });
      await one.settle();
      const pinned = { ...requestOf(fresh(3, 'a')), corpus: { name, version: 1 } };
      const before = await one.ask(pinned);
      assert.equal(before.status, 200);
      // Learnt, and lost with the process.
      await one.ask({ ...requestOf(fresh(20, 'b')), corpus, learn: true });
      await store.close();
      const again = await storeAt(url);
      context.after(() => again.close());
      const later = await started(again);
      assert.deepEqual(await later.ask(pinned), before);
      assert.equal((await findLearning(again, name))?.docs, 100);
      await later.ask({ ...requestOf(fresh(28, 'c')), corpus, learn: true });
      await later.settle();
      assert.deepEqual(await later.ask(pinned), before);
      const { body } = await later.ask({ ...pinned, corpus });
      assert.deepEqual((body as { corpus?: object }).corpus, { name, version: 2, docs: 128 });
    });

    test('that were removed are forgotten by every process, with what it had learnt', async (context) => {
      const store = await storeAt(await place());
      context.after(() => store.close());
      const [one, other] = [await started(store), await started(store)];
      for (const { ask, settle } of [one, other]) {
        await ask({ ...requestOf(fresh(40, 'a')), corpus, learn: true });
        await settle();
      }
      assert.equal((await findLearning(store, name))?.docs, 40);
      assert.equal(await removeCorpus(store, name), true);
      assert.equal(await removeCorpus(store, name), false);
      assert.equal(await findLearning(store, name), undefined);
      for (const { ask, learner } of [other, one]) {
        await ask({ ...requestOf(fresh(1, 'b')), corpus, learn: true });
        await learner.storeAll();
      }
      // What a process held of before is gone from it; what comes then begins a sample again.
      await one.ask({ ...requestOf(fresh(2, 'c')), corpus, learn: true });
      await one.learner.storeAll();
      assert.equal((await findLearning(store, name))?.docs, 2);
      await one.ask({ ...requestOf(fresh(70, 'd')), corpus, learn: true });
      await one.settle();
      const versions = (await findCorpus(store, name))?.versions.map(({ version, docs }) => [version, docs]);
      assert.deepEqual(versions, [[1, 64]]);
      await removeCorpus(store, name);
      await one.ask({ ...requestOf(fresh(70, 'e')), corpus, learn: true });
      await one.settle();
      await one.ask({ ...requestOf(fresh(70, 'f')), corpus, learn: true });
      await one.settle();
      const numbers = (await findCorpus(store, name))?.versions.map(({ version }) => version);
      assert.deepEqual(numbers, [2]);
    });

    test('that were removed before they had a version leave nothing in any process', async (context) => {
      const store = await storeAt(await place());
      context.after(() => store.close());
      const [one, other] = [await started(store), await started(store)];
      for (let at = 0; at < 2 * ownedCorpusLimits.names; at += 1) {
        // The same docs again and again, each time with other settings.
        const analyzer = at % 2 === 0 ? 'plain' : 'english';
        const named = { name: `n${at % 3}` };
        for (const { ask, settle } of [one, other]) {
          const request = { ...requestOf(fresh(9, 'a')), corpus: named, analyzer, learn: true };
          assert.equal((await ask(request, 'key')).status, 200, `${at}`);
          await settle();
        }
        const full = storedName(corpusOwner(Buffer.from('key'.repeat(8))), named.name);
        assert.equal((await findLearning(store, full))?.docs, 9);
        assert.equal(await removeCorpus(store, full), true);
        // One learned nothing since, the other has a doc pending, which goes with the sample it belongs to.
        const late = { ...requestOf(fresh(1, 'b')), corpus: named, analyzer, learn: true };
        assert.equal((await other.ask(late, 'key')).status, 200);
        for (const { follower } of [one, other]) await follower.look();
        await other.learner.storeAll();
        assert.equal(await findLearning(store, full), undefined);
        for (const { corpora } of [one, other]) assert.deepEqual(corpora.unsaved(), []);
      }
    });

    test('that are not stored yet outlive a removal of their name by others', async (context) => {
      const store = await storeAt(await place());
      context.after(() => store.close());
      const [one, other] = [await started(store), await started(store)];
      await one.ask({ ...requestOf(fresh(5, 'a')), corpus, learn: true });
      await one.settle();
      await other.ask({ ...requestOf(fresh(7, 'b')), corpus, learn: true });
      assert.equal(await removeCorpus(store, name), true);
      await other.follower.look();
      await other.settle();
      assert.equal((await findLearning(store, name))?.docs, 7);
      // One hears of the removal only now that the name learns again, and joins in.
      await one.follower.look();
      await one.ask({ ...requestOf(fresh(5, 'a')), corpus, learn: true });
      await one.settle();
      assert.equal((await findLearning(store, name))?.docs, 12);
    });

    test('are all counted in one way, and are not learnt where statistics were put', async (context) => {
      const store = await storeAt(await place());
      context.after(() => store.close());
      const [one, other] = [await started(store), await started(store)];
      const english = { ...requestOf(fresh(70, 'a')), analyzer: 'english', corpus, learn: true };
      const fault = async ({ ask }: typeof one, request: object): Promise<string> => {
        const { status, body } = await ask(request);
        return `${status} ${JSON.stringify(body)}`;
      };
      assert.match(await fault(one, english), /^200 /);
      const plain = { ...english, analyzer: 'plain' };
      assert.match(await fault(one, plain), /^422 .*"learn".*counted by: ws, english/);
      // Another process finds out when it stores.
      assert.match(await fault(other, plain), /^200 /);
      await one.settle();
      await other.settle();
      assert.match(await fault(other, plain), /^422 .*"learn".*counted by: ws, english/);
      assert.match(await fault(other, english), /^200 /);
      await putCorpus(store, name, await statistics(), 2_000);
      await one.settle();
      assert.match(await fault(one, english), /^422 .*"learn".*were put; learn under another name/);
      const { body } = await one.ask({ ...english, learn: false });
      assert.deepEqual((body as { corpus?: object }).corpus, { name, version: 2, docs: 9 });
      // One that has not heard of it does not add to it.
      await other.ask({ ...english, ...requestOf(fresh(90, 'z')) });
      await other.learner.storeAll();
      assert.equal((await findCorpus(store, name))?.versions.length, 2);
    });

    test('can be started under any valid name, and not with a version', async (context) => {
      const store = await storeAt(await place());
      context.after(() => store.close());
      const one = await started(store);
      const ask = async (corpus: object): Promise<string> => {
        const { status, body } = await one.ask({ ...requestOf(fresh(70, 'a')), corpus, learn: true });
        return `${status} ${JSON.stringify(body)}`;
      };
      assert.match(await ask({ name, version: 1 }), /^422 .*no statistics have this name/);
      for (const other of ['two words', '', 'a'.repeat(65)])
        assert.match(await ask({ name: other }), /^422 /);
      await one.settle();
      assert.equal(await findCorpus(store, name), undefined);
      assert.match(await ask({ name }), /^200 /);
      await one.settle();
      assert.match(await ask({ name, version: 1 }), /^200 /);
      assert.match(await ask({ name, version: 9 }), /^422 .*have no such version/);
    });

    test('belong to the owner of the request’s key, who has a limited number of names', async (context) => {
      const store = await storeAt(await place());
      context.after(() => store.close());
      const [open, closed] = [await started(store), await started(store, false)];
      const request = { ...requestOf(fresh(64, 'a')), corpus, learn: true };
      const refused = await closed.ask(request);
      assert.deepEqual([refused.status, (refused.body as { code: string }).code], [401, 'key_required']);
      await closed.ask(request, 'ada-');
      await open.ask({ ...request, corpus: { name: 'everyone' } });
      for (const each of [open, closed]) await each.settle();
      const owner = corpusOwner(Buffer.from('ada-'.repeat(8)));
      assert.equal((await findCorpus(store, storedName(owner, name)))?.versions.length, 1);
      assert.equal((await findCorpus(store, 'everyone'))?.versions.length, 1);
      assert.equal(await findCorpus(store, name), undefined);
      const { names } = ownedCorpusLimits;
      for (let at = 1; at < names; at += 1) {
        const put = await putCorpus(store, storedName(owner, `n${at}`), await statistics(), 0);
        assert.equal(put.ok, true);
      }
      await closed.follower.look();
      const more = { ...request, corpus: { name: 'more' } };
      await closed.ask(more, 'ada-');
      await closed.learner.storeAll();
      assert.match(JSON.stringify(await closed.ask(more, 'ada-')), /422.*"learn".*no room for more names/);
      await removeCorpus(store, storedName(owner, 'n1'));
      await closed.settle();
      assert.equal((await closed.ask(more, 'ada-')).status, 200);
      await closed.settle();
      assert.equal((await findLearning(store, storedName(owner, 'more')))?.docs, 64);
    });

    test('wait while the store is away', async (context) => {
      const store = await storeAt(await place());
      context.after(() => store.close());
      let isAway = true;
      const commit: Store['commit'] = (...unit) =>
        isAway ? Promise.reject(new StoreUnavailable('away')) : store.commit(...unit);
      const failing = new Proxy(store, {
        get(target, member) {
          if (member === 'commit') return commit;
          const value: unknown = Reflect.get(target, member);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
      const { ask, settle, corpora } = await started(failing);
      await ask({ ...requestOf(fresh(64, 'a')), corpus, learn: true });
      await settle();
      assert.deepEqual([corpora.unsaved(), await findLearning(store, name)], [[name], undefined]);
      isAway = false;
      await settle();
      assert.deepEqual(corpora.unsaved(), []);
      assert.equal((await findCorpus(store, name))?.versions.length, 1);
    });

    test('end with the last version that a name may have', async (context) => {
      const store = await storeAt(await place());
      context.after(() => store.close());
      const { statistics: bytes, docs, averageLength, terms } = await statistics();
      const change = { sample: Buffer.from('sample'), docs: 64, terming: 'ws, plain' };
      const join = () =>
        Promise.resolve({ ...change, frozen: { statistics: bytes, docs, averageLength, terms } });
      for (let version = 1; version <= mostCorpusVersions; version += 1) {
        assert.equal(await storeLearnt(store, name, join, 0), 'stored');
      }
      assert.equal(await storeLearnt(store, name, join, 0), 'full');
      const { ask, learner, corpora } = await started(store);
      const request = { ...requestOf(fresh(5, 'a')), corpus, learn: true };
      assert.equal((await ask(request)).status, 200);
      assert.deepEqual(corpora.unsaved(), [name]);
      await learner.storeAll();
      // From then on its requests teach nothing, and answer by it.
      const { status, body } = await ask({ ...request, ...requestOf(fresh(5, 'b')) });
      assert.deepEqual(corpora.unsaved(), []);
      assert.deepEqual(
        [status, (body as { corpus?: object }).corpus],
        [200, { name, version: mostCorpusVersions, docs: 9 }],
      );
    });

    test('are no longer learnt if the stored sample is damaged, which is reported', async (context) => {
      const store = await storeAt(await place());
      context.after(() => store.close());
      const change = { sample: Buffer.from('no sample'), docs: 3, terming: 'ws, plain', frozen: undefined };
      await storeLearnt(store, name, () => Promise.resolve(change), 0);
      const { ask, settle, faults, corpora } = await started(store);
      const request = { ...requestOf(fresh(64, 'a')), corpus, learn: true };
      assert.equal((await ask(request)).status, 200);
      await settle();
      assert.equal(faults.length, 1);
      assert.equal((await ask({ ...request, ...requestOf(fresh(9, 'b')) })).status, 200);
      assert.deepEqual([corpora.unsaved(), (await findLearning(store, name))?.docs], [[], 3]);
    });
  });
}

async function statistics() {
  const given = { docs: 9, average_length: 3, df: { boots: 1 } };
  const { bytes, terms } = await native.freezeCorpus(Buffer.from(JSON.stringify(given)), key);
  return { statistics: bytes, docs: 9, averageLength: 3, terms, terming: 'given' };
}
