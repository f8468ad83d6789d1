/** The embedder process with the included model: batches, bounds, deadlines, cancelled calls, crashes. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { scaled, type Embedded, type InstalledModel } from '../../src/models/embedder.js';
import { localEmbedder } from '../../src/models/localEmbedder.js';
import { readModelFolder } from '../../src/models/modelFolder.js';
import { fuseHandler } from '../../src/search/fuse.js';
import { native } from '../../src/native/addon.js';
import type { FuseResponse } from '../../src/contract/fuse.js';
import { temporaryFolder } from '../support/run.js';
import { answered, embedderMode, requestWith } from '../support/embedding.js';
import {
  copiedModel,
  embedVectors,
  openFolder,
  openForTest,
  shippedFolder,
  shippedModel,
  startEmbedder,
  type TestEmbedder,
} from '../support/models.js';
import { until } from '../support/until.js';

const never = new AbortController().signal;

/** So many texts, all different. */
function texts(count: number, words = 30): Buffer[] {
  return Array.from({ length: count }, (_, at) =>
    Buffer.from(`the pump number ${at} leaks `.repeat(words / 5)),
  );
}

function vectorsOf(outcome: Embedded): Float32Array {
  if (outcome.kind !== 'vectors') assert.fail(outcome.kind);
  return outcome.vectors;
}

function waiting({ process }: TestEmbedder): number {
  return value(process, 'fusegate_embed_queue_texts');
}

function value(process: TestEmbedder['process'], name: string, outcome?: string): number {
  const metric = process.metrics().find((each) => each.name === name);
  const found = metric?.values.find(({ labels }) => outcome === undefined || labels['outcome'] === outcome);
  return found?.value ?? Number.NaN;
}

