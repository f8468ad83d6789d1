/** Requests to a payment node: what is sent, how long an answer may take, and what a stream reports. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { after, beforeEach, describe, test } from 'node:test';
import { agentFor, askNode, followLines, type NodeRequest } from '../../src/checkout/httpsJson.js';
import { HandClock } from '../support/handClock.js';
import { spansOf } from '../telemetry/recording.js';
import { until } from '../support/until.js';
import { makeCertificate } from './certificate.js';

interface Asked {
  readonly request: IncomingMessage;
  readonly body: string;
}

/** What the servers were asked, and what they do. */
const asked: Asked[] = [];
let answer: (response: ServerResponse) => void = (response) => response.end('{}');

async function answering(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  asked.push({ request, body });
  answer(response);
}

const certificate = makeCertificate();
const plain = createServer((...exchange) => void answering(...exchange));
const secure = createSecureServer(certificate, (...exchange) => void answering(...exchange));

async function listening(server: Server, protocol: string): Promise<URL> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return new URL(`${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}/path?query=1`);
}

const plainUrl = await listening(plain, 'http');
const secureUrl = await listening(secure, 'https');
const agents = {
  plain: agentFor(plainUrl.href),
  secure: new Agent({ keepAlive: true, ca: certificate.cert }),
};

after(() => {
  for (const agent of Object.values(agents)) agent.destroy();
  for (const server of [plain, secure]) {
    server.closeAllConnections();
    server.close();
  }
});

beforeEach(() => {
  asked.splice(0);
  answer = (response) => response.end('{}');
});

const bare: NodeRequest = { agent: agents.plain };

describe('a request to a node', () => {
  test('has the path, the fields and the body that were given, and keeps its connection', async () => {
    answer = (response) => response.writeHead(203).end('{"a":"é"}');
    const clock = new HandClock();
    const request: NodeRequest = {
      ...{ ...bare, body: '{"amount":"ü"}' },
      ...{ auth: 'user:password', headers: { 'x-field': 'value' } },
    };
    assert.deepEqual(await askNode(plainUrl, request, clock), { status: 203, text: '{"a":"é"}' });
    assert.deepEqual(await askNode(plainUrl, bare, clock), { status: 203, text: '{"a":"é"}' });
    const [first, second] = asked;
    assert.ok(first !== undefined && second !== undefined);
    const { method, url, headers } = first.request;
    assert.deepEqual([method, url, first.body], ['POST', '/path?query=1', request.body]);
    assert.equal(headers.authorization, `Basic ${Buffer.from('user:password').toString('base64')}`);
    assert.deepEqual(
      [headers['content-type'], headers['content-length'], headers['x-field']],
      ['application/json', '15', 'value'],
    );
    assert.equal(second.request.headers.authorization, undefined);
    assert.deepEqual([second.request.method, second.request.headers['content-length']], ['GET', '0']);
    assert.equal(second.request.socket, first.request.socket);
    assert.equal(clock.timers, 0);
  });

  test('goes by TLS where its address says so', async () => {
    const secured = { ...bare, agent: agents.secure };
    assert.equal((await askNode(secureUrl, secured, new HandClock())).text, '{}');
    assert.ok(agentFor(secureUrl.href) instanceof Agent && !(agents.plain instanceof Agent));
  });

  test('has five seconds for its whole answer', async () => {
    for (const begin of [
      () => undefined,
      (response: ServerResponse) => void response.writeHead(200).write('{"half":'),
    ]) {
      const clock = new HandClock();
      answer = begin;
      const count = asked.length + 1;
      let outcome = 'none';
      const asking = askNode(plainUrl, bare, clock).catch((error: unknown) => (outcome = String(error)));
      await until(() => asked.length === count);
      await clock.pass(4_999);
      assert.equal(outcome, 'none');
      await clock.pass(1);
      await asking;
      assert.equal(outcome, 'Error: it took too long');
      assert.equal(clock.timers, 0);
    }
  });

  test('whose answer breaks off, or never begins, fails', async () => {
    for (const [end, reason] of [
      [(response: ServerResponse) => void response.destroy(), /^Error: socket hang up$/],
      [
        (response: ServerResponse) => {
          response.writeHead(200, { 'content-length': 100 }).write('{"half":');
          setImmediate(() => response.destroy());
        },
        /^Error: (aborted|it broke off)$/,
      ],
    ] as const) {
      const clock = new HandClock();
      answer = end;
      await assert.rejects(askNode(plainUrl, bare, clock), reason);
      assert.equal(clock.timers, 0);
    }
  });

  test('whose answer is longer than any node has reason to send fails', async () => {
    const piece = 'x'.repeat(4 * 1024 * 1024);
    const says = (pieces: number) => (response: ServerResponse) => {
      for (let count = 0; count < pieces; count += 1) response.write(piece);
      response.end();
    };
    answer = says(16);
    const longest = await askNode(plainUrl, bare, new HandClock());
    assert.equal(longest.text.length, 64 * 1024 * 1024);
    answer = (response) => {
      response.write('x');
      says(16)(response);
    };
    await assert.rejects(askNode(plainUrl, bare, new HandClock()), /^Error: it says too much$/);
  });
});

