/** What is fetched from other servers: pages of prices and receipts, and files of a log. */

/** Time that a page's server has for its answer (ms). */
const pageMs = 3_000;

/** Time that a server has for a file (ms). */
const fileMs = 30_000;

/** Gets a page; rejects where its status is not 200 or it takes too long. */
export async function getPage(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(pageMs), redirect: 'error' });
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  return response.text();
}

/** Gets the bytes of a file; rejects where its status is not 200 or it takes too long. */
export async function getBytes(url: string): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(fileMs), redirect: 'error' });
  if (response.status !== 200) throw new Error(`status ${response.status} of ${url}`);
  return Buffer.from(await response.arrayBuffer());
}
