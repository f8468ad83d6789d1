/** A real Chromium for page tests, and a plain server to show it pages. */
import { existsSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import { type Browser, chromium } from 'playwright-core';
import type { Answer } from '../../src/contract/exchange.js';

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** False, or why page tests cannot run. */
export const skipBrowser = existsSync(executablePath)
  ? false
  : `${executablePath} is not installed. Run: apt-get install chromium`;

/** Starts the browser. */
export function launch(): Promise<Browser> {
  const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
  return chromium.launch({ executablePath, args: ['--no-sandbox', ...quiet] });
}

/** Serves what `answer` gives for a path on a free port. */
export async function serve(answer: (path: string) => Answer): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    const { status, body, headers = {} } = answer((request.url ?? '/').split('?')[0] ?? '/');
    const [type, bytes] =
      'json' in body ? ['application/json', JSON.stringify(body.json)] : [body.type, body.bytes];
    response.writeHead(status, { ...headers, 'content-type': type }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return { server, url: `http://127.0.0.1:${address.port}` };
}
