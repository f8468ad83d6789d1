/** The Merkle tree of RFC 6962, section 2.1, by its definitions over all entries. */
import { createHash } from 'node:crypto';

const hash = (prefix: number, ...parts: readonly Uint8Array[]): Buffer =>
  createHash('sha256')
    .update(Buffer.concat([Buffer.of(prefix), ...parts]))
    .digest();

/** MTH(D[n]). */
export function naiveRoot(entries: readonly Uint8Array[]): Buffer {
  const [first] = entries;
  if (first === undefined) return createHash('sha256').digest();
  if (entries.length === 1) return hash(0, first);
  let k = 1;
  while (2 * k < entries.length) k *= 2;
  return hash(1, naiveRoot(entries.slice(0, k)), naiveRoot(entries.slice(k)));
}
