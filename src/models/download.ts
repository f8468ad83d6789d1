/**
 * Downloads of large files (RFC 9110, ranges). If the connection is cut, the received part stays, and the
 * next attempt or the next run continues from there.
 */
import { createHash } from 'node:crypto';
import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import type { Clock } from '../system/clock.js';
import { reasonOf } from '../system/reason.js';
import { fileSha256 } from './modelFolder.js';

/** Dependencies of downloads. */
export interface DownloadParts {
  readonly fetch: typeof fetch;
  readonly clock: Pick<Clock, 'after' | 'sleep'>;
  /** Called with the bytes received so far and the total (0: unknown). */
  readonly onProgress: (bytes: number, total: number) => void;
}

/** Outcome of a download. */
export type Downloaded =
  | { readonly kind: 'done'; readonly commit: string | undefined }
  /** There is no such file. */
  | { readonly kind: 'absent' }
  /** `reason` is a sentence. The received part stays unless it is wrong. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Outcome of an attempt: also that the connection was cut, or the server was busy. */
type Attempted = Downloaded | { readonly kind: 'again'; readonly reason: string };

const ATTEMPTS = 5;
const firstPauseMs = 500;

/** Longest silence of a server (ms). */
const silenceMs = 30_000;

const MOST_REDIRECTS = 5;

/** Facts about a file from a hub's answer before its redirect: the SHA-256 if it is large, and the commit. */
interface Told {
  readonly response: Response;
  readonly linkedEtag: string | null;
  readonly commit: string | null;
}

/**
 * Fetches a URL and follows its redirects one by one; otherwise the first answer's header fields are lost.
 */
async function follow(
  url: string,
  headers: Record<string, string>,
  signal: AbortSignal,
  parts: DownloadParts,
) {
  let [at, linkedEtag, commit]: [string, string | null, string | null] = [url, null, null];
  for (let count = 0; count <= MOST_REDIRECTS; count += 1) {
    const response = await parts.fetch(at, { headers, signal, redirect: 'manual' });
    linkedEtag ??= response.headers.get('x-linked-etag');
    commit ??= response.headers.get('x-repo-commit');
    const location = response.headers.get('location');
    if (response.status < 300 || response.status > 399 || location === null) {
      return { response, linkedEtag, commit } satisfies Told;
    }
    await response.body?.cancel();
    at = new URL(location, at).href;
  }
  throw new Error(`more than ${MOST_REDIRECTS} redirects`);
}

/** The received part of a file: its length, and the ETag that it belongs to. */
async function received(part: string): Promise<{ readonly bytes: number; readonly etag: string }> {
  try {
    return { bytes: (await stat(part)).size, etag: await readFile(`${part}.etag`, 'utf8') };
  } catch {
    return { bytes: 0, etag: '' };
  }
}

async function discard(part: string): Promise<void> {
  await rm(part, { force: true });
  await rm(`${part}.etag`, { force: true });
}

/** Start and total length in a 206 answer; undefined if absent. */
function rangeOf(response: Response): { readonly start: number; readonly total: number } | undefined {
  const [, start, total] = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get('content-range') ?? '') ?? [];
  return start === undefined || total === undefined
    ? undefined
    : { start: Number(start), total: Number(total) };
}

