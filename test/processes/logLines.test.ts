/** Every line that a server writes: JSON in the log's form without a terminal, and text for people on one. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { eachLine } from '../../src/processes/children.js';
import { forPeople } from '../../src/system/log.js';
import { exchange, head } from '../support/raw.js';
import { until } from '../support/until.js';
import { freePort } from '../support/ports.js';
import { listening, memoryFolder, processesOf, run, runServer, Running } from '../support/run.js';

const command = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const linux = process.platform === 'linux';
const greeting = /^Fusegate 0\.4\.0 listens on http:\/\/0\.0\.0\.0:\d+ \(1 worker, data in [^\r]+\)\r$/m;
const renewed =
  /^\d{4}-\d\d-\d\dT[\d:.]+Z info  the settings were read again and apply now \(.*pid=\d+\)\r$/m;
const announced = /listens on http:\/\/127\.0\.0\.1:(\d+)/;

/** One line, as the log writes it. */
interface Line extends Readonly<Record<string, unknown>> {
  readonly level: number;
  readonly time: number;
  readonly pid: number;
  readonly msg: string;
}

/** The lines of an output. Each must be one. */
function linesOf({ output }: Running): Line[] {
  assert.ok(output.endsWith('\n'), `the last line ends: ${output.slice(-200)}`);
  return output
    .slice(0, -1)
    .split('\n')
    .map((text) => {
      const line = JSON.parse(text) as Line;
      const kinds = [typeof line.level, typeof line.time, typeof line.pid, typeof line.msg];
      assert.deepEqual(kinds, ['number', 'number', 'number', 'string'], text);
      return line;
    });
}

/** The only line with a message. */
function lineOf(server: Running, message: string | RegExp): Line {
  const found = linesOf(server).filter(({ msg }) =>
    typeof message === 'string' ? msg === message : message.test(msg),
  );
  assert.equal(found.length, 1, `${String(message)} in:\n${server.output}`);
  return found[0] as Line;
}

/** What a process does at SIGUSR2: the words of a file, one at each signal. */
const provoked = `
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
const { open } = createRequire(${JSON.stringify(import.meta.url)})('lmdb');
const acts = {
  warn: () => process.emitWarning('a warning of the test', { code: 'TEST' }),
  print: () => { console.error('printed\\n\\nby hand'); process.stdout.write('without an end'); },
  throw: () => setImmediate(() => { throw new TypeError('thrown by the test'); }),
  // A thread waits for this one until the unit ends.
  unit: () => open({ path: process.env.TEST_ACT + '.mdb' }).transaction(() => new Promise(() => {
    setImmediate(() => { throw new Error('thrown within a unit by the test'); });
  })),
  reject: () => void Promise.reject(new Error('rejected by the test')),
  abort: () => process.abort(),
};
process.on('SIGUSR2', () => acts[readFileSync(process.env.TEST_ACT, 'utf8')]());
`;

/** A server whose processes can be provoked: `act` has one of them do a thing. */
async function provocable() {
  const folder = memoryFolder();
  const [preload, file] = [join(folder, 'preload.mjs'), join(folder, 'act')];
  writeFileSync(preload, provoked);
  const server = run(command, ['serve'], {
    ...{ PORT: '0', WORKERS: '1', STORE_URL: `lmdb:${folder}/data/store`, EMBED_CACHE_MB: '1' },
    ...{ NODE_OPTIONS: `--import=${pathToFileURL(preload).href}`, TEST_ACT: file },
  });
  const [, port] = await server.prints(announced);
  const answers = async (): Promise<boolean> => {
    const answer = await exchange(Number(port), head('GET', '/health')).catch(() => undefined);
    return answer?.status === 200;
  };
  const act = (pid: number, what: string): void => {
    writeFileSync(file, what);
    process.kill(pid, 'SIGUSR2');
  };
  const worker = (): number => processesOf(server)[1] ?? 0;
  return { server, act, worker, answers };
}

