/** The fragment door in the compiled program: workers, restarts, kills, a port of its own, its address. */
import assert from 'node:assert/strict';
import { AsyncResource } from 'node:async_hooks';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { DreamPreviewResponse, DreamResponse } from '../../src/contract/dream.js';
import type { FragmentsResponse } from '../../src/contract/graph.js';
import type { NearResponse } from '../../src/contract/near.js';
import type { WalkResponse } from '../../src/contract/walk.js';
import type { ReceiptResponse } from '../../src/contract/receipt.js';
import { processesOf, run, memoryFolder, type Running } from '../support/run.js';
import { doorClient, type DoorAnswer, type DoorClient } from '../support/door.js';
import { until } from '../support/until.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const data = memoryFolder();
const open = {
  STORE_URL: `lmdb:${join(data, 'store')}`,
  DOOR_SUBMISSIONS_PER_MINUTE: '0',
  EXPLORATIONS_PER_MINUTE: '0',
  PAGES_PER_MINUTE: '0',
  PREVIEWS_PER_MINUTE: '0',
  PORT: '0',
  WORKERS: '2',
};

interface Started {
  readonly server: Running;
  readonly client: DoorClient;
}

/** Bound to the file, so that a server ends with it and not with the test that started it. */
const start = AsyncResource.bind(async (more: Readonly<Record<string, string>> = {}): Promise<Started> => {
  const server = run(main, ['serve'], { ...open, ...more });
  const [, port] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  return { server, client: doorClient(Number(port)) };
});

let { server, client } = await start();

async function stop(): Promise<void> {
  server.child.kill('SIGTERM');
  assert.equal((await server.ended()).code, 0, server.output);
}

/** The worker that answered: its request ids begin alike. */
const workerOf = ({ headers }: { readonly headers: ReadonlyMap<string, string> }): string =>
  headers.get('x-request-id')?.split('.')[0] ?? '';

/** Asks until another worker than `worker` answers. */
async function byAnother<Answer extends { readonly headers: ReadonlyMap<string, string> }>(
  worker: string,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  for (let round = 0; round < 200; round += 1) {
    const answer = await ask();
    if (workerOf(answer) !== worker) return answer;
  }
  throw new Error('one worker answered everything');
}

let count = 0;
const fresh = (): { title: string; content: string } => {
  count += 1;
  return { title: `Served ${count}`, content: `What the ${count}th one says.` };
};

describe('workers and restarts', () => {
  test('a preview made in one worker is confirmed in another', async () => {
    const preview = await client.get<DreamPreviewResponse>('/dream_get', fresh());
    const { confirm } = preview.body;
    const seen = await byAnother(workerOf(preview), () => client.get('/dream_confirm', { confirm }));
    assert.equal(seen.body['state'], 'previewed');
    const first = await client.post('/dream_confirm', { confirm });
    assert.deepEqual([first.status, first.body['status']], [200, 'quarantined']);
    const again = await byAnother(workerOf(first), () => client.post('/dream_confirm', { confirm }));
    assert.deepEqual([again.body['status'], again.body['receipt']], ['duplicate', first.body['receipt']]);
  });

  test('a thousand of one fragment over both workers, with and without a key: one original', async () => {
    const fragment = fresh();
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) =>
        client.post('/dream', {
          ...fragment,
          ...(index % 2 === 0 ? {} : { idempotency_key: `w${index % 5}` }),
        }),
      ),
    );
    assert.equal(new Set(answers.map(workerOf)).size, 2);
    const statuses = answers.map(({ body }) => body['status']);
    assert.equal(statuses.filter((status) => status === 'quarantined').length, 1);
    assert.equal(statuses.filter((status) => status === 'duplicate').length, 999);
    assert.equal(new Set(answers.map(({ body }) => body['receipt'])).size, 1);
  });

  test('a restart loses the preview, not its confirmation, nor what was completed', async () => {
    const fields = { ...fresh(), mechanism: 'm' };
    const waiting = (await client.get<DreamPreviewResponse>('/dream_get', fields)).body;
    const other = (await client.get<DreamPreviewResponse>('/dream_get', fresh())).body.confirm;
    const completed = await client.post('/dream_confirm', { confirm: other });
    await stop();
    ({ server, client } = await start());
    const lost: DoorAnswer = await client.post('/dream_confirm', { confirm: waiting.confirm });
    assert.deepEqual([lost.status, lost.body['code']], [404, 'preview_not_found']);
    const recovered: DoorAnswer = await client.post(waiting.send.path, waiting.send.body);
    assert.deepEqual([recovered.status, recovered.body['status']], [200, 'quarantined']);
    const repeat = await client.post('/dream_confirm', { confirm: other });
    assert.deepEqual(
      [repeat.body['status'], repeat.body['receipt']],
      ['duplicate', completed.body['receipt']],
    );
  });

  test('what one worker stores, both explore within a second, and alike as of a position', async () => {
    const stored = await client.post<DreamResponse>('/dream', {
      title: 'Explored',
      content: 'periwinkle quicksilver',
      visitor: 'Ada',
    });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const ask = () => client.get<NearResponse>('/graph/near', { text: 'quicksilver periwinkle', k: '1' });
    const first = await ask();
    const second = await byAnother(workerOf(first), ask);
    for (const { body } of [first, second]) assert.equal(body.results[0]?.receipt, stored.body.receipt);
    const { as_of } = first.body;
    const walk = () => client.get<WalkResponse>('/walk', { seed: 'two workers', as_of });
    const one = await walk();
    const other = await byAnother(workerOf(one), walk);
    assert.deepEqual(other.body, one.body);
    await stop();
    ({ server, client } = await start());
    assert.deepEqual((await walk()).body, one.body, 'kept over a restart');
  });

  test('a file of vectors that is lost or damaged is rebuilt', async () => {
    const { body } = await client.get<FragmentsResponse>('/graph/fragments', { limit: '1000' });
    const file = join(data, 'vectors');
    const complete = async (): Promise<void> => {
      for (let round = 0; round < 200; round += 1) {
        const now = await client.get<FragmentsResponse>('/graph/fragments', { limit: '1000' });
        if (now.body.total === body.total) {
          assert.deepEqual(now.body, body);
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      throw new Error('the file is not complete');
    };
    await stop();
    rmSync(file);
    ({ server, client } = await start());
    await complete();
    await stop();
    const bytes = readFileSync(file);
    bytes.fill(7, 5_000, 6_000);
    writeFileSync(file, bytes);
    ({ server, client } = await start());
    await complete();
    assert.match(server.output, /was damaged/);
  });

  test(
    'what was acknowledged survives a kill of every process',
    { skip: process.platform === 'linux' ? false : '/proc is needed' },
    async () => {
      const receipts: string[] = [];
      const key = { idempotency_key: 'before the kill' };
      const keyed = { ...fresh(), ...key };
      receipts.push((await client.post<DreamResponse>('/dream', keyed)).body.receipt);
      const load = Array.from({ length: 8 }, async () => {
        for (;;) {
          const answer = await client.post<DreamResponse>('/dream', fresh()).catch(() => undefined);
          if (answer === undefined) return;
          receipts.push(answer.body.receipt);
        }
      });
      await until(() => receipts.length >= 200);
      for (const each of processesOf(server)) process.kill(each, 'SIGKILL');
      await Promise.all(load);
      await server.ended();
      ({ server, client } = await start());
      for (const receipt of receipts) {
        const { status, body } = await client.get<ReceiptResponse>(`/receipt/${receipt}`);
        assert.deepEqual([status, body.cryptographic_verification.verified], [200, true], receipt);
      }
      const again = await client.post('/dream', keyed);
      assert.deepEqual([again.body['status'], again.body['receipt']], ['duplicate', receipts[0]]);
    },
  );
});

