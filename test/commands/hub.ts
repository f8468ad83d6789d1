/**
 * A hub of models for the tests, as Hugging Face's answers: files by commit, large ones redirected to another
 * path with their SHA-256, ranges, and what can go wrong on the way.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { after } from 'node:test';

/** What can go wrong. */
export interface Trouble {
  /** Cuts the connection after so many bytes of a file, this many times. */
  readonly cut?: { readonly file: string; readonly afterBytes: number; times: number };
  /** Names another digest for a file than it has. */
  readonly wrongDigest?: string;
  /** Answers with a status instead of a file, this many times. */
  readonly status?: { readonly file: string; readonly status: number; times: number };
}

/** A hub that listens. */
export interface Hub {
  readonly address: string;
  readonly trouble: Trouble;
  /** Requests: path, and the range where one was asked for. */
  readonly asked: readonly string[];
  /** The commit that `main` is. */
  commit: string;
  files: Map<string, Buffer>;
}

const LARGE = 100_000;

function digestOf(bytes: Buffer): string {
  if (bytes.byteLength > LARGE) return createHash('sha256').update(bytes).digest('hex');
  return createHash('sha1').update(`blob ${bytes.byteLength}\0`).update(bytes).digest('hex');
}

/** Sends a file or the range of it that is asked for, and cuts it where that is wanted. */
function send(
  request: IncomingMessage,
  response: ServerResponse,
  file: string,
  bytes: Buffer,
  { cut }: Trouble,
): void {
  const { range, 'if-range': condition } = request.headers;
  const etag = `"${digestOf(bytes)}"`;
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
  const partial = range !== undefined && condition === etag && from < bytes.byteLength;
  const start = partial ? from : 0;
  response.writeHead(partial ? 206 : 200, {
    etag,
    'accept-ranges': 'bytes',
    'content-length': bytes.byteLength - start,
    ...(partial ? { 'content-range': `bytes ${start}-${bytes.byteLength - 1}/${bytes.byteLength}` } : {}),
  });
  if (cut?.file !== file || cut.times === 0) {
    response.end(bytes.subarray(start));
    return;
  }
  cut.times -= 1;
  response.write(bytes.subarray(start, start + cut.afterBytes), () => response.destroy());
}

/** Starts a hub with one model, `acme/tiny`. */
export async function startHub(
  files: Readonly<Record<string, Buffer | string>>,
  trouble: Trouble = {},
): Promise<Hub> {
  const asked: string[] = [];
  const hub = {
    address: '',
    trouble,
    asked,
    commit: 'c0ffee',
    files: new Map(Object.entries(files).map(([name, content]) => [name, Buffer.from(content)])),
  };
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(`${path}${request.headers.range === undefined ? '' : ` ${request.headers.range}`}`);
    const [, where, file = ''] = /^\/(?:acme\/tiny\/resolve\/[^/]+|(cdn)|plain)\/(.+)$/.exec(path) ?? [];
    const bytes = hub.files.get(file);
    if (bytes === undefined) {
      response.writeHead(404, { 'x-repo-commit': hub.commit }).end('Entry not found');
      return;
    }
    if (trouble.status?.file === file && trouble.status.times > 0) {
      trouble.status.times -= 1;
      response.writeHead(trouble.status.status).end();
      return;
    }
    if (where === undefined && !path.startsWith('/plain/')) {
      const digest = trouble.wrongDigest === file ? '0'.repeat(64) : digestOf(bytes);
      response.setHeader('x-repo-commit', hub.commit);
      response.setHeader('x-linked-etag', `"${digest}"`);
      if (bytes.byteLength > LARGE) {
        response.writeHead(302, { location: `/cdn/${file}` }).end();
        return;
      }
    }
    send(request, response, file, bytes, trouble);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  const bound = server.address();
  hub.address = `http://127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`;
  return hub;
}
