/** The worker's end of the embedder: its messages to the parent. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { textAt, type InstalledModel, type Texts } from '../../src/models/embedder.js';
import type { EmbedQuestion } from '../../src/models/messages.js';
import { remoteEmbedder } from '../../src/models/remoteEmbedder.js';
import { shippedModel } from '../support/models.js';
import { until } from '../support/until.js';

const model: InstalledModel = await shippedModel();
const never = new AbortController().signal;

/** Bytes of a text that are read. */
const readBytes = model.maxTokens * 256 + 1;

/** A worker whose parent answers only when it is told to. */
function worker(isThere: (question: EmbedQuestion) => boolean = () => true) {
  const questions: EmbedQuestion[] = [];
  const tell = (question: EmbedQuestion): boolean => isThere(question) && questions.push(question) > 0;
  const remote = remoteEmbedder({ models: [model], tell, readBytesPerToken: 256 });
  const sent = (): Uint8Array[] => questions.flatMap((each) => ('texts' in each ? each.texts : []));
  return { remote, questions, sent };
}

/** Texts of a length, made as they are read. */
function made(length: number, bytes: number): Texts & { read: number } {
  const texts = {
    length,
    read: 0,
    at: (index: number) => {
      texts.read += 1;
      return index < length ? Buffer.alloc(bytes, String(index)) : undefined;
    },
  };
  return texts;
}

describe("a worker's questions", () => {
  test('texts go in lots, each read when it goes', async () => {
    const { remote, questions, sent } = worker();
    const texts = made(200, 64 << 10);
    const outcome = remote.embed(model, texts, never);
    assert.ok(texts.read <= 4 && sent().length === texts.read, `${texts.read} texts at once`);
    await until(() => sent().length === 200);
    const [first, ...more] = questions;
    assert.ok(first?.kind === 'embed' && first.count === 200);
    assert.ok(more.length === 99 && more.every(({ kind }) => kind === 'moreTexts'));
    assert.deepEqual(
      sent().map((text) => Buffer.from(text)),
      Array.from({ length: 200 }, (_, at) => Buffer.from(textAt(texts, at, Infinity))),
    );
    remote.hear({ kind: 'embedded', request: first.request, outcome: { kind: 'failed' } });
    assert.deepEqual(await outcome, { kind: 'failed' });
  });

  test('short texts go at once, and of a long one only what is read', () => {
    const { remote, questions, sent } = worker();
    void remote.embed(model, made(1_000, 100), never);
    assert.deepEqual([questions.length, sent().length], [1, 1_000]);
    const long = worker();
    void long.remote.embed(model, made(1, 4 * readBytes), never);
    assert.deepEqual([long.questions.length, long.sent()[0]?.byteLength], [1, readBytes]);
  });

  test('a refusal, a lost parent or a text that cannot be read ends the sending', async () => {
    const refused = worker();
    const texts = made(200, 64 << 10);
    const outcome = refused.remote.embed(model, texts, never);
    const full = { kind: 'queue_full', retryAfterSeconds: 3 } as const;
    const before = refused.questions.length;
    refused.remote.hear({ kind: 'embedded', request: 1, outcome: full });
    assert.deepEqual(await outcome, full);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    assert.deepEqual([refused.questions.length, texts.read < 200], [before, true]);
    const lost = worker(({ kind }) => kind === 'embed');
    assert.deepEqual(await lost.remote.embed(model, made(200, 64 << 10), never), { kind: 'failed' });
    const { remote } = worker();
    const broken = { length: 200, at: made(4, 64 << 10).at };
    assert.deepEqual(await remote.embed(model, broken, never), { kind: 'failed' });
  });
});
