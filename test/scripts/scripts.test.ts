/**
 * Runs the text scripts of this folder (README.md says how they are written) against the compiled program:
 * each on a server of its own or the shared one, with its commands run at the same time.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { routes } from '../../src/contract/routes.js';
import { here } from '../support/here.js';
import { RawClient, type RawResponse } from '../support/raw.js';
import { run, memoryFolder } from '../support/run.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const folder = fileURLToPath(new URL('../../../test/scripts', import.meta.url));

/** One step: what is done, and what must come back; lines without their marks. */
interface Step {
  /** `>`: a request. `$`: a command of `fusegate`. */
  readonly kind: '>' | '$';
  readonly line: number;
  readonly sent: readonly string[];
  readonly expected: readonly string[];
}

/** Reads a script: `>` or `$` lines, then `<` lines, then the next step; `#` and blank lines say nothing. */
function parse(text: string): Step[] {
  const steps: { kind: '>' | '$'; line: number; sent: string[]; expected: string[] }[] = [];
  text.split('\n').forEach((each, index) => {
    const [, mark = '', rest = ''] = /^([>$<])(?: (.*))?$/.exec(each) ?? [];
    const last = steps.at(-1);
    if (mark === '<') {
      if (last === undefined) throw new Error(`line ${index + 1} expects an answer to nothing`);
      last.expected.push(rest);
    } else if (mark === '>' || mark === '$') {
      const continued = mark === '>' && last?.kind === '>' && last.expected.length === 0;
      if (continued) last.sent.push(rest);
      else steps.push({ kind: mark, line: index + 1, sent: [rest], expected: [] });
    } else if (!/^(#.*)?$/.test(each)) throw new Error(`line ${index + 1} begins with no mark`);
  });
  return steps;
}

type Variables = Map<string, string>;

/** Puts the values of `{{name}}` into a text that is sent. */
function filled(text: string, variables: Variables): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = variables.get(name);
    if (value === undefined) throw new Error(`{{${name}}} has no value yet`);
    return value;
  });
}

/**
 * Whether a text is what a line expects. `{{name}}` is that variable's value, or takes what stands there when
 * it has none; `{{*}}` is anything.
 */