describe('a trace', () => {
  test('continues in a node of the operator’s own, and in no other', async () => {
    const clock = new HandClock();
    const own = { ...bare, isOwn: true, headers: { 'x-field': 'value' } };
    const [first] = await spansOf(() => askNode(plainUrl, own, clock));
    assert.ok(first !== undefined);
    const { traceparent, 'x-field': field } = asked.at(-1)?.request.headers ?? {};
    assert.equal(traceparent, `00-${first.traceId}-${first.spanId}-01`);
    assert.equal(field, 'value');
    await spansOf(() => askNode(plainUrl, { ...own, body: '{}' }, clock));
    assert.deepEqual([asked.at(-1)?.request.method, asked.at(-1)?.body], ['POST', '{}']);
    for (const request of [bare, { ...bare, isOwn: false, headers: { 'x-field': 'value' } }]) {
      await spansOf(() => askNode(plainUrl, request, clock));
      assert.equal(asked.at(-1)?.request.headers['traceparent'], undefined);
    }
    assert.equal(asked.at(-1)?.request.headers['x-field'], 'value');
    await askNode(plainUrl, own, clock);
    assert.equal(asked.at(-1)?.request.headers['traceparent'], undefined, 'no request causes it');
  });

  test('shows the method, host and status of a call, and never its path', async () => {
    const about = { 'http.request.method': 'GET', 'server.address': '127.0.0.1' };
    const shown = async (request = bare): Promise<unknown> => {
      const spans = await spansOf(() => askNode(plainUrl, request, new HandClock()).catch(() => undefined));
      return spans.map(({ name, kind, attributes, hasFailed }) => [name, kind, attributes, hasFailed]);
    };
    assert.deepEqual(await shown(), [
      ['GET', 'client', { ...about, 'http.response.status_code': 200 }, false],
    ]);
    answer = (response) => response.writeHead(503).end();
    const failed = { ...about, 'http.response.status_code': 503, 'error.type': '503' };
    assert.deepEqual(await shown(), [['GET', 'client', failed, true]]);
    answer = (response) => void response.destroy();
    assert.deepEqual(await shown(), [['GET', 'client', { ...about, 'error.type': 'Error' }, true]]);
  });
});

describe('a stream', () => {
  /** Follows; `lines` and the number of ends are what was reported. */
  function follow(onLine: (line: string) => void = () => undefined, url = secureUrl) {
    const reported = { lines: [] as string[], ends: 0 };
    const options = { agent: agents.secure, headers: { 'x-field': 'value' } };
    const { stop } = followLines(url, options, {
      onLine(line) {
        reported.lines.push(line);
        onLine(line);
      },
      onEnd: () => (reported.ends += 1),
    });
    return { reported, stop };
  }

  const closed = new Set<ServerResponse>();

  /** Begins an answer that goes on; resolves to it once it was asked for. */
  async function begun(status = 200): Promise<ServerResponse> {
    const responses: ServerResponse[] = [];
    answer = (response) => {
      response.on('close', () => closed.add(response));
      response.writeHead(status).flushHeaders();
      responses.push(response);
    };
    await until(() => responses.length > 0);
    const [response] = responses;
    assert.ok(response !== undefined);
    return response;
  }

  test('reports each line whole as it comes, however it is split', async () => {
    const { reported, stop } = follow();
    const response = await begun();
    const { url, headers } = asked[0]?.request ?? {};
    assert.deepEqual([url, headers?.['x-field']], ['/path?query=1', 'value']);
    response.write('first\n');
    await until(() => reported.lines.length === 1);
    const bytes = Buffer.from('second é\n\n\nthird\nfour');
    const cut = bytes.indexOf('é') + 1;
    response.write(bytes.subarray(0, cut));
    setImmediate(() => response.write(bytes.subarray(cut)));
    await until(() => reported.lines.length === 3);
    assert.deepEqual(reported, { lines: ['first', 'second é', 'third'], ends: 0 });
    response.write('th\n');
    await until(() => reported.lines.length === 4);
    assert.equal(reported.lines[3], 'fourth');
    stop();
    await until(() => reported.ends > 0);
    stop();
    await until(() => closed.has(response));
    assert.equal(reported.ends, 1);
  });

  test('ends once: when the node ends it, breaks it off, refuses it or is not there', async () => {
    for (const [end, status] of [
      [(response: ServerResponse) => void response.end('the last, without its end'), 200],
      [(response: ServerResponse) => void response.end('whole\n'), 200],
      [(response: ServerResponse) => void response.destroy(), 200],
      [() => undefined, 500],
    ] as const) {
      const { reported } = follow();
      const response = await begun(status);
      response.write('line\n');
      if (status === 200) await until(() => reported.lines.length === 1);
      end(response);
      await until(() => reported.ends > 0);
      await until(() => closed.has(response));
      assert.equal(reported.ends, 1);
      assert.equal(reported.lines[0], status === 200 ? 'line' : undefined);
    }
    const nowhere = createServer();
    const url = await listening(nowhere, 'https');
    nowhere.close();
    await once(nowhere, 'close');
    const { reported } = follow(undefined, url);
    await until(() => reported.ends > 0);
    assert.deepEqual(reported, { lines: [], ends: 1 });
  });

  test('ends at a line that cannot be read', async () => {
    const { reported } = follow((line) => {
      if (line === 'bad') throw new Error('it is none');
    });
    const response = await begun();
    response.write('good\nbad\nnever\n');
    await until(() => reported.ends > 0);
    assert.deepEqual(reported, { lines: ['good', 'bad'], ends: 1 });
    await until(() => closed.has(response));
  });
});
