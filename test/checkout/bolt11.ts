/** Writes invoices (BOLT 11) with a key of its own, as a node does. */
import { createHash } from 'node:crypto';
import { signRecoverable } from '@bitcoinerlab/secp256k1';

/** An invoice to be written. */
export interface InvoiceWish {
  /** `bc`, `tb`, `tbs` or `bcrt`. */
  readonly prefix: string;
  readonly sat: bigint;
  readonly paymentHash: Buffer;
  readonly memo: string;
  readonly expiryS: number;
  /** Seconds since 1970. */
  readonly madeAtS: number;
}

/** BIP 173. */
const alphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

function polymod(values: readonly number[]): number {
  return values.reduce((check, value) => {
    const top = check >>> 25;
    const next = ((check & 0x1ffffff) << 5) ^ value;
    return generators.reduce((sum, generator, at) => ((top >> at) & 1 ? sum ^ generator : sum), next);
  }, 1);
}

function checksum(prefix: string, words: readonly number[]): number[] {
  const codes = Array.from(prefix, (letter) => letter.charCodeAt(0));
  const expanded = [...codes.map((code) => code >> 5), 0, ...codes.map((code) => code & 31)];
  const check = polymod([...expanded, ...words, 0, 0, 0, 0, 0, 0]) ^ 1;
  return Array.from({ length: 6 }, (_, at) => (check >> (5 * (5 - at))) & 31);
}

/** Groups of bits of one size as groups of another; what is left over is filled with zeroes. */
function regroup(values: Iterable<number>, from: number, to: number): number[] {
  const bits = Array.from(values, (value) => value.toString(2).padStart(from, '0')).join('');
  const groups = bits.match(new RegExp(`.{1,${to}}`, 'g')) ?? [];
  return groups.map((group) => parseInt(group.padEnd(to, '0'), 2));
}

function number(value: number, words: number): number[] {
  return Array.from({ length: words }, (_, at) => Math.floor(value / 32 ** (words - 1 - at)) % 32);
}

function field(tag: string, words: readonly number[]): number[] {
  return [alphabet.indexOf(tag), ...number(words.length, 2), ...words];
}

/** The shortest amount in a unit of BTC: 10 n is a satoshi. */
function amount(sat: bigint): string {
  const nano = sat * 10n;
  if (nano % 1_000_000n === 0n) return `${nano / 1_000_000n}m`;
  return nano % 1_000n === 0n ? `${nano / 1_000n}u` : `${nano}n`;
}

const privateKey = Buffer.alloc(32, 1);

/** The invoice. */
export function invoice({ prefix, sat, paymentHash, memo, expiryS, madeAtS }: InvoiceWish): string {
  const human = `ln${prefix}${amount(sat)}`;
  const words = [
    ...number(madeAtS, 7),
    ...field('p', regroup(paymentHash, 8, 5)),
    ...field('s', regroup(createHash('sha256').update(paymentHash).digest(), 8, 5)),
    ...field('d', regroup(Buffer.from(memo), 8, 5)),
    ...field('x', number(expiryS, 3)),
  ];
  const signed = Buffer.concat([Buffer.from(human), Buffer.from(regroup(words, 5, 8))]);
  const { signature, recoveryId } = signRecoverable(createHash('sha256').update(signed).digest(), privateKey);
  const all = [...words, ...regroup([...signature, recoveryId], 8, 5)];
  return `${human}1${[...all, ...checksum(human, all)].map((word) => alphabet[word]).join('')}`;
}
