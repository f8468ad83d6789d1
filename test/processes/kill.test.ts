/**
 * SIGKILL of every process at once, at random moments, under a load of leads, opt-outs, fragments and keys:
 * what was acknowledged is there exactly once, and nothing is half-written.
 */
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { receiptBody } from '../../src/receipts/receipt.js';
import { native } from '../../src/native/addon.js';
import { optoutToken } from '../../src/outreach/tokens.js';
import { entriesAfter } from '../../src/store/entries.js';
import { decodeReceipt, findDuplicate } from '../../src/store/tables/fragments.js';
import { findKey, allKeys } from '../../src/store/tables/keys.js';
import { leadsAfter } from '../../src/store/tables/leads.js';
import { findOptout, optoutsAfter } from '../../src/store/tables/optouts.js';
import type { Store } from '../../src/store/store.js';
import { exchange, post } from '../support/raw.js';
import { forLength } from '../support/length.js';
import { storeAt } from '../support/openStore.js';
import { PostgresServer, postgresMissing } from '../support/postgresServer.js';
import { processesOf, run, temporaryFolder, type Running } from '../support/run.js';
import { until } from '../support/until.js';
import { collect } from '../support/collect.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const keyMaker = fileURLToPath(new URL('keyMaker.js', import.meta.url));
const MASTER_SECRET = 'a-secret-of-the-tests-that-opens-nothing';
const rounds = forLength({ short: 4, long: 20 });
const clients = 24;
const json = { 'Content-Type': 'application/json' };

/** What the outside was told. */
interface Acknowledged {
  /** Ids of leads. */
  readonly leads: string[];
  /** Addresses. */
  readonly optouts: string[];
  /** Titles by receipt. */
  readonly fragments: Map<string, string>;
  /** Raw keys by id. */
  readonly issued: Map<string, string>;
  /** Ids. */
  readonly revoked: Set<string>;
}

/** Sends a request; resolves to the body of a 200, undefined for anything else. */
function ask(agent: Agent, port: number, path: string, body: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { agent, port, host: '127.0.0.1', method: 'POST', path, headers: json };
    const sent = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', () => resolve(undefined));
      response.on('end', () => resolve(response.complete && response.statusCode === 200 ? text : undefined));
    });
    sent.on('error', () => resolve(undefined));
    sent.end(body);
  });
}

/** A fragment, with an idempotency key every other time; noted when it has its receipt. */
async function submit(agent: Agent, port: number, title: string, told: Acknowledged): Promise<void> {
  const key = title.endsWith('4') ? { idempotency_key: title } : {};
  const answer = await ask(
    agent,
    port,
    '/dream',
    JSON.stringify({ title, content: 'a '.repeat(99), ...key }),
  );
  if (answer === undefined) return;
  const { receipt, status } = JSON.parse(answer) as { receipt: string; status: string };
  assert.equal(status, 'quarantined');
  told.fragments.set(receipt, title);
}

/** One client: leads, opt-outs and fragments in turn until `over`. */
async function client(name: string, port: number, over: () => boolean, told: Acknowledged): Promise<void> {
  const { leads, optouts } = told;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let number = 0; !over(); number += 1) {
    const email = `${name}-${number}@example.com`;
    if (number % 5 === 4) await submit(agent, port, `${name}-${number}`, told);
    else if (number % 3 === 2) {
      const link = new URLSearchParams({ e: email, t: optoutToken(MASTER_SECRET, email) });
      const answer = await ask(agent, port, `/unsubscribe?${link.toString()}`, '');
      if (answer !== undefined) optouts.push(email);
      if (answer !== undefined) assert.equal(answer, '{"ok":true,"unsubscribed":true}');
    } else {
      const answer = await ask(agent, port, '/v1/leads', JSON.stringify({ email, message: name.repeat(20) }));
      if (answer !== undefined) leads.push((JSON.parse(answer) as { id: string }).id);
    }
  }
  agent.destroy();
}

