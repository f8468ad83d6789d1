/** A server that refuses and redirects what clients ask of it, and notes what they sent. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** Answers of programs between client and server: every one is an error of the client's own. */
export const foreign: readonly (readonly [status: number, body: string])[] = [
  [404, 'null'],
  [404, '"no"'],
  [404, '{"detail":["no"]}'],
  [404, '{"detail":[{"msg":"no"}]}'],
  [404, '<p>no</p>'],
  [200, '<p>Sign in</p>'],
];

/** The requests received since they were last taken. */
export interface Noted {
  /** Keys of the submissions; every first one is refused, and asked to come again at once. */
  readonly keys: (string | undefined)[];
  /** Requests that were redirected. */
  readonly redirected: string[];
  /** Requests at the address that redirections name. */
  readonly followed: string[];
}

/** Answers to the first PUT or DELETE of a profile, by the end of its name; each further one gets a 404. */
const firstAnswers: Readonly<Record<string, readonly [status: number, code: string]>> = {
  limited: [429, 'rate_limited'],
  overloaded: [503, 'overloaded'],
  reserved: [503, 'storage_reserved'],
  unavailable: [503, 'store_unavailable'],
  proxied: [503, 'error'],
  gateway: [502, 'error'],
};

/** Answers a write to a profile; some names get no answer. */
function answerWrite(profile: string, isFirst: boolean, response: ServerResponse): void {
  const name = profile.replace(/^.*_/, '');
  if (isFirst && name === 'slow') return;
  if (isFirst && name === 'closed') {
    response.destroy();
    return;
  }
  const [status, code] = (isFirst ? firstAnswers[name] : undefined) ?? [404, 'profile_not_found'];
  response.writeHead(status, { 'retry-after': '0' });
  response.end(JSON.stringify({ detail: 'No.', code }));
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Notes a submission's key; true for every first one. */
async function submitted(request: IncomingMessage, { keys }: Noted): Promise<boolean> {
  const { idempotency_key: key } = (await json(request)) as { readonly idempotency_key?: string };
  keys.push(key);
  return keys.length % 2 === 1;
}

/** Starts it; its address, and what it notes. */
export async function startRefusing(): Promise<{
  readonly base: string;
  readonly noted: Noted;
  readonly close: () => void;
}> {
  const noted: Noted = { keys: [], redirected: [], followed: [] };
  const other = createServer((request, response) => {
    noted.followed.push(`${request.method ?? ''} ${request.url ?? ''}`);
    request.resume();
    response.end('{}');
  });
  const elsewhere = await listening(other);
  let answered = 0;
  const writes = new Set<string>();
  const refusing = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    const { method = '', url = '' } = request;
    if (url.startsWith('/moved/')) {
      request.resume();
      noted.redirected.push(`${method} ${url}`);
      response.writeHead(307, { location: `${elsewhere}${url}` }).end();
      return;
    }
    const [, profile] = /^\/v1\/profiles\/((?:python|typescript)_\w+)$/.exec(url) ?? [];
    if (profile !== undefined) {
      const write = `${method} ${profile}`;
      answerWrite(profile, !writes.has(write), response);
      writes.add(write);
      return;
    }
    if (url === '/v1/normalize') {
      response.writeHead(429, { 'retry-after': '86400' });
      response.end('{"detail":"Tomorrow.","code":"rate_limited"}');
      return;
    }
    if (url === '/v2/rerank') {
      const [status, body] = foreign[answered % foreign.length] ?? [500, ''];
      answered += 1;
      response.writeHead(status).end(body);
      return;
    }
    void submitted(request, noted).then((isFirst) => {
      if (isFirst) {
        response.writeHead(503, { 'retry-after': '0' });
        response.end('{"detail":"Not now.","code":"overloaded"}');
        return;
      }
      const answer = { receipt: 'fr_second', status: 'quarantined', retrieval_verified: true };
      response.end(JSON.stringify({ ...answer, stored_envelope_sha256: '' }));
    });
  });
  const base = await listening(refusing);
  const close = (): void => {
    for (const server of [refusing, other]) {
      server.close();
      server.closeAllConnections();
    }
  };
  return { base, noted, close };
}
