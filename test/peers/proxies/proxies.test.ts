/** The proxies of examples/proxies, as they are installed: a body is passed on only when it is complete. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../support/ports.js';
import { temporaryFolder } from '../../support/run.js';
import { peersRequired } from '../required.js';
import { until } from '../../support/until.js';

const folder = temporaryFolder();

/** What came to the server behind the proxies: requests that began, and the bytes of whole ones. */
const begun = new Set<string>();
const whole = new Map<string, number>();

const upstream = createServer({ maxHeaderSize: 128 << 10 }, (request: IncomingMessage, response) => {
  const path = request.url ?? '';
  begun.add(path);
  let bytes = 0;
  request.on('data', (chunk: Buffer) => (bytes += chunk.length));
  request.on('end', () => {
    whole.set(path, bytes);
    response.end(request.headers['x-forwarded-for'] ?? 'nobody');
  });
});

before(async () => {
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
});
after(() => {
  upstream.close();
  // Proxies keep connections to it, which would keep this process.
  upstream.closeAllConnections();
});

/** An example with the ports of this run. */
function configured(name: string, port: number): string {
  const { port: behind } = upstream.address() as AddressInfo;
  const host = '127.0.0.1';
  return readFileSync(`examples/proxies/${name}`, 'utf8')
    .replaceAll(`${host}:8080`, `${host}:${behind}`)
    .replaceAll(`${host}:80`, `${host}:${port}`);
}

interface Proxy {
  readonly name: string;
  /** Prints its version. */
  readonly version: readonly [string, ...string[]];
  /** Its configuration's setting that has it wait for the whole body, and one that has it not wait. */
  readonly waits: readonly [string, string];
  /** Memory that it holds for a body; absent where a body waits on its disk. */
  readonly holdsMiB?: number;
  /** Writes the configuration for a port into a folder; the command that runs it. */
  readonly command: (port: number, own: string, change: (text: string) => string) => readonly string[];
}

const proxies: readonly Proxy[] = [
  {
    name: 'nginx',
    version: ['nginx', '-v'],
    waits: ['proxy_request_buffering on', 'proxy_request_buffering off'],
    command(port, own, change) {
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const temporary = paths.map((each) => `${each}_temp_path ${own}/${each};`).join(' ');
      const http = `http { access_log off; ${temporary}\n${change(configured('nginx.conf', port))}}`;
      const user = process.geteuid?.() === 0 ? 'user root; ' : '';
      // One process: nothing is left of it once it is killed.
      const alone = 'daemon off; master_process off; error_log stderr;';
      writeFileSync(join(own, 'nginx.conf'), `${user}${alone} pid ${own}/pid;\nevents {}\n${http}\n`);
      return ['nginx', '-p', own, '-c', join(own, 'nginx.conf')];
    },
  },
  {
    name: 'HAProxy',
    version: ['haproxy', '-v'],
    waits: ['option http-buffer-request', 'no option http-buffer-request'],
    holdsMiB: 2,
    command(port, own, change) {
      writeFileSync(join(own, 'haproxy.cfg'), change(configured('haproxy.cfg', port)));
      return ['haproxy', '-db', '-f', join(own, 'haproxy.cfg')];
    },
  },
  {
    name: 'Caddy',
    version: ['caddy', 'version'],
    waits: ['buffer_requests\n\t\tmax_buffer_size 2MiB', 'flush_interval 1s'],
    holdsMiB: 2,
    command(port, own, change) {
      const found = spawnSync('caddy', ['version'], { encoding: 'utf8' }).stdout;
      const [, minor = '0'] = /2\.(\d+)/.exec(found) ?? [];
      const buffers = Number(minor) < 7 ? '$&' : '\t\trequest_buffers 2MiB';
      const text = change(configured('Caddyfile', port))
        .replace('http://:80', `http://:${port}`)
        .replace(/^\t\tbuffer_requests\n\t\tmax_buffer_size 2MiB$/m, buffers)
        .replace(/^\{$/m, '{\n\tadmin off\n\tauto_https off');
      writeFileSync(join(own, 'Caddyfile'), text);
      return ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(own, 'Caddyfile')];
    },
  },
];

function missing({ version: [command, ...args] }: Proxy): string | false {
  const isThere = spawnSync(command, args).error === undefined;
  if (!isThere && peersRequired) throw new Error(`${command} is not installed`);
  return isThere ? false : `${command} is not installed: it is a package of Debian`;
}

