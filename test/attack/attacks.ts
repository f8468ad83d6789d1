/** Attacks that one holder of a few addresses can play, each with the figure that it is judged by. */
import { setTimeout as pause } from 'node:timers/promises';
import { head, post, type RawClient } from '../http/raw.js';
import { ask, cpuOf, diskOf, openFrom, openIdle, statuses, type World } from './world.js';

/** What an attack came to. */
export interface Outcome {
  /** What the figure counts. */
  readonly what: string;
  readonly figure: number;
  /** The most that the figure may be. */
  readonly bound: number;
}

/** One attack. */
export interface Attack {
  readonly name: string;
  readonly play: (world: World) => Promise<readonly Outcome[]>;
}

const json = { 'Content-Type': 'application/json' };
const MiB = 1 << 20;

/** 254 addresses of one /24 send leads. */
async function manyAddresses({ port }: World): Promise<Outcome[]> {
  const lead = post('/v1/leads', '{"email":"a@example.com"}', json);
  const begunMs = performance.now();
  let passed = 0;
  for (let last = 1; last < 255; last += 1) {
    const seen = await statuses(port, `127.9.9.${last}`, lead, 4);
    passed += seen.get(200) ?? 0;
  }
  const minutes = (performance.now() - begunMs) / 60_000;
  return [
    { what: 'leads stored of 1,016 of one /24', figure: passed, bound: Math.ceil(640 * (1 + minutes)) },
  ];
}

/** Links that nobody made, with long destinations. */
async function madeUpClicks({ port, data }: World): Promise<Outcome[]> {
  const before = diskOf(data);
  const seen = await statuses(port, '127.10.0.1', head('GET', `/c/x.y?d=/${'a'.repeat(2_000)}`), 3_000);
  await pause(300);
  const passed = { what: 'clicks followed of 3,000', figure: seen.get(302) ?? 0, bound: 1_200 };
  return [passed, { what: 'bytes on disk', figure: diskOf(data) - before, bound: MiB }];
}

/** A webhook that is not configured. */
async function unwantedEvents({ port, server }: World): Promise<Outcome[]> {
  const before = server.output.length;
  await statuses(port, '127.11.0.1', post('/v1/checkout/card/webhook', '{}'), 2_000);
  return [{ what: 'bytes of log after 2,000 events', figure: server.output.length - before, bound: 2_000 }];
}

/** One harvest of as many markers as fit, and others after it. */
async function harvests({ port }: World): Promise<Outcome[]> {
  const text = '<<SHARD>>{}<</SHARD>>'.repeat(4_000);
  const seen = await statuses(port, '127.12.0.1', post('/harvest', JSON.stringify({ text }), json), 20);
  return [{ what: 'harvests of 4,000 markers that passed, of 20', figure: seen.get(200) ?? 0, bound: 1 }];
}

