/** Headers of Bitcoin blocks, their proof of work, and the path from a transaction to a Merkle root. */
import { sha256, type Step } from './timestampFile.js';

/** Bytes of a block header. */
export const headerBytes = 80;

/** A header whose hash is below its own target. */
export interface BlockHeader {
  /** The hash in the byte order of nodes and explorers, in hex. */
  readonly hash: string;
  readonly merkleRoot: Buffer;
  /** Time by its miner (s since 1970); the rules of the chain allow an error of up to two hours. */
  readonly timeS: number;
  /** Average number of hashes to find a block of this target. */
  readonly work: bigint;
}

function littleEndian(bytes: Buffer): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
}

/** The target of a header's `bits`; undefined if they are invalid. */
function targetOf(bits: number): bigint | undefined {
  const [exponent, mantissa] = [bits >>> 24, BigInt(bits & 0x7f_ff_ff)];
  const target = mantissa << (8n * (BigInt(exponent) - 3n));
  const isNegative = (bits & 0x80_00_00) !== 0;
  return isNegative || target >= 2n ** 256n ? undefined : target;
}

/** Reads a header; `wrong` is a sentence part. */
export function readHeader(bytes: Buffer): BlockHeader | { readonly wrong: string } {
  if (bytes.byteLength !== headerBytes) return { wrong: `is not of ${headerBytes} bytes` };
  const target = targetOf(bytes.readUInt32LE(72));
  const hash = sha256(sha256(bytes));
  if (target === undefined || littleEndian(hash) > target) return { wrong: 'has no proof of work' };
  return {
    hash: Buffer.from(hash).reverse().toString('hex'),
    merkleRoot: Buffer.from(bytes.subarray(36, 68)),
    timeS: bytes.readUInt32LE(68),
    work: 2n ** 256n / (target + 1n),
  };
}

const hashTwice: readonly Step[] = [{ kind: 'sha256' }, { kind: 'sha256' }];

/**
 * The steps from a transaction to the Merkle root of its block, beginning with the transaction's own hash.
 * `txids`: the hashes of the block's transactions in order; `at`: its index.
 */
export function merkleSteps(txids: readonly Buffer[], at: number): Step[] {
  const steps: Step[] = [...hashTwice];
  let [level, place] = [txids, at];
  while (level.length > 1) {
    // The last of an odd number is paired with itself.
    const pairs = Array.from({ length: Math.ceil(level.length / 2) }, (_, pair) => {
      const left = level[2 * pair] ?? Buffer.alloc(0);
      return [left, level[2 * pair + 1] ?? left] as const;
    });
    const [left, right] = pairs[Math.floor(place / 2)] ?? [Buffer.alloc(0), Buffer.alloc(0)];
    const isLeft = place % 2 === 0;
    steps.push({ kind: isLeft ? 'append' : 'prepend', bytes: isLeft ? right : left }, ...hashTwice);
    level = pairs.map((pair) => sha256(sha256(Buffer.concat(pair))));
    place = Math.floor(place / 2);
  }
  return steps;
}