describe('addresses', () => {
  const urlOf = ({ body }: DoorAnswer): unknown => (body['servers'] as { url: string }[])[0]?.url;
  const path = '/api/agent/openapi';

  test('without one configured the description names the host that was asked', async () => {
    const answer = await client.get(path, {}, { Host: 'door.example:8443', 'X-Forwarded-Proto': 'https' });
    assert.equal(urlOf(answer), 'http://door.example:8443');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.match(answer.headers.get('vary') ?? '', /Host/);
    assert.equal(urlOf(await client.get(path, {}, { Host: 'a"b' })), '/');
    await stop();
  });

  test('a trusted proxy names the address that clients see', async () => {
    ({ server, client } = await start({ TRUSTED_PROXIES: '127.0.0.0/8' }));
    const forwarded = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'door.example, inner' };
    assert.equal(urlOf(await client.get(path, {}, forwarded)), 'https://door.example');
    await stop();
  });

  test('DOOR_PORT moves the door, and PUBLIC_DOOR_URL names it', async () => {
    ({ server, client } = await start({ DOOR_PORT: '0', PUBLIC_DOOR_URL: 'https://door.example' }));
    const [, port] = await server.prints(/Fragment door on http:\/\/127\.0\.0\.1:(\d+)/);
    const door = doorClient(Number(port));
    assert.equal(urlOf(await door.get(path)), 'https://door.example');
    const stored = await door.post<DreamResponse>('/dream', fresh());
    assert.equal(stored.body.status, 'quarantined');
    assert.equal((await door.get(`/receipt/${stored.body.receipt}`)).status, 200);
    const elsewhere = [
      await client.post('/dream', fresh()),
      await client.get(`/receipt/${stored.body.receipt}`),
      await door.get('/version'),
      await door.post('/v1/fuse', {}),
    ];
    assert.deepEqual(
      elsewhere.map(({ status, body }) => [status, body['detail']]),
      elsewhere.map(() => [404, 'Not Found']),
    );
    const lost = await door.get('/receipt/fr_00000000000000000000000000');
    assert.equal(lost.body['docs'], '/docs/guides/door');
    const guide = await fetch(`http://127.0.0.1:${port}${lost.body['docs']}`);
    assert.equal(guide.status, 200);
    assert.doesNotMatch(await guide.text(), /href="\/docs(?:\/api[^"]*)?"/);
    for (const address of [client, door]) {
      assert.equal((await address.get('/health')).status, 200);
      await until(async () => (await address.get('/ready')).status === 200);
    }
    await stop();
  });

  test('with one port PUBLIC_URL names the door, too', async () => {
    ({ server, client } = await start({ PUBLIC_URL: 'https://fuse.example' }));
    assert.equal(urlOf(await client.get(path)), 'https://fuse.example');
    await stop();
  });
});