describe('a server without a terminal', () => {
  test('writes only JSON: start, new settings, take-over and end', { skip: !linux }, async () => {
    const folder = memoryFolder();
    const environment = {
      ...{ PORT: '0', WORKERS: '2', DOOR_PORT: String(await freePort()), EMBED_CACHE_MB: '1' },
      ...{ STORE_URL: `lmdb:${folder}/store`, LOG_LEVEL: 'debug', LOGLEVEL: 'info' },
    };
    const first = run(command, ['serve'], environment);
    const [, port = ''] = await first.prints(announced);
    // The last line of a start.
    await first.prints(/"Access open: /);
    const start = lineOf(first, /listens on/);
    const { level, pid, address, workers } = start;
    assert.deepEqual([level, pid, address, workers], [30, first.pid, `http://127.0.0.1:${port}`, 2]);
    lineOf(first, /^Fragment door on http:/);
    assert.equal(lineOf(first, /^LOGLEVEL is not read; did you mean LOG_LEVEL/).level, 40);
    await exchange(Number(port), head('GET', '/health'));
    first.child.kill('SIGHUP');
    await first.prints(/the settings were read again and apply now/);
    const second = run(command, ['serve', '--take-over'], environment);
    await second.prints(announced);
    await first.ended();
    second.child.kill('SIGTERM');
    assert.deepEqual(await second.ended(), { code: 0, signal: null }, second.output);
    assert.ok(linesOf(first).some(({ msg }) => msg.includes('asks to take over')));
    assert.ok(linesOf(first).some((line) => line['route'] === 'health'));
    lineOf(second, /listens on/);
  });

  test('that cannot start says in one object what is wrong, and in another why', async () => {
    const wrong = run(command, ['serve'], { PORT: 'x', WORKERS: '-1', LOG_LEVEL: 'silent' });
    assert.equal((await wrong.ended()).code, 1);
    const { level, errors } = lineOf(wrong, 'Fusegate cannot start with this configuration');
    assert.equal(level, 60);
    assert.deepEqual(
      (errors as string[]).map((error) => error.slice(0, 12)),
      ['PORT must be', 'WORKERS must'],
    );
    const STORE_URL = `lmdb:${memoryFolder()}/store`;
    const first = run(command, ['serve'], { PORT: '0', WORKERS: '1', STORE_URL });
    await first.prints(announced);
    const second = run(command, ['serve'], { PORT: '0', WORKERS: '1', STORE_URL });
    assert.equal((await second.ended()).code, 1);
    assert.equal(lineOf(second, new RegExp(`in use by process ${first.pid}\\.`)).level, 60);
  });

  test('turns warnings, prints, errors and aborts of a worker into lines', { skip: !linux }, async () => {
    const { server, act, worker, answers } = await provocable();
    const pid = worker();
    act(pid, 'warn');
    await server.prints(/a warning of the test/);
    const warning = lineOf(server, 'a warning of the test');
    assert.deepEqual([warning.level, warning.pid], [40, pid]);
    assert.equal((warning['err'] as { code: string }).code, 'TEST');
    act(pid, 'print');
    await server.prints(/by hand/);
    assert.deepEqual([lineOf(server, 'printed')['workerPid'], lineOf(server, 'by hand').level], [pid, 50]);
    for (const [what, how] of [
      ['throw', 'exit code 1'],
      ['unit', 'exit code 1'],
      ['reject', 'exit code 1'],
      ['abort', 'SIGABRT'],
    ] as const) {
      const before = worker();
      act(before, what);
      await server.prints(new RegExp(`"workerPid":${before},"how":"${how}".*a worker ended and is replaced`));
      await until(answers);
    }
    server.child.kill('SIGTERM');
    assert.equal((await server.ended()).code, 0);
    lineOf(server, 'without an end');
    const fatal = linesOf(server).filter(({ level }) => level === 60);
    assert.deepEqual(
      fatal.map(({ err }) => (err as Error).message),
      ['thrown by the test', 'thrown within a unit by the test', 'rejected by the test'],
    );
  });

  test('turns warnings and errors of its parent into lines, and ends with 1', { skip: !linux }, async () => {
    const { server, act } = await provocable();
    act(server.pid, 'warn');
    await server.prints(/a warning of the test/);
    assert.equal(lineOf(server, 'a warning of the test').pid, server.pid);
    act(server.pid, 'throw');
    assert.deepEqual(await server.ended(), { code: 1, signal: null });
    const { pid, err } = lineOf(server, 'an error that nothing caught ends this process');
    assert.equal(pid, server.pid);
    assert.match((err as Error).stack ?? '', /^TypeError: thrown by the test\n +at /);
  });

  test('turns what the embedder prints into lines', { skip: !linux }, async () => {
    const folder = memoryFolder();
    const preload = join(folder, 'preload.mjs');
    writeFileSync(preload, "if (process.argv[2] === 'embedder') console.error('printed by the embedder');\n");
    const server = runServer({ NODE_OPTIONS: `--import=${pathToFileURL(preload).href}` });
    const { port } = await listening(server);
    await exchange(port, head('GET', '/embed?texts=1'));
    await server.prints(/"embedderPid":\d+,"stream":"stderr","msg":"printed by the embedder"/);
  });
});

describe('a server at a terminal', () => {
  const script = spawnSync('script', ['--version'], { stdio: 'ignore' }).status === 0;

  test('writes for people', { skip: script ? false : 'script (util-linux) makes the terminal' }, async () => {
    const folder = memoryFolder();
    const env = {
      ...{ PATH: process.env['PATH'], STORE_URL: `lmdb:${folder}/store`, PORT: '0', WORKERS: '1' },
      ...{ HOST: '0.0.0.0', LOGLEVEL: 'info' },
    };
    const words = `exec '${process.execPath}' '${command}' serve`;
    const args = ['--quiet', '--return', '--flush', '--command', words, '/dev/null'];
    const server = new Running('script', args, { env });
    await server.prints(greeting);
    await server.prints(/^Access open: [^\r]+\r$/m);
    assert.match(server.output, /^Warning: LOGLEVEL is not read; did you mean LOG_LEVEL\?\r$/m);
    const [pid = 0] = processesOf(server).slice(1);
    process.kill(pid, 'SIGHUP');
    await server.prints(renewed);
    assert.doesNotMatch(server.output, /^\{/m);
    process.kill(pid, 'SIGTERM');
    assert.equal((await server.ended()).code, 0, server.output);
  });

  test('writes JSON where LOG_FORMAT says so, and text into a pipe', async () => {
    const refused = run(command, ['serve'], { PORT: 'x', LOG_FORMAT: 'text' });
    await refused.ended();
    assert.match(
      refused.output,
      /^Fusegate cannot start with this configuration:\n {2}PORT must be [^\n]+\n$/,
    );
    const unknown = run(command, ['serve'], { LOG_FORMAT: 'xml' });
    await unknown.ended();
    assert.match(String(linesOf(unknown)[0]?.['errors']), /LOG_FORMAT must be one of auto, json, text/);
  });
});

test('a line for people has the facts, and the stack of an error below it', () => {
  const at = { level: 50, time: 0, pid: 7 };
  const shown = forPeople(
    JSON.stringify({ ...at, how: 'SIGKILL', livedMs: 12, list: [1], msg: 'worker ended' }),
  );
  assert.equal(
    shown,
    '1970-01-01T00:00:00.000Z error worker ended (how=SIGKILL, livedMs=12, list=[1], pid=7)',
  );
  const err = { type: 'TypeError', message: 'no', stack: 'TypeError: no\n    at x', code: 'E' };
  assert.equal(
    forPeople(JSON.stringify({ ...at, level: 60, err, msg: 'ended' })),
    `1970-01-01T00:00:00.000Z fatal ended (type=TypeError, message=no, code=E, pid=7)\n${err.stack}`,
  );
});

test('lines arrive whole from any pieces, and an overlong line in parts', async () => {
  const from = new PassThrough();
  const lines: string[] = [];
  eachLine(from, (line) => lines.push(line));
  const bytes = Buffer.from(`é\n\n \nb\r\n${'c'.repeat(40_000)}\nlast`);
  for (let at = 0; at < bytes.length; at += 7) from.write(bytes.subarray(at, at + 7));
  from.end();
  await once(from, 'end');
  assert.deepEqual(lines.slice(0, 2), ['é', 'b\r']);
  assert.deepEqual(
    lines.slice(2, -1).map(({ length }) => length),
    [16_384, 16_384, 7_232],
  );
  assert.equal(lines.at(-1), 'last');
});