/** The processes of a server: the parent and its workers. */
const doorOpen = { DOOR_SUBMISSIONS_PER_MINUTE: '0' };

/** How the server is started. */
interface Installation {
  readonly environment: Readonly<Record<string, string>>;
  /** Its working directory, where the data folder of a server on PostgreSQL lies. */
  readonly folder: string;
}

function serve({ environment, folder }: Installation): Running {
  const settings = { ...environment, PORT: '0', WORKERS: '2', LEADS_PER_MINUTE: '0', ...doorOpen };
  return run(main, ['serve'], settings, folder);
}

/** Serves under load, and kills everything at one stroke. `also` is killed in the same moment. */
async function round(
  number: number,
  installation: Installation,
  told: Acknowledged,
  also: () => Promise<void>,
): Promise<void> {
  const server = serve(installation);
  const [, port] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  const maker = run(keyMaker, [], installation.environment);
  const [before, state] = [told.leads.length, { over: false }];
  const load = Array.from({ length: clients }, (_, index) =>
    client(`r${number}c${index}`, Number(port), () => state.over, told),
  );
  await maker.prints(/ISSUED/);
  await until(() => told.leads.length > before);
  await pause((number * 137) % 700);
  const processes = processesOf(server);
  assert.equal(processes.length, 3);
  for (const pid of [...processes, maker.pid]) process.kill(pid, 'SIGKILL');
  await also();
  state.over = true;
  await Promise.all([server.ended(), maker.ended(), ...load]);
  for (const [, id = '', raw = ''] of maker.output.matchAll(/^ISSUED (\w+) (\w\S+)\n/gm))
    told.issued.set(id, raw);
  for (const [, id = ''] of maker.output.matchAll(/^REVOKED (\w+)\n/gm)) told.revoked.add(id);
}

/** How many records there are. */
interface Present {
  readonly leads: number;
  readonly optouts: number;
  readonly fragments: number;
  readonly keys: number;
}

/** Everything acknowledged is in the store exactly once; everything in it can be read. */
async function check(store: Store, told: Acknowledged): Promise<Present> {
  const [ids, addresses]: [string[], string[]] = [[], []];
  let last = 0;
  for await (const { position, value } of leadsAfter(store, 0)) {
    assert.equal(position, (last += 1), 'the log has no gap');
    ids.push(value.id);
    addresses.push(value.email);
  }
  assert.deepEqual([new Set(ids).size, new Set(addresses).size], [ids.length, ids.length], 'no lead twice');
  const there = new Set(ids);
  assert.deepEqual(
    told.leads.filter((id) => !there.has(id)),
    [],
    'leads lost',
  );
  return {
    leads: ids.length,
    optouts: await checkOptouts(store, told),
    fragments: await checkFragments(store, told),
    keys: await checkKeys(store, told),
  };
}

/** Every acknowledged fragment verifies; every one there has its places in the log and among duplicates. */
async function checkFragments(store: Store, { fragments }: Acknowledged): Promise<number> {
  const there = new Map<string, string>();
  for await (const { value } of entriesAfter(store, 'fragments', 0)) {
    const receipt = decodeReceipt(value);
    const found = await receiptBody(store, receipt);
    assert.ok(found?.cryptographic_verification.verified, receipt);
    assert.ok(!there.has(receipt), 'a fragment twice');
    const digest = found.envelope?.['dedupe_key_sha256'] ?? '';
    const first = await findDuplicate(store, { probe: false, digest });
    assert.ok(first === receipt, receipt);
    there.set(receipt, found.fragment?.title ?? '');
  }
  for (const [receipt, title] of fragments) assert.equal(there.get(receipt), title, `${receipt} is lost`);
  const records = await store.scan('fragments', { limit: 1e6 });
  assert.equal(records.length, there.size, 'a fragment without its entry');
  return there.size;
}

