/** Vectors kept in the store: other machines find them, as long as they are asked for. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, Hash } from 'node:crypto';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Embedded } from '../../src/models/embedder.js';
import { keptDays, removeEmbeddings, storedEmbedder } from '../../src/models/storedEmbeddings.js';
import { native } from '../../src/native/addon.js';
import type { Store } from '../../src/store/store.js';
import { SetClock } from '../support/access.js';
import { FailingStore, openTestStore } from '../support/serving.js';
import { memoryFolder, patientEmbedding, run } from '../support/run.js';
import { keptLog, shippedModel, startEmbedder } from '../support/models.js';

const model = await shippedModel();
const embedder = startEmbedder([model]);
const store = await openTestStore();
const clock = new SetClock();
const log = keptLog();
const readBytesPerToken = native.readBytesPerToken();
after(() => embedder.process.stop());

/** A machine's embedder on a store. */
function machine(on: Store = store) {
  return storedEmbedder(embedder, { store: on, clock, log, readBytesPerToken });
}

/** Texts that the embedder process has done. */
function computed(): number {
  const metric = embedder.process.metrics().find(({ name }) => name === 'fusegate_embed_texts_total');
  return metric?.values[0]?.value ?? 0;
}

const texts = ['a small boat', 'dry '.repeat(400), 'a small boat', 'two wheels'].map((text) =>
  Buffer.from(text),
);

async function ask(
  by: ReturnType<typeof machine>,
  asked = texts,
): Promise<Extract<Embedded, { kind: 'vectors' }>> {
  const outcome = await by.embed(model, asked, new AbortController().signal);
  assert.equal(outcome.kind, 'vectors');
  await by.settled();
  return outcome;
}

const alone = await embedder.embed(model, texts, new AbortController().signal);
assert.equal(alone.kind, 'vectors');

test('vectors that one machine has computed are found by another, to the last bit', async () => {
  assert.deepEqual(await ask(machine()), alone);
  const before = computed();
  const other = machine();
  assert.deepEqual(await ask(other), alone);
  assert.equal(computed(), before);
  assert.equal(other.metrics()[0]?.values[0]?.value, texts.length);
  const mixed = await ask(other, [Buffer.from('something new'), ...texts.slice(0, 2)]);
  assert.deepEqual(mixed.vectors.subarray(384), alone.vectors.subarray(0, 2 * 384));
  assert.deepEqual(mixed.truncated, [false, false, true]);
  assert.equal(computed(), before + 1);
});

test('of a long text only what the model examines is hashed, and makes its key', async (context) => {
  const most = model.maxTokens * readBytesPerToken;
  const long = Buffer.from('wide '.repeat(most));
  const updates = context.mock.method(Hash.prototype, 'update').mock;
  const known = await ask(machine(), [long.subarray(0, most + 1)]);
  const before = computed();
  assert.deepEqual(await ask(machine(), [long, Buffer.concat([long, Buffer.from('é')])]), {
    ...known,
    vectors: Float32Array.of(...known.vectors, ...known.vectors),
    truncated: [true, true],
  });
  assert.equal(computed(), before);
  const hashed = updates.calls.map(({ arguments: [data] }) => (data as unknown as Uint8Array).byteLength);
  assert.deepEqual(hashed, Array.from({ length: 3 }, () => [32, most + 1]).flat());
});

test('the record of a vector is as every version stored it', async () => {
  const [ascii, other] = [Buffer.from('three boats'), Buffer.from('drei Boote für zwei')];
  const { vectors } = await ask(machine(), [ascii, other]);
  const period = Buffer.alloc(4);
  period.writeUInt32BE(Math.floor(clock.wallMs() / (keptDays * 86_400_000)));
  for (const [at, hashed] of [[ascii], [other, Buffer.of(0xff)]].entries()) {
    const hash = createHash('sha256').update(Buffer.from(model.digest, 'hex'));
    const digest = hash.update(Buffer.concat(hashed)).digest();
    const value = await store.get('embeddings', Buffer.concat([period, digest]));
    const bytes = Buffer.from(value ?? []);
    assert.equal(bytes.readUInt8(0), 0);
    const numbers = Array.from({ length: 384 }, (_, each) => bytes.readFloatLE(1 + 4 * each));
    assert.deepEqual(Float32Array.from(numbers), vectors.subarray(at * 384, (at + 1) * 384));
  }
});

test('many vectors are written in one unit after the other', async () => {
  let [running, most] = [0, 0];
  const counted: Store = {
    ...store,
    newUnitId: () => store.newUnitId(),
    getMany: (space, keys) => store.getMany(space, keys),
    commit: async (operations) => {
      most = Math.max(most, (running += 1));
      assert.ok(operations.length <= 100);
      return store.commit(operations).finally(() => (running -= 1));
    },
  };
  const vectors = new Float32Array(250 * model.dimension).fill(0.5);
  const truncated = Array.from({ length: 250 }, () => false);
  const inner = {
    models: [model],
    embed: () => Promise.resolve({ kind: 'vectors', vectors, truncated } as const),
  };
  const by = storedEmbedder(inner, { store: counted, clock, log, readBytesPerToken });
  const many = truncated.map((_, at) => Buffer.from(`many ${at}`));
  assert.deepEqual(await ask(by, many), { kind: 'vectors', vectors, truncated });
  assert.equal(most, 1);
  assert.deepEqual(await ask(by, many), { kind: 'vectors', vectors, truncated });
  assert.equal(by.metrics()[0]?.values[0]?.value, 250);
});

