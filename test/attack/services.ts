/**
 * Attacks on later features: named statistics, replaced keys, lines, rerank, tools, receipts and their log.
 * Each round sends as much as one core can produce in a few seconds.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { head, post } from '../support/raw.js';
import { faults, flood, json, MiB, type Attack, type Outcome } from './flood.js';
import { ask, cpuOf, openFrom, type World } from './world.js';

const lines = { 'Content-Type': 'application/x-ndjson' };

function put(path: string, body: string, fields: Readonly<Record<string, string>>): Buffer {
  const bytes = Buffer.from(body);
  const all = { ...lines, 'Content-Length': String(bytes.length), ...fields };
  return Buffer.concat([Buffer.from(head('PUT', path, all)), bytes]);
}

let serial = 0;

/** Texts of words that nobody sent before, a text a line. */
function newWords(bytes: number): string {
  const texts: string[] = [];
  for (let length = 0; length < bytes; length += 80) {
    serial += 1;
    texts.push(JSON.stringify(Array.from({ length: 8 }, (_, at) => `w${serial}x${at}`).join(' ')));
  }
  return texts.join('\n');
}

/** Strangers put statistics; who has bought a key puts and removes them under one new name after another. */
async function statistics(world: World): Promise<Outcome[]> {
  const { port, server, attackersKey } = world;
  const large = newWords(4 * MiB);
  const before = cpuOf(server.pid);
  let stored = 0;
  for (let at = 1; at <= 8; at += 1) {
    // Refused by its head alone, a body this long meets a connection that is closed.
    const asked = ask(port, `127.33.0.${at}`, put('/v1/corpora/shop', large, {}));
    stored += (await asked.catch(() => undefined))?.status === 200 ? 1 : 0;
  }
  const ms = (cpuOf(server.pid) - before) / (8 * 4);
  const body = newWords(MiB / 8);
  const fields = { 'X-API-Key': attackersKey };
  const round = serial;
  const seen = await flood(world, 12, 20, (lane, at) => {
    const path = `/v1/corpora/n${round}-${lane}-${at >> 1}`;
    const isPut = at % 2 === 0;
    return {
      from: `127.33.1.${1 + lane}`,
      bytes: isPut ? put(path, body, fields) : head('DELETE', path, fields),
    };
  });
  return [
    { what: 'statistics of strangers that were stored, of 8', figure: stored, bound: 0 },
    { what: 'ms of CPU a MiB of them', figure: Math.round(ms), bound: 100 },
    faults(seen),
  ];
}

/** Who has bought a key replaces it hundreds of times at once; others try with keys that nobody has. */
async function replacedKeys(world: World): Promise<Outcome[]> {
  const before = world.server.output.length;
  const seen = await flood(world, 16, 20, (lane, at) => {
    const key = at % 4 === 3 ? `fg_${'A'.repeat(49)}` : world.attackersKey;
    const fields = { ...json, 'X-API-Key': key };
    return { from: `127.34.0.${1 + lane}`, bytes: post('/v1/keys/rotate', '{"overlap_s":604800}', fields) };
  });
  return [
    { what: 'keys that replaced one key', figure: seen.get(200) ?? 0, bound: 1 },
    { what: 'bytes of log about them', figure: world.server.output.length - before, bound: 2_000 },
    faults(seen),
  ];
}

/** Bodies of lines whose first one never ends, and such whose answers nobody reads; another sends his own. */
async function endlessLines({ port }: World): Promise<Outcome[]> {
  const fields = { ...lines, 'Content-Length': String(64 * MiB) };
  const open = (from: string) => openFrom(port, from);
  const endless = await Promise.all(Array.from({ length: 20 }, (_, at) => open(`127.35.0.${at + 1}`)));
  for (const client of endless) {
    client.send(head('POST', '/v1/fuse/batch', fields)).send(Buffer.alloc(3 * MiB, ' '));
  }
  const unread = await Promise.all(Array.from({ length: 20 }, (_, at) => open(`127.35.1.${at + 1}`)));
  for (const client of unread) {
    client.socket.pause();
    client.send(post('/v1/normalize/batch', '"\n'.repeat(MiB), lines));
  }
  let refused = 0;
  const line = '{"query":"a","docs":[{"id":"1","text":"a","dense_score":1}]}\n';
  for (let round = 0; round < 8; round += 1) {
    for (const client of endless) client.send(Buffer.alloc(30 << 10, ' '));
    const other = await ask(port, `127.36.0.${round + 1}`, post('/v1/fuse/batch', line, lines));
    refused += other.status === 200 && other.body.includes('"results"') ? 0 : 1;
    await pause(300);
  }
  for (const client of [...endless, ...unread]) client.destroy();
  return [{ what: 'lines of another network refused, of 8', figure: refused, bound: 0 }];
}

