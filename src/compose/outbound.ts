/** Requests to other servers: pages of prices and receipts, files of a log, and its witnesses. */
import type { Post } from '../log/witnessing.js';

/** Time limit for a page's answer (ms). */
const pageMs = 3_000;

/** Time limit for a file (ms). */
const fileMs = 30_000;

/** Fetches a page; rejects if its status is not 200 or it takes too long. */
export async function getPage(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(pageMs), redirect: 'error' });
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  return response.text();
}

/** Fetches the bytes of a file; rejects if its status is not 200 or it takes too long. */
export async function getBytes(url: string): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(fileMs), redirect: 'error' });
  if (response.status !== 200) throw new Error(`status ${response.status} of ${url}`);
  return Buffer.from(await response.arrayBuffer());
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
