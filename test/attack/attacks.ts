/**
 * Attacks by one holder of a few addresses, of a /24 or of a /48, each with the figures that it is judged by.
 * Each round sends as much as one core can produce in a few seconds.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { native } from '../../src/native/addon.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { head, post, type RawClient } from '../support/raw.js';
import { faults, flood, json, MiB, type Attack, type Outcome } from './flood.js';
import { serviceAttacks } from './services.js';
import { ask, cpuOf, openFrom, openIdle, statuses, type World } from './world.js';

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
async function madeUpClicks({ port }: World): Promise<Outcome[]> {
  const seen = await statuses(port, '127.10.0.1', head('GET', `/c/x.y?d=/${'a'.repeat(2_000)}`), 3_000);
  return [{ what: 'clicks followed of 3,000', figure: seen.get(302) ?? 0, bound: 1_200 }];
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
  const stillOpen = (): number => idle.filter(({ closed }) => !closed()).length;
  await pause(3_000);
  // Opening them may have held this process up, which then hears of those that were closed only later.
  let open = stillOpen();
  for (let before = Infinity; open !== before;) {
    before = open;
    await pause(500);
    open = stillOpen();
  }
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
  const mostMs = 100;
  let worst = 0;
  for (const [at, [path, body]] of bodies.entries()) {
    let least = Infinity;
    // Other work of the server only adds to it.
    for (let round = 0; round < 3 && least > mostMs; round += 1) {
      const before = cpuOf(server.pid);
      // Refused by its head alone, a body this long meets a closed connection: the answer may be lost.
      await ask(port, `127.20.0.${at + 1}`, post(path, body, json)).catch(() => undefined);
      least = Math.min(least, (cpuOf(server.pid) - before) / (body.length / MiB));
    }
    worst = Math.max(worst, least);
  }
  return [{ what: 'ms of CPU a MiB of the worst body', figure: Math.round(worst), bound: mostMs }];
}

/** An audit as large as the contract has them, of what grows most, read slowly by nobody. */
async function largeAudit({ port, server }: World): Promise<Outcome[]> {
  const records = Array.from({ length: 500 }, () => '\u{1F600}'.repeat(2_000));
  const body = JSON.stringify({ records, include_text: true });
  const before = cpuOf(server.pid);
  const answer = await ask(port, '127.21.0.1', post('/v1/audit', body, json)).catch(() => undefined);
  const ms = (cpuOf(server.pid) - before) / (Buffer.byteLength(body) / MiB);
  // Later rounds are over the limit of a minute; their body may be cut off by its answer.
  const isGood = answer === undefined || answer.status === 200 || answer.status === 429;
  return [
    { what: 'faults in audits of 500 records of emoji', figure: isGood ? 0 : 1, bound: 0 },
    { what: 'ms of CPU a MiB of it', figure: Math.round(ms), bound: Infinity },
  ];
}

let serial = 0;

/** A fragment of a size that nobody sent before. */
function fragment(characters: number): string {
  serial += 1;
  const content = `${serial} ${'\u{1F6B2}'.repeat(characters)}`;
  return JSON.stringify({ title: `t${serial}`, content, mechanism: content.slice(0, characters) });
}

/** A /24 sends fragments and harvests, to fill the disk. */
async function fragments(world: World): Promise<Outcome[]> {
  const seen = await flood(world, 16, 60, (lane, at) => {
    const from = `127.22.0.${1 + lane}`;
    if (at % 20 !== 0) return { from, bytes: post('/dream', fragment(450), json) };
    const markers = Array.from({ length: 200 }, () => `<<SHARD>>${fragment(1)}<</SHARD>>`);
    return { from, bytes: post('/harvest', JSON.stringify({ text: markers.join('') }), json) };
  });
  return [faults(seen)];
}

/** A /24 orders on every rail and pays for nothing; its orders carry as much as fits. */
async function orders(world: World): Promise<Outcome[]> {
  const body = JSON.stringify({ tier: 'developer', email: `${'a'.repeat(15_000)}@example.com` });
  const seen = await flood(world, 12, 25, (lane, at) => ({
    from: `127.23.0.${1 + lane * 20 + (at % 20)}`,
    bytes: post(`/v1/checkout/${['btc', 'lightning', 'card'][at % 3] ?? 'btc'}`, body, json),
  }));
  return [faults(seen)];
}

/** A /24 follows a link that the operator made, again and again. */
async function goodClicks(world: World): Promise<Outcome[]> {
  const agent = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' };
  const bytes = head('GET', world.link, agent);
  const seen = await flood(world, 16, 250, (lane) => ({ from: `127.24.0.${1 + lane}`, bytes }));
  return [faults(seen)];
}

/** Keys that nobody has, well-formed, to be looked up in the store. */
async function unknownKeys(world: World): Promise<Outcome[]> {
  const seen = await flood(world, 16, 150, () => {
    const fields = { ...json, 'X-API-Key': native.writeKey(systemRandomness(32)) };
    const body = '{"query":"a","docs":[{"id":"1","text":"a"}]}';
    return { from: '127.25.0.1', bytes: post('/v1/fuse', body, fields) };
  });
  return [faults(seen)];
}