function fits(actual: string, expected: string, variables: Variables): boolean {
  const names: string[] = [];
  const pattern = expected
    .split(/(\{\{(?:\w+|\*)\}\})/)
    .map((part) => {
      const name = /^\{\{(\w+|\*)\}\}$/.exec(part)?.[1];
      if (name === undefined || variables.has(name)) return escaped(variables.get(name ?? '') ?? part);
      names.push(name);
      return '(.*?)';
    })
    .join('');
  const match = new RegExp(`^${pattern}$`, 's').exec(actual);
  if (match === null) return false;
  names.forEach((name, index) => {
    if (name !== '*') variables.set(name, match[index + 1] ?? '');
  });
  return true;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** Compares JSON; strings may hold `{{name}}`, and `"{{*}}"` is any value. */
function compare(actual: unknown, expected: unknown, variables: Variables, path: string): void {
  if (expected === '{{*}}' && actual !== undefined) return;
  if (typeof expected === 'string' && typeof actual === 'string') {
    assert.ok(fits(actual, expected, variables), `${path} is ${actual}, expected ${expected}`);
  } else if (typeof expected === 'object' && expected !== null && typeof actual === 'object') {
    assert.equal(Array.isArray(actual), Array.isArray(expected), path);
    const [found, wanted] = [actual ?? {}, expected].map((each) => new Map(Object.entries(each)));
    assert.deepEqual(
      [...(found?.keys() ?? [])].sort(),
      [...(wanted?.keys() ?? [])].sort(),
      `fields of ${path}`,
    );
    for (const [name, value] of wanted ?? []) compare(found?.get(name), value, variables, `${path}.${name}`);
  } else assert.deepEqual(actual, expected, path);
}

/** Compares a response with its status line, its fields and its body. */
function compareResponse(
  response: RawResponse,
  [status = '', ...rest]: readonly string[],
  variables: Variables,
): void {
  const body = response.body.toString();
  assert.equal(String(response.status), status, body);
  const gap = rest.indexOf('');
  const fields = gap === -1 ? rest : rest.slice(0, gap);
  const wanted = gap === -1 ? [] : rest.slice(gap + 1);
  for (const field of fields) {
    const [name = '', value = ''] = field.split(/: (.*)/s);
    const found = response.headers.get(name.toLowerCase());
    assert.ok(found !== undefined && fits(found, value, variables), `${name}: ${found ?? 'absent'}`);
  }
  if (response.headers.get('content-type') === 'application/x-ndjson') {
    const lines = body.split('\n').slice(0, -1);
    assert.equal(lines.length, wanted.length, body);
    lines.forEach((line, at) => {
      compare(JSON.parse(line), JSON.parse(wanted[at] ?? ''), variables, `line ${at + 1}`);
    });
    return;
  }
  if (/^[[{]/.test(wanted[0] ?? '')) {
    compare(JSON.parse(body), JSON.parse(wanted.join('\n')), variables, 'body');
    return;
  }
  for (const line of wanted) assert.ok(fits(body, `{{*}}${line}{{*}}`, variables), `the body lacks ${line}`);
}

/** Sends a request over a connection of its own. */
async function request(port: number, lines: readonly string[]): Promise<RawResponse> {
  const gap = lines.indexOf('');
  const [start = '', ...fields] = gap === -1 ? lines : lines.slice(0, gap);
  const body = gap === -1 ? '' : lines.slice(gap + 1).join('\n');
  const length = gap === -1 ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  const head = [`${start} HTTP/1.1`, 'Host: localhost', ...fields, ...length].join('\r\n');
  const client = await RawClient.open(port);
  const response = await client
    .send(`${head}\r\n\r\n${body}`)
    .response({ bodyless: start.startsWith('HEAD ') });
  client.destroy();
  return response;
}

/** The answer to a request, asked again where it is 503 and says when; not if that is what is wanted. */
async function answer(port: number, lines: readonly string[], wants503: boolean): Promise<RawResponse> {
  for (;;) {
    const response = await request(port, lines);
    const seconds = response.headers.get('retry-after');
    if (wants503 || response.status !== 503 || seconds === undefined) return response;
    await sleep(Number(seconds) * 1_000);
  }
}

/** Requests that the scripts made, by method and path. */
const asked = new Set<string>();

const names = readdirSync(folder).filter((name) => name.endsWith('.script'));

/** Starts a server, and says what its commands need to find its store. */
function launch() {
  const environment = {
    STORE_URL: `lmdb:${memoryFolder()}/store`,
    PUBLIC_URL: 'https://fuse.example',
    RATE_SOURCE: 'fixed:60000',
    // As on a server that sells keys: without one there are limits.
    ACCESS: 'metered',
  };
  return { environment, server: run(main, ['serve'], { ...environment, PORT: '0', WORKERS: '1' }) };
}

/** The server of the scripts that leave nothing behind and count nothing. */
const shared = launch();
const sharing = /^# It shares a server\.$/m;

for (const name of names) {
  test(name, async () => {
    const text = readFileSync(join(folder, name), 'utf8');
    const { environment, server } = sharing.test(text) ? shared : launch();
    const [, port] = await server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
    const variables: Variables = new Map();
    for (const { kind, line, sent, expected } of parse(text)) {
      const lines = sent.map((each) => filled(each, variables));
      try {
        if (kind === '>') {
          asked.add(/^\S+ [^?]+/.exec(lines[0] ?? '')?.[0] ?? '');
          compareResponse(await answer(Number(port), lines, expected[0] === '503'), expected, variables);
        } else {
          const { code, output } = await here((lines[0] ?? '').split(' '), environment);
          const said = `${output.replaceAll('\r\n', '\n')}exit ${code ?? 'by a signal'}`;
          assert.ok(fits(said, expected.join('\n'), variables), said);
        }
      } catch (error) {
        throw new Error(`${name}, line ${line}: ${String(error)}`, { cause: error });
      }
    }
    if (server === shared.server) return;
    server.child.kill('SIGTERM');
    await server.ended();
  });
}

test('the shared server ends when it is told to', async () => {
  shared.server.child.kill('SIGTERM');
  assert.equal((await shared.server.ended()).code, 0);
});

test('every route has a script', () => {
  const silent = Object.values(routes).filter(({ method, path }) => {
    const pattern = escaped(`${method} ${path}`).replaceAll(/\\\{\w+\\\}/g, '[^/]+');
    return ![...asked].some((each) => new RegExp(`^${pattern}$`).test(each));
  });
  assert.deepEqual(
    silent.map(({ method, path }) => `${method} ${path}`),
    [],
  );
});