describe('the embedder', () => {
  let model: InstalledModel;

  /** What the embedder makes of texts that it does by its deadline once no other process has the cores. */
  async function inTime(embedder: TestEmbedder, asked: Buffer[]): Promise<Embedded> {
    const outcome = await embedder.embed(model, asked, never);
    return outcome.kind === 'too_late' ? inTime(embedder, asked) : outcome;
  }

  before(async () => {
    model = await shippedModel();
  });

  /** An embedder with a deadline, and what it did of texts that it does not do by then. */
  async function lateBy(
    deadlineMs: number,
    asked: Buffer[],
  ): Promise<[TestEmbedder, Extract<Embedded, { kind: 'too_late' }>]> {
    const embedder = startEmbedder([model], { deadlineMs });
    await inTime(embedder, texts(1));
    const outcome = await embedder.embed(model, asked, never);
    if (outcome.kind !== 'too_late') assert.fail(outcome.kind);
    return [embedder, outcome];
  }

  test('gives every text the vector that it would get alone', async () => {
    const embedder = startEmbedder([model]);
    const alone = await openFolder(shippedFolder);
    assert.ok('session' in alone);
    const encoded = embedVectors.map(({ text }) => Buffer.from(text));
    const calls = [encoded, [...encoded].reverse(), encoded.slice(3, 9), []];
    const outcomes = await Promise.all(calls.map((call) => embedder.embed(model, call, never)));
    for (const [at, outcome] of outcomes.entries()) {
      const call = calls[at] ?? [];
      const vectors = vectorsOf(outcome);
      assert.equal(vectors.length, call.length * model.dimension);
      for (const [place, text] of call.entries()) {
        const embedded = await alone.session.embed(text);
        const start = place * model.dimension;
        assert.deepEqual(vectors.subarray(start, start + model.dimension), scaled(embedded));
        assert.equal(outcome.kind === 'vectors' && outcome.truncated[place], embedded.truncated);
      }
    }
    await alone.session.close();
    assert.equal(waiting(embedder), 0);
    assert.equal(value(embedder.process, 'fusegate_embed_texts_total'), encoded.length * 2 + 6);
    assert.ok(value(embedder.process, 'fusegate_embed_seconds_total') > 0);
  });

  test('a text of unknown words has no score of its own, in the process and in a command', async () => {
    const query = 'phone battery';
    const docs = ['a battery', 'bread', '番茄', '番茄 x 律师'].map((text, at) => ({ id: String(at), text }));
    const local = localEmbedder([model], openForTest, 1, (reason) => assert.fail(reason));
    for (const embedder of [startEmbedder([model]), local]) {
      // Once from the model, once from the file of embeddings.
      const embedMode = embedderMode(embedder, model.id, 1);
      const handler = fuseHandler({ ...native, embedMode });
      const ask = async (asked: object): Promise<FuseResponse> => {
        const sent = await handler(requestWith(Buffer.from(JSON.stringify(asked))));
        return answered(sent) as FuseResponse;
      };
      const first = await ask({ query, docs });
      assert.deepEqual(await ask({ query, docs }), first);
      const dense = docs.map(({ id }) => first.results.find((one) => one.id === id)?.dense_score ?? NaN);
      assert.equal(dense[2], Math.min(dense[0] ?? NaN, dense[1] ?? NaN, dense[3] ?? NaN));
      assert.deepEqual(
        first.warnings?.map(({ code }) => code),
        ['dense_leg_blind'],
      );
      const blind = await ask({ query: '电池', docs: docs.slice(1) });
      assert.deepEqual([...new Set(blind.results.map((one) => one.dense_score))], [0]);
      assert.ok(blind.warnings?.some(({ message }) => message.includes('most words of the query')));
      assert.equal((await ask({ query, docs: docs.slice(0, 2) })).warnings, undefined);
    }
  });

  test('a full queue accepts nothing more, and says when to come again', async () => {
    const embedder = startEmbedder([model], { mostTexts: 50 });
    const first = embedder.embed(model, texts(60), never);
    const full = await embedder.embed(model, texts(1), never);
    if (full.kind !== 'queue_full') assert.fail(full.kind);
    assert.ok(full.retryAfterSeconds >= 1 && full.retryAfterSeconds <= 60);
    assert.equal(vectorsOf(await first).length, 60 * model.dimension);
    assert.equal((await embedder.embed(model, texts(1), never)).kind, 'vectors');
    assert.equal(value(embedder.process, 'fusegate_embed_unserved_total', 'full'), 1);
  });

  test('a short call does not wait for a long one', async () => {
    const embedder = startEmbedder([model]);
    await embedder.embed(model, texts(1), never);
    let ended = '';
    const long = embedder.embed(model, texts(200), never).then(() => (ended += 'long '));
    const short = embedder.embed(model, texts(3), never).then(() => (ended += 'short '));
    await Promise.all([long, short]);
    assert.equal(ended, 'short long ');
  });

  test('a call that is not done by its deadline is told so, and leaves the queue', async () => {
    const embedder = startEmbedder([model], { deadlineMs: 300 });
    const [late, more] = await Promise.all([
      embedder.embed(model, texts(400), never),
      embedder.embed(model, texts(400), never),
    ]);
    assert.deepEqual([late.kind, more.kind], ['too_late', 'too_late']);
    assert.equal(waiting(embedder), 0);
    assert.equal(value(embedder.process, 'fusegate_embed_unserved_total', 'late'), 2);
    await until(() => value(embedder.process, 'fusegate_embed_texts_total') > 0);
    assert.equal((await inTime(embedder, texts(1))).kind, 'vectors');
  });

  test('what was done by the deadline is returned, and equals what those texts get alone', async () => {
    const asked = texts(2_000);
    let [embedder, late] = await lateBy(400, asked);
    // Other processes may have had the cores for all of that time.
    for (let deadlineMs = 800; late.some.places.length < 2; deadlineMs *= 2)
      [embedder, late] = await lateBy(deadlineMs, asked);
    const { places, vectors, truncated } = late.some;
    assert.ok(places.length < asked.length, `${places.length} texts`);
    assert.deepEqual([vectors.length, truncated.length], [places.length * model.dimension, places.length]);
    const some = places.slice(-3).map((at) => asked[at] ?? Buffer.alloc(0));
    const again = vectorsOf(await inTime(embedder, some));
    assert.deepEqual(vectors.subarray(-again.length), again);
  });

  test('a call that nobody waits for leaves the queue', async () => {
    const embedder = startEmbedder([model]);
    const closed = new AbortController();
    const outcome = embedder.embed(model, texts(2_000), closed.signal);
    await until(() => value(embedder.process, 'fusegate_embed_texts_total') > 2);
    closed.abort();
    const cancelled = await outcome;
    assert.ok(cancelled.kind === 'cancelled' && cancelled.some.places.length > 1);
    assert.equal(waiting(embedder), 0);
    const before = value(embedder.process, 'fusegate_embed_texts_total');
    assert.equal((await embedder.embed(model, texts(1), never)).kind, 'vectors');
    assert.ok(value(embedder.process, 'fusegate_embed_texts_total') <= before + 3);
    const aborted = await embedder.embed(model, texts(1), AbortSignal.abort());
    assert.equal(aborted.kind, 'cancelled');
  });

  test('a crash fails the calls that wait, and another process takes its place', async () => {
    const embedder = startEmbedder([model]);
    await embedder.embed(model, texts(1), never);
    const { pid } = embedder.process;
    assert.ok(pid !== undefined);
    // Few: where one text takes long, as on a busy machine, no second call may wait behind many.
    const calls = [embedder.embed(model, texts(20), never), embedder.embed(model, texts(5), never)];
    process.kill(pid, 'SIGKILL');
    assert.deepEqual(
      (await Promise.all(calls)).map(({ kind }) => kind),
      ['failed', 'failed'],
    );
    assert.equal(waiting(embedder), 0);
    assert.equal((await embedder.embed(model, texts(2), never)).kind, 'vectors');
    assert.notEqual(embedder.process.pid, pid);
    assert.equal(value(embedder.process, 'fusegate_embedder_restarts_total'), 1);
    const { lines } = embedder.log;
    assert.deepEqual(
      lines.map(({ fields, message }) => [fields['how'], message]),
      [['SIGKILL', 'the embedder ended and is replaced']],
    );
  });

  test('a model that cannot be run fails its own calls only', async () => {
    const folder = copiedModel(temporaryFolder(), 'length', { max_tokens: 600 });
    const read = await readModelFolder(folder);
    assert.ok('model' in read);
    const embedder = startEmbedder([model, read.model]);
    const outcomes = await Promise.all([
      embedder.embed(read.model, texts(20), never),
      embedder.embed(model, texts(3), never),
      embedder.embed(read.model, texts(1), never),
    ]);
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['failed', 'vectors', 'failed'],
    );
    const [line, ...others] = embedder.log.lines;
    assert.deepEqual(others, []);
    assert.match(String(line?.fields['reason']), /length cannot read 600 tokens/);
    const unknown = { ...model, id: 'unknown', folder: join(folder, 'unknown') };
    assert.equal((await embedder.embed(unknown, texts(1), never)).kind, 'failed');
  });

  test('a model is loaded at start, and nothing waits for a worker that has gone', async () => {
    const embedder = startEmbedder([model]);
    embedder.process.preload(model);
    assert.ok(embedder.process.pid !== undefined);
    const gone = {};
    const asked = { count: 900, texts: texts(900) };
    embedder.process.hear(gone, { kind: 'embed', request: 1, model: model.id, ...asked }, () => {
      assert.fail('nobody listens');
    });
    assert.equal(waiting(embedder), 900);
    embedder.process.forget(gone);
    assert.equal(waiting(embedder), 0);
    assert.equal((await embedder.embed(model, texts(1), never)).kind, 'vectors');
  });
});