/** Routes that answer anybody at once, as fast as they answer: pages, prices, quotes. */
async function cheapReads(world: World): Promise<Outcome[]> {
  const asks = [
    head('GET', '/'),
    head('GET', '/docs'),
    head('GET', '/v1/pricing'),
    head('GET', '/ready'),
    head('GET', '/health'),
    post('/v1/checkout/quote', `{"tier":"growth","z":[${'0,'.repeat(7_000)}0]}`, json),
    head('GET', '/v1/checkout/btc/btc_0123456789abcdefghijk'),
  ];
  const seen = await flood(world, 16, 200, (lane, at) => ({
    from: `127.26.0.${1 + lane}`,
    bytes: asks[at % asks.length] ?? '',
  }));
  return [faults(seen)];
}

/** Exploring, answered in full, as fast as it is answered. */
async function exploring(world: World): Promise<Outcome[]> {
  const targets = [
    ...['/graph?limit=1000', '/walk?steps=100', '/graph/near?text=red%20bike', '/focus', '/leaderboard'],
    '/graph/fragments?limit=1000',
  ];
  const seen = await flood(world, 12, 40, (lane, at) => ({
    from: `127.27.0.${1 + lane}`,
    bytes: head('GET', targets[at % targets.length] ?? '/graph'),
  }));
  return [faults(seen)];
}

/** The largest bodies of normalize and harvest, several at once, of what costs them most. */
async function largeTexts(world: World): Promise<Outcome[]> {
  const text = 'Ã©ﬁ \u{1F600}'.repeat(120_000);
  const bodies = [
    post('/v1/normalize', JSON.stringify({ text: text.slice(0, 500_000) }), json),
    post('/harvest', `{"text":"a","z":[${'0,'.repeat(900_000)}0]}`, json),
    post('/harvest', JSON.stringify({ text: '<<SHARD>>'.repeat(10_000) }), json),
  ];
  const seen = await flood(world, 6, 9, (lane, at) => ({
    from: `127.28.0.${1 + lane}`,
    bytes: bodies[at % bodies.length] ?? '',
  }));
  return [faults(seen)];
}

/** A /48: thousands of /64, each with everything that may be stored and everything that is counted. */
async function wideNetwork(world: World): Promise<Outcome[]> {
  const seen = await flood(world, 16, 150, (lane, at) => {
    serial += 1;
    const from64 = `2001:db8:7:${(serial % 60_000).toString(16)}::1`;
    const fields = { ...json, 'X-Forwarded-For': from64 };
    const kinds = [
      () => post('/dream', fragment(450), fields),
      () => post('/v1/leads', JSON.stringify({ email: `a${serial}@example.com`, message: 'm' }), fields),
      () => post('/v1/fuse', '{"query":"a","docs":[{"id":"1","text":"a"}]}', fields),
      () => post('/v1/checkout/btc', '{"tier":"developer"}', fields),
      () => head('GET', world.link, fields),
    ];
    return { from: `127.99.0.${1 + lane}`, bytes: kinds[at % kinds.length]?.() ?? '' };
  });
  return [faults(seen)];
}

/** Lines that cost nothing to send: blank ones, and such as are refused one by one. */
async function shortLines(world: World): Promise<Outcome[]> {
  const fields = { 'Content-Type': 'application/x-ndjson' };
  const bodies = ['\n', '0\n', '{}\n', '{"query":"a","docs":[]}\n'].map((line) =>
    line.repeat(Math.floor(16_384 / line.length)),
  );
  const seen = await flood(world, 16, 6, (lane, at) => ({
    from: `127.32.0.${1 + lane}`,
    bytes: post('/v1/fuse/batch', bodies[at % bodies.length] ?? '', fields),
  }));
  return [faults(seen)];
}

/** The customer's own kind of request, as fast as it is answered: what sharing the processor costs him. */
export async function validLoad(world: World): Promise<void> {
  const fields = { ...json, 'X-API-Key': world.key };
  const docs = Array.from({ length: 20 }, (_, at) => ({ id: `d${at}`, text: `a red bike, ${at}` }));
  const bytes = post('/v1/fuse', JSON.stringify({ query: 'red bike', docs }), fields);
  await flood(world, 16, 150, (lane) => ({ from: `127.29.0.${1 + lane}`, bytes }));
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
  { name: 'fragments', play: fragments },
  { name: 'orders', play: orders },
  { name: 'good links', play: goodClicks },
  { name: 'unknown keys', play: unknownKeys },
  { name: 'cheap reads', play: cheapReads },
  { name: 'exploring', play: exploring },
  { name: 'large texts', play: largeTexts },
  { name: 'short lines', play: shortLines },
  ...serviceAttacks,
  { name: 'a /48', play: wideNetwork },
];