/** A /24 has the models score as many and as long documents as it may. */
async function reranking(world: World): Promise<Outcome[]> {
  const documents = Array.from({ length: 50 }, (_, at) => `${at} ${'a red bike and its lock '.repeat(100)}`);
  const paths = ['/v2/rerank', '/v1/rerank', '/rerank', '/voyage/v1/rerank'];
  const heavy = [`{"query":"a","documents":[${'{},'.repeat(MiB)}{}]}`, `{"z":[${'[],'.repeat(MiB)}0]}`];
  const seen = await flood(world, 16, 3, (lane, at) => {
    serial += 1;
    const valid = JSON.stringify({ query: `bike ${serial}`, documents });
    const body = lane % 5 === 4 ? (heavy[at % heavy.length] ?? '') : valid;
    return { from: `127.37.0.${1 + lane}`, bytes: post(paths[(lane + at) % paths.length] ?? '', body, json) };
  });
  return [faults(seen)];
}

/** Messages to the tools: handshakes of sessions that nobody keeps, calls, and what is no message. */
async function tools(world: World): Promise<Outcome[]> {
  const message = (method: string, params: object): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const call = (name: string, given: object): string => message('tools/call', { name, arguments: given });
  const bodies = [
    message('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} }),
    message('tools/list', {}),
    call('rerank', { query: 'a', documents: Array.from({ length: 5_000 }, () => 'a') }),
    call('audit_records', { records: Array.from({ length: 500 }, () => 'café ﬁne '.repeat(20)) }),
    call('fragments_near', { text: 'bike '.repeat(400), k: 100 }),
    call('normalize_text', { text: '\u{1F600}'.repeat(25_000) }),
    call(`x${'\u0001'.repeat(20_000)}`, {}),
    `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"z":[${'{},'.repeat(40_000)}{}]}}`,
    '['.repeat(120_000),
  ];
  const seen = await flood(world, 16, 36, (lane, at) => ({
    from: `127.38.0.${1 + lane}`,
    bytes: post('/mcp', bodies[at % bodies.length] ?? '', json),
  }));
  return [faults(seen)];
}

/** A receipt of the largest fragment, its page, its proof and the log around it, as fast as they are read. */
async function receipts(world: World): Promise<Outcome[]> {
  const { port } = world;
  const longest = (count: number): string => '\u{1F6B2}'.repeat(count);
  serial += 1;
  const fragment = {
    title: `t${serial}`,
    content: longest(2_000),
    mechanism: longest(1_000),
    test: longest(500),
  };
  const made = await ask(port, '127.39.0.1', post('/dream', JSON.stringify(fragment), json));
  const { receipt = 'fr_01ARZ3NDEKTSV4RRFFQ69G5FAV' } = JSON.parse(made.body.toString()) as {
    receipt?: string;
  };
  const asks = [
    head('GET', `/receipt/${receipt}`),
    head('GET', `/receipt/${receipt}`, { Accept: 'text/html' }),
    head('GET', `/receipt/${receipt}/proof`),
    head('GET', '/checkpoint'),
    head('GET', '/tile/0/000.p/1'),
    head('GET', '/tile/entries/000.p/1'),
    head('GET', '/log'),
    head('GET', '/receipt/fr_01ARZ3NDEKTSV4RRFFQ69G5FAV'),
  ];
  const seen = await flood(world, 16, 160, (lane, at) => ({
    from: `127.39.1.${1 + lane}`,
    bytes: asks[at % asks.length] ?? '',
  }));
  return [faults(seen)];
}

/** They stand before the attack of a /48 in the list of all. */
export const serviceAttacks: readonly Attack[] = [
  { name: 'statistics', play: statistics },
  { name: 'replaced keys', play: replacedKeys },
  { name: 'endless lines', play: endlessLines },
  { name: 'reranking', play: reranking },
  { name: 'tools', play: tools },
  { name: 'receipts', play: receipts },
];