/** A request that hides in the trailer of a chunked body. */
async function smuggled({ port }: World): Promise<Outcome[]> {
  let answered = 0;
  for (let count = 0; count < 20; count += 1) {
    const client = await openFrom(port, '127.13.0.1');
    const fields = { ...json, 'Transfer-Encoding': 'chunked' };
    client.send(
      `${head('POST', '/v1/quote', fields)}2\r\n{}\r\n0\r\nX:GET /version HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    await client.end();
    answered += client.received.includes('"fusegate"') || client.received.includes('unicode') ? 1 : 0;
  }
  return [{ what: 'hidden requests answered, of 20', figure: answered, bound: 0 }];
}

/** Connections that do nothing. */
async function idleConnections({ port }: World): Promise<Outcome[]> {
  const idle = Array.from({ length: 3_500 }, () => openIdle(port, '127.14.0.1'));
  await pause(3_000);
  const open = idle.filter(({ closed }) => !closed()).length;
  for (const { socket } of idle) socket.destroy();
  // An eighth of 8,192 for each of two workers, and half of that until the kernel's table is looked at.
  return [{ what: 'connections kept, of 3,500 of one address', figure: open, bound: 3_072 }];
}

/** Walks that nobody waits for. */
async function abandonedWalks({ port }: World): Promise<Outcome[]> {
  const fragment = (at: number) =>
    JSON.stringify({ title: `bike ${at}`, content: `A red bike, number ${at}.` });
  for (let at = 0; at < 40; at += 1) await ask(port, '127.15.0.1', post('/dream', fragment(at), json));
  await pause(1_500);
  const clients = await Promise.all(Array.from({ length: 120 }, () => openFrom(port, '127.15.0.2')));
  for (const client of clients) client.send(head('GET', '/walk?steps=100'));
  await pause(50);
  for (const client of clients) client.destroy();
  const begunMs = performance.now();
  const graph = await ask(port, '127.15.0.3', head('GET', '/graph?limit=1'));
  const waitedMs = Math.round(performance.now() - begunMs);
  return [
    { what: 'status of a later /graph', figure: graph.status, bound: 200 },
    { what: 'ms until /graph answers after 120 abandoned walks', figure: waitedMs, bound: 2_000 },
  ];
}

/** Large bodies that come slowly, of one network; another sends one that does not. */
async function slowBodies({ port }: World): Promise<Outcome[]> {
  const fields = { ...json, 'Content-Length': String(32 * MiB) };
  const slow = await Promise.all(Array.from({ length: 20 }, (_, at) => openFrom(port, `127.16.0.${at + 1}`)));
  for (const client of slow) client.send(head('POST', '/v1/fuse', fields)).send(Buffer.alloc(300 << 10, ' '));
  let refused = 0;
  const body = JSON.stringify({
    query: 'a',
    docs: [{ id: '1', text: 'a '.repeat(700_000), dense_score: 1 }],
  });
  for (let round = 0; round < 8; round += 1) {
    for (const client of slow) client.send(Buffer.alloc(30 << 10, ' '));
    const other = await ask(port, '127.17.0.1', post('/v1/fuse', body, json));
    refused += other.status === 503 ? 1 : 0;
    await pause(300);
  }
  for (const client of slow) client.destroy();
  return [{ what: 'bodies of another network refused, of 8', figure: refused, bound: 0 }];
}

/** Readers that take nothing: of a file of the pages, and of large answers. */
async function slowReaders({ port }: World): Promise<Outcome[]> {
  const readers: RawClient[] = [];
  for (let at = 0; at < 250; at += 1) {
    const client = await openFrom(port, `127.18.0.${at + 1}`);
    client.socket.pause();
    readers.push(client.send(head('GET', '/pages/sigma.min.js')));
  }
  const doc = { id: '', text: '', dense_score: 0.1 };
  const body = JSON.stringify({ query: '', docs: Array.from({ length: 90_000 }, () => doc) });
  for (let at = 0; at < 12; at += 1) {
    const client = await openFrom(port, `127.18.1.${at + 1}`);
    client.socket.pause();
    readers.push(client.send(post('/v1/fuse', body, json)));
  }
  await pause(4_000);
  const other = await ask(port, '127.19.0.1', head('GET', '/pages/sigma.min.js'));
  for (const client of readers) client.destroy();
  return [{ what: 'status of another reader', figure: other.status, bound: 200 }];
}

/** Bodies of nothing but what costs a reader most: each from an address of its own, one after the other. */
async function heavyBodies({ port, server }: World): Promise<Outcome[]> {
  const objects = '{},'.repeat((12 * MiB) / 3);
  const names = Array.from({ length: (12 * MiB) / 14 }, (_, at) => `"k${at}":0`).join(',');
  const bodies: readonly (readonly [string, string])[] = [
    ['/v1/audit', `{"z":[${objects}{}]}`],
    ['/v1/audit', `{"records":[${objects}{}]}`],
    ['/v1/audit', `{${names}}`],
    ['/v1/fuse', `{"query":"a","z":[${objects}{}]}`],
    ['/v1/fuse', `{"query":"a","docs":[${objects}{}]}`],
    ['/v1/fuse', `{"query":"a","docs":[{"id":"","text":""}],"entity_map":{${names}}}`],
  ];
  let worst = 0;
  for (const [at, [path, body]] of bodies.entries()) {
    const before = cpuOf(server.pid);
    await ask(port, `127.20.0.${at + 1}`, post(path, body, json));
    worst = Math.max(worst, (cpuOf(server.pid) - before) / (body.length / MiB));
  }
  return [{ what: 'ms of CPU a MiB of the worst body', figure: Math.round(worst), bound: 100 }];
}

/** An audit as large as the contract has them, of what grows most, read slowly by nobody. */
async function largeAudit({ port, server }: World): Promise<Outcome[]> {
  const records = Array.from({ length: 500 }, () => '\u{1F600}'.repeat(2_000));
  const body = JSON.stringify({ records, include_text: true });
  const before = cpuOf(server.pid);
  const answer = await ask(port, '127.21.0.1', post('/v1/audit', body, json));
  const ms = (cpuOf(server.pid) - before) / (Buffer.byteLength(body) / MiB);
  return [
    { what: 'status of an audit of 500 records of emoji', figure: answer.status, bound: 200 },
    { what: 'ms of CPU a MiB of it', figure: Math.round(ms), bound: Infinity },
  ];
}

/** Every attack, in the order in which they are played. */
export const attacks: readonly Attack[] = [
  { name: 'many addresses', play: manyAddresses },
  { name: 'made-up links', play: madeUpClicks },
  { name: 'unwanted events', play: unwantedEvents },
  { name: 'harvests', play: harvests },
  { name: 'hidden requests', play: smuggled },
  { name: 'idle connections', play: idleConnections },
  { name: 'abandoned walks', play: abandonedWalks },
  { name: 'heavy bodies', play: heavyBodies },
  { name: 'large audit', play: largeAudit },
  { name: 'slow bodies', play: slowBodies },
  { name: 'slow readers', play: slowReaders },
];
