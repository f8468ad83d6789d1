/** Requests to other servers: pages of prices and receipts, files of a log, and its witnesses. */
import type { Post } from '../log/witnessing.js';

/** Time limit for a page's answer (ms), and the largest page of prices that is read (bytes). */
const pageMs = 3_000;
const pageBytes = 262_144;

/**
 * Time limit for a file (ms), and the largest file of a log, or receipt, that is read (bytes). A tile or a
 * bundle of entries has less than 9 kB; a checkpoint grows with its cosignatures, of about 100 bytes each.
 */
const fileMs = 30_000;
const fileBytes = 1_048_576;

/** Reads a body up to `most` bytes. They are counted decompressed: a small answer can stand for gigabytes. */
async function bodyOf(response: Response, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of response.body ?? []) {
    const bytes = piece as Uint8Array;
    length += bytes.byteLength;
    if (length > most) throw new Error(`its answer has more than ${most / 1_024} KiB`);
    pieces.push(bytes);
  }
  return Buffer.concat(pieces);
}

/** Fetches a page of prices; rejects if its status is not 200, it takes too long or is too large. */
export async function getPage(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(pageMs), redirect: 'error' });
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  return (await bodyOf(response, pageBytes)).toString();
}

/** Fetches the bytes of a file; rejects if its status is not 200, it takes too long or is too large. */
export async function getBytes(url: string): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(fileMs), redirect: 'error' });
  if (response.status !== 200) throw new Error(`status ${response.status} of ${url}`);
  return bodyOf(response, fileBytes);
}

/** Time limit of a witness' answer (ms), and the largest answer that is read (bytes). */
const witnessMs = 2_000;
const witnessBytes = 16_384;

/** Posts a text to a witness; rejects if its answer takes too long or is too large. */
export const post: Post = async (url, body) => {
  const options = {
    method: 'POST',
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(witnessMs),
  } as const;
  const response = await fetch(url, { ...options, headers: { 'content-type': 'text/plain' } });
  let text = '';
  const decoder = new TextDecoder();
  for await (const piece of response.body ?? []) {
    text += decoder.decode(piece as Uint8Array, { stream: true });
    if (text.length > witnessBytes) throw new Error('its answer is too large');
  }
  return { status: response.status, body: text };
};