async function checkOptouts(store: Store, { optouts }: Acknowledged): Promise<number> {
  for (const email of optouts) {
    const found = await findOptout(store, [MASTER_SECRET], email);
    assert.ok(found?.email === email, `${email} is lost`);
  }
  return (await collect(optoutsAfter(store, Buffer.alloc(0)))).length;
}

async function checkKeys(store: Store, { issued, revoked }: Acknowledged): Promise<number> {
  const states = new Map<string, string>();
  for await (const { id, status } of allKeys(store)) states.set(id, status);
  for (const [id, raw] of issued) {
    const hash = native.hashKey(raw);
    assert.ok(hash !== null);
    const found = await findKey(store, hash);
    assert.ok(found?.id === id, `key ${id} is lost`);
    if (revoked.has(id)) assert.equal(states.get(id), 'revoked');
  }
  const hashes = await store.scan('keys', { limit: 1e6 });
  assert.equal(hashes.length, states.size, 'a key without its id, or the reverse');
  return states.size;
}

/** Keys of the last rounds work where they should, over HTTP. */
async function useKeys(installation: Installation, { issued, revoked }: Acknowledged): Promise<void> {
  const server = serve(installation);
  const [, port] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  const body = JSON.stringify({ query: 'a', docs: [{ id: '1', text: 'a', dense_score: 1 }] });
  for (const [id, raw] of [...issued].slice(-30)) {
    const { status } = await exchange(Number(port), post('/v1/fuse', body, { ...json, 'X-API-Key': raw }));
    // Of a key whose revocation was not acknowledged either may be.
    if (revoked.has(id)) assert.equal(status, 401);
    else assert.ok(status === 200 || status === 401, `${status}`);
  }
  server.child.kill('SIGTERM');
  await server.ended();
}

/** Runs the rounds and reports. */
async function killAgainAndAgain(
  context: TestContext,
  installation: Installation,
  also: (number: number) => Promise<void>,
): Promise<void> {
  const told: Acknowledged = {
    leads: [],
    optouts: [],
    fragments: new Map(),
    issued: new Map(),
    revoked: new Set(),
  };
  for (let number = 0; number < rounds; number += 1) {
    await round(number, installation, told, () => also(number));
  }
  const store = await storeAt(installation.environment['STORE_URL'] ?? '');
  const present = await check(store, told);
  await store.close();
  await useKeys(installation, told);
  const counts: readonly (readonly [string, number, number])[] = [
    ['leads', told.leads.length, present.leads],
    ['opt-outs', told.optouts.length, present.optouts],
    ['fragments', told.fragments.size, present.fragments],
    ['keys', told.issued.size, present.keys],
  ];
  for (const [what, acknowledged, there] of counts) {
    assert.ok(acknowledged >= rounds, `${acknowledged} ${what}`);
    const more = there - acknowledged;
    assert.ok(more >= 0 && more <= rounds * clients * 2, `${there} of ${acknowledged} ${what}`);
    context.diagnostic(
      `${acknowledged} ${what} acknowledged, all there; ${more} more that nobody was told of`,
    );
  }
}

const onLinux = { skip: process.platform === 'linux' ? false : '/proc is needed' };

test(`on LMDB, ${rounds} times`, onLinux, async (context) => {
  const folder = temporaryFolder();
  const environment = { STORE_URL: `lmdb:${folder}/store`, MASTER_SECRET };
  await killAgainAndAgain(context, { environment, folder }, () => Promise.resolve());
});

describe('on PostgreSQL', { skip: postgresMissing() || onLinux.skip }, () => {
  test(`${rounds} times, the database every other time too`, async (context) => {
    const postgres = await PostgresServer.start();
    context.after(() => postgres.stop());
    const environment = { STORE_URL: await postgres.database(), MASTER_SECRET };
    await killAgainAndAgain(context, { environment, folder: temporaryFolder() }, async (number) => {
      if (number % 2 === 0) return;
      await postgres.kill();
      await postgres.boot();
    });
  });
});