/** A proxy that runs. */
interface Running {
  readonly port: number;
  readonly stop: () => Promise<void>;
  /** True once it has ended, with what it wrote. */
  readonly ended: () => string | undefined;
}

async function run(proxy: Proxy, change: (text: string) => string): Promise<Running> {
  const port = await freePort();
  const own = join(folder, `${proxy.name}-${port}`);
  mkdirSync(own);
  const [command = '', ...args] = proxy.command(port, own, change);
  const env = { PATH: process.env['PATH'] ?? '', HOME: own };
  const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (piece: Buffer) => (said += piece.toString()));
  // Asked for before it may have ended: an event that is past never comes.
  const closed = once(child, 'close');
  let isEnded = false;
  void closed.then(() => (isEnded = true));
  return {
    port,
    ended: () => (isEnded ? said : undefined),
    async stop() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Waits until the proxy answers. */
async function answers({ port, ended }: Running, path: string): Promise<string> {
  for (;;) {
    const said = ended();
    if (said !== undefined) throw new Error(`the proxy has ended:\n${said}`);
    const headers = { 'X-Forwarded-For': '203.0.113.9', Connection: 'close' };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers }).catch(() => undefined);
    const text = await answer?.text();
    if (answer?.status === 200) return text ?? '';
    await pause(20);
  }
}

const body = Buffer.alloc(1_400_000, 'a');

/** Sends the head and the first half of a body, in steps; other requests are answered in between. */
async function sendHalf(running: Running, path: string): Promise<Socket> {
  const socket = await connected(running.port);
  socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`);
  for (let step = 0; step < 10; step += 1) {
    const from = (step * body.length) / 20;
    await new Promise((sent) => socket.write(body.subarray(from, from + body.length / 20), sent));
    await answers(running, '/between');
  }
  return socket;
}

for (const proxy of proxies) {
  const { name, waits, holdsMiB } = proxy;
  describe(name, { skip: missing(proxy) }, () => {
    test('passes no part of a body of 1.4 MB on before it has all of it', async () => {
      const running = await run(proxy, (text) => text);
      try {
        const own = await answers(running, `/${name}/first`);
        assert.equal(own, '127.0.0.1', 'what a client says of itself is not passed on');
        const path = `/${name}/body`;
        const socket = await sendHalf(running, path);
        assert.ok(!begun.has(path), 'the server has heard of it');
        const answer = once(socket, 'data') as Promise<[Buffer]>;
        socket.write(body.subarray(body.length / 2));
        assert.match((await answer)[0].toString(), /^HTTP\/1\.1 200/);
        assert.equal(whole.get(path), body.length);
        socket.destroy();
      } finally {
        await running.stop();
      }
    });

    test('passes a preview of the longest fragment, whose texts are in its address', async () => {
      const running = await run(proxy, (text) => text);
      try {
        await answers(running, `/${name}/start`);
        const texts = { title: 100, content: 2000, mechanism: 1000, test: 500, visitor: 100, kind: 32 };
        const query = new URLSearchParams();
        for (const [field, most] of Object.entries(texts)) query.set(field, '\u{1f98a}'.repeat(most));
        const answer = await fetch(`http://127.0.0.1:${running.port}/${name}/preview?${query.toString()}`);
        assert.equal(answer.status, 200, await answer.text());
      } finally {
        await running.stop();
      }
    });

    // One that holds a body on its disk takes all of it.
    if (holdsMiB !== undefined) {
      test('holds no more of a long body than its buffer', async () => {
        const running = await run(proxy, (text) => text);
        try {
          await answers(running, `/${name}/short`);
          const path = `/${name}/long`;
          const socket = await connected(running.port);
          socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${64 << 20}\r\n\r\n`);
          socket.write(Buffer.alloc((holdsMiB + 1) << 20, 'a'));
          await until(() => begun.has(path));
          socket.destroy();
        } finally {
          await running.stop();
        }
      });
    }

    test('waits because of the setting in the example, and not without it', async () => {
      const running = await run(proxy, (text) => {
        assert.ok(text.includes(waits[0]));
        return text.replace(waits[0], waits[1]);
      });
      try {
        await answers(running, `/${name}/other`);
        const path = `/${name}/unbuffered`;
        const socket = await sendHalf(running, path);
        await until(() => begun.has(path));
        socket.destroy();
      } finally {
        await running.stop();
      }
    });
  });
}
