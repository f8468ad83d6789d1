/** The embedder among a server's processes: one for all workers, at low priority, gone with its parent. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { constants, getPriority } from 'node:os';
import { describe, test } from 'node:test';
import { exchange, head } from '../support/raw.js';
import { listening, lives, patientEmbedding, runServer, type Running } from '../support/run.js';
import { until } from '../support/until.js';
import { freePort } from '../support/ports.js';

async function embed(port: number, texts: number): Promise<string> {
  return (await exchange(port, head('GET', `/embed?texts=${texts}`))).body.toString();
}

/** Pids of a server's embedders. */
function embedders(server: Running): number[] {
  const listed = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  const rows = listed.split('\n').map((line) => line.trim().split(/\s+/));
  const found = rows.filter(
    ([, parent, ...args]) => Number(parent) === server.pid && args.includes('embedder'),
  );
  return found.map(([pid]) => Number(pid));
}

async function only(server: Running): Promise<number> {
  await until(() => embedders(server).length === 1);
  return embedders(server)[0] ?? 0;
}

async function metric(port: number, name: string): Promise<number> {
  const scraped = (await exchange(port, head('GET', '/metrics'))).body.toString();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(scraped)?.[1]);
}

/** Starts a server whose metrics can be read. */
async function measured(environment: Readonly<Record<string, string>> = {}): Promise<Running> {
  const own = { METRICS_PORT: String(await freePort()), ...patientEmbedding };
  return runServer({ ...own, ...environment });
}

const vector = 384;

describe('the embedder of a server', () => {
  test('is one for all workers, started by the first text, at low priority', async () => {
    const server = await measured({ WORKERS: '2' });
    const { port, metricsPort } = await listening(server);
    assert.deepEqual(embedders(server), []);
    const answers = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((texts) => embed(port, texts)));
    assert.deepEqual(
      answers,
      [1, 2, 3, 4, 5, 6, 7, 8].map((texts) => String(texts * vector)),
    );
    assert.equal(getPriority(await only(server)), constants.priority.PRIORITY_LOW);
    assert.equal(await metric(metricsPort, 'fusegate_embed_texts_total'), 36);
    assert.equal(await metric(metricsPort, 'fusegate_embed_queue_texts'), 0);
  });

  test('may crash: its requests get an error, and the next one is served', async () => {
    const server = await measured();
    const { port, metricsPort } = await listening(server);
    assert.equal(await embed(port, 1), String(vector));
    const pid = await only(server);
    const waiting = embed(port, 3_000);
    await until(async () => (await metric(metricsPort, 'fusegate_embed_queue_texts')) > 0);
    process.kill(pid, 'SIGKILL');
    assert.equal(await waiting, 'failed');
    assert.equal(await embed(port, 2), String(2 * vector));
    assert.notEqual(await only(server), pid);
    assert.equal(await metric(metricsPort, 'fusegate_embedder_restarts_total'), 1);
    assert.match(server.output, /"how":"SIGKILL".*the embedder ended and is replaced/);
  });

  test('forgets the requests of a crashed worker', async () => {
    const server = await measured({ EMBED_QUEUE: '10' });
    const { port, metricsPort } = await listening(server);
    const worker = Number((await exchange(port, head('GET', '/pid'))).body.toString());
    const lost = assert.rejects(embed(port, 3_000));
    await until(async () => (await metric(metricsPort, 'fusegate_embed_queue_texts')) > 0);
    assert.equal(await embed(port, 1), 'queue_full');
    process.kill(worker, 'SIGKILL');
    await lost;
    await until(async () => (await embed(port, 1).catch(() => '')) === String(vector));
    assert.equal(await metric(metricsPort, 'fusegate_embed_queue_texts'), 0);
  });

  test('answers what is under way when the server is told to stop, and ends with it', async () => {
    const server = await measured({ TEST_DRAIN_MS: '60000' });
    const { port, metricsPort } = await listening(server);
    await embed(port, 1);
    const pid = await only(server);
    const last = embed(port, 40);
    await until(async () => (await metric(metricsPort, 'fusegate_embed_queue_texts')) > 0);
    server.child.kill('SIGTERM');
    assert.equal(await last, String(40 * vector));
    await server.ended();
    await until(() => !lives(pid));
  });

  test('ends by itself when its parent has been killed', async () => {
    const server = await measured();
    const { port } = await listening(server);
    await embed(port, 1);
    const pid = await only(server);
    server.child.kill('SIGKILL');
    await until(() => !lives(pid));
  });

  test('gives a request up at its deadline, and serves the next', async () => {
    const server = await measured({ EMBED_DEADLINE_MS: '4000' });
    const { port } = await listening(server);
    const serves = (): Promise<void> => until(async () => (await embed(port, 1)) === String(vector));
    await serves();
    const pid = await only(server);
    process.kill(pid, 'SIGSTOP');
    assert.equal(await embed(port, 1), 'too_late');
    process.kill(pid, 'SIGCONT');
    await serves();
  });
});