test('an embedder is settled once every write is done, whichever ends last', async () => {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const done: number[] = [];
  let begun = 0;
  const slow: Store = {
    ...store,
    newUnitId: () => store.newUnitId(),
    getMany: (space, keys) => store.getMany(space, keys),
    commit: async (operations) => {
      const number = (begun += 1);
      if (number === 1) await released;
      const outcome = await store.commit(operations);
      done.push(number);
      release();
      return outcome;
    },
  };
  const by = machine(slow);
  const { signal } = new AbortController();
  await by.embed(model, [Buffer.from('written last')], signal);
  await by.embed(model, [Buffer.from('written first')], signal);
  await by.settled();
  assert.deepEqual(done, [2, 1]);
});

test('a vector stays while it is asked for, and is removed afterwards', async () => {
  const dayMs = 86_400_000;
  await ask(machine());
  for (let round = 0; round < 3; round += 1) {
    clock.pass(keptDays * dayMs);
    await removeEmbeddings(store, clock.wallMs());
    const before = computed();
    assert.deepEqual(await ask(machine()), alone);
    assert.equal(computed(), before, `round ${round}`);
  }
  clock.pass(2 * keptDays * dayMs);
  const removed = await removeEmbeddings(store, clock.wallMs());
  assert.ok(removed >= 3);
  assert.deepEqual(await removeEmbeddings(store, clock.wallMs()), 0);
  const before = computed();
  assert.deepEqual(await ask(machine()), alone);
  assert.equal(computed(), before + texts.length);
});

test('a store that does not answer costs no more than the computing', async () => {
  const failing = new FailingStore(store);
  failing.failure = 'not written';
  assert.deepEqual(await ask(machine(failing.seen)), alone);
  assert.match(log.lines.at(-1)?.message ?? '', /were not kept/);
});

test('an outcome of the embedder without vectors is passed on', async () => {
  const stop = new AbortController();
  stop.abort();
  const outcome = await machine().embed(model, [Buffer.from('never computed')], stop.signal);
  assert.equal(outcome.kind, 'cancelled');
});

/**
 * Tries until texts are done, each time within a share of the time that all of them take; how often it was
 * late.
 */
async function lateTries(asked: readonly Buffer[], share: number): Promise<number> {
  const { signal } = new AbortController();
  const startMs = performance.now();
  const whole = await embedder.embed(model, asked, signal);
  assert.ok(whole.kind === 'vectors');
  let deadlineMs = Math.ceil((performance.now() - startMs) * share);
  let slow = startEmbedder([model], { deadlineMs });
  let known = 0;
  for (let tries = 0; ; tries += 1) {
    const by = storedEmbedder(slow, { store, clock, log, readBytesPerToken });
    const outcome = await by.embed(model, asked, signal);
    await by.settled();
    if (outcome.kind === 'vectors') {
      assert.deepEqual(outcome, whole);
      slow.process.stop();
      return tries;
    }
    assert.ok(outcome.kind === 'too_late');
    const { places, vectors, truncated } = outcome.some;
    assert.ok(places.length >= known);
    // Nothing was done by then: other processes had the cores.
    if (places.length === known) {
      slow.process.stop();
      deadlineMs *= 2;
      slow = startEmbedder([model], { deadlineMs });
    }
    known = places.length;
    for (const [next, at] of places.entries()) {
      const vector = vectors.subarray(next * 384, (next + 1) * 384);
      assert.deepEqual(vector, whole.vectors.subarray(at * 384, (at + 1) * 384));
      assert.equal(truncated[next], whole.truncated[at]);
    }
  }
}

test('what was done by the deadline is stored, and a retry gets further', async () => {
  // Where the machine was busy at first and is not any more, a share of the time is enough for all.
  for (let share = 1 / 4; share > 1e-4; share /= 4) {
    const asked = Array.from({ length: 40 }, (_, at) => Buffer.from(`late ${share} ${at} `.repeat(60)));
    if ((await lateTries(asked, share)) > 0) return;
  }
  assert.fail('never late');
});

test('a server that keeps vectors in its store finds them after a restart', async () => {
  const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
  const environment = {
    PORT: '0',
    WORKERS: '1',
    EMBED_CACHE_MB: '0',
    EMBED_CACHE_STORE: 'yes',
    ...patientEmbedding,
    STORE_URL: `lmdb:${memoryFolder()}/store`,
  };
  const body = JSON.stringify({ query: 'dry feet', docs: [{ id: 'a', text: 'a boot' }] });
  const answers: string[] = [];
  for (const embedders of [1, 0]) {
    const server = run(main, ['serve'], environment);
    const [, port] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`http://127.0.0.1:${port ?? ''}/v1/fuse`, { method: 'POST', body, headers });
    answers.push(await response.text());
    assert.equal(response.status, 200, answers.at(-1));
    const listed = execFileSync('ps', ['-A', '-o', 'ppid=,args='], { encoding: 'utf8' }).split('\n');
    const children = listed.filter((line) => Number.parseInt(line, 10) === server.pid);
    assert.equal(children.filter((line) => line.includes(' embedder ')).length, embedders);
    server.child.kill('SIGTERM');
    await server.ended();
  }
  assert.equal(answers[0], answers[1]);
});