/** Appends an answer's body; resolves to the length of the file. */
async function write(
  response: Response,
  part: string,
  start: number,
  total: number,
  parts: DownloadParts,
  heard: () => void,
) {
  const file = await open(part, start === 0 ? 'w' : 'a');
  let bytes = start;
  try {
    for await (const piece of response.body ?? []) {
      heard();
      await file.write(piece as Uint8Array);
      bytes += (piece as Uint8Array).byteLength;
      parts.onProgress(bytes, total);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return bytes;
}

/** True for a status that may be temporary. */
function passes(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

async function attempt(url: string, path: string, parts: DownloadParts): Promise<Attempted> {
  const part = `${path}.part`;
  const have = await received(part);
  const resumes = have.bytes > 0 && have.etag !== '';
  const range = resumes ? { range: `bytes=${have.bytes}-`, 'if-range': have.etag } : {};
  const silence = new AbortController();
  let timer = parts.clock.after(silenceMs, () => silence.abort(new Error('the server fell silent')));
  const heard = (): void => {
    timer.stop();
    timer = parts.clock.after(silenceMs, () => silence.abort(new Error('the server fell silent')));
  };
  try {
    // A content coding would have lengths and ranges of its own.
    const headers = { 'accept-encoding': 'identity', ...range };
    const told = await follow(url, headers, silence.signal, parts);
    return await take(told, url, path, have.bytes, parts, heard);
  } catch (error) {
    return { kind: 'again', reason: `${url} could not be read to its end (${reasonOf(error)}).` };
  } finally {
    timer.stop();
  }
}

/** Reads an answer to its end. */
async function take(
  { response, linkedEtag, commit }: Told,
  url: string,
  path: string,
  have: number,
  parts: DownloadParts,
  heard: () => void,
): Promise<Attempted> {
  const part = `${path}.part`;
  const { status, headers } = response;
  const range = status === 206 ? rangeOf(response) : undefined;
  if (status === 416 || (status === 206 && range?.start !== have)) {
    await response.body?.cancel();
    await discard(part);
    return { kind: 'again', reason: `${url} is not what it was when its download began.` };
  }
  if (status !== 200 && status !== 206) {
    await response.body?.cancel();
    if (status === 404) return { kind: 'absent' };
    const failed = `${url} answers with status ${status}.`;
    return { kind: passes(status) ? 'again' : 'failed', reason: failed };
  }
  const etag = headers.get('etag') ?? '';
  // A weak ETag does not guarantee identical bytes.
  if (status === 200) await writeFile(`${part}.etag`, etag.startsWith('W/') ? '' : etag);
  const total = range?.total ?? Number(headers.get('content-length') ?? 0);
  const bytes = await write(response, part, range?.start ?? 0, total, parts, heard);
  if (total > 0 && bytes !== total) {
    return { kind: 'again', reason: `${url} ended after ${bytes} of ${total} bytes.` };
  }
  const wrong = await wrongDigest(part, commit === null ? linkedEtag : (linkedEtag ?? etag));
  if (wrong !== undefined) {
    await discard(part);
    return {
      kind: 'failed',
      reason: `${url} ${wrong}; what was received is removed. Run the command again.`,
    };
  }
  await rename(part, path);
  await discard(part);
  return { kind: 'done', commit: commit ?? undefined };
}

/**
 * A sentence if a file does not match its hub's ETag: the SHA-256 of a large file (Git LFS), the SHA-1 of a
 * Git blob for others.
 */
async function wrongDigest(path: string, etag: string | null): Promise<string | undefined> {
  const named = /^"?([0-9a-f]+)"?$/.exec(etag ?? '')?.[1] ?? '';
  if (named.length === 64) {
    return (await fileSha256(path)) === named ? undefined : 'does not have the SHA-256 that its hub names';
  }
  if (named.length !== 40) return undefined;
  const bytes = await readFile(path);
  const blob = createHash('sha1').update(`blob ${bytes.byteLength}\0`).update(bytes).digest('hex');
  return blob === named ? undefined : 'has not the Git digest that its hub names';
}

/**
 * Downloads a URL to a path, in several attempts if needed; until it is complete, to that path plus `.part`.
 */
export async function download(url: string, path: string, parts: DownloadParts): Promise<Downloaded> {
  for (let count = 1; ; count += 1) {
    const outcome = await attempt(url, path, parts);
    if (outcome.kind !== 'again') return outcome;
    if (count === ATTEMPTS) return { kind: 'failed', reason: outcome.reason };
    await parts.clock.sleep(firstPauseMs * 2 ** (count - 1));
  }
}
