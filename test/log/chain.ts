/** A chain whose blocks cost nothing, and transactions with a data output, for stamps. */
import { createHash } from 'node:crypto';
import { readHeader } from '../../src/log/blockHeader.js';
import { dataScript, type InBlock } from '../../src/log/stamping.js';
import { sha256 } from '../../src/log/timestampFile.js';

/** A transaction by a number, without witnesses, with an output of data. */
export function transactionOf(number: number, data: Uint8Array): Buffer {
  const coin = createHash('sha256').update(`coin ${number}`).digest();
  const input = Buffer.concat([coin, Buffer.alloc(4), Buffer.of(0), Buffer.alloc(4, 0xff)]);
  const script = dataScript(data);
  const output = Buffer.concat([Buffer.alloc(8), Buffer.of(script.byteLength), script]);
  return Buffer.concat([Buffer.of(2, 0, 0, 0, 1), input, Buffer.of(1), output, Buffer.alloc(4)]);
}

/** A header over a Merkle root, with the proof of work of a test chain (regtest). */
export function headerOver(root: Buffer, timeS = 1_764_000_000): Buffer {
  const header = Buffer.alloc(80);
  header.writeUInt32LE(4, 0);
  root.copy(header, 36);
  header.writeUInt32LE(timeS, 68);
  header.writeUInt32LE(0x207fffff, 72);
  for (let nonce = 0; 'wrong' in readHeader(header); nonce += 1) header.writeUInt32LE(nonce, 76);
  return header;
}

/** A block with a transaction behind two others. */
export function blockWith(transaction: Buffer, height: number, confirmations: number): InBlock {
  const [a, b] = [1, 2].map((number) => sha256(sha256(Buffer.of(number)))) as [Buffer, Buffer];
  const txid = sha256(sha256(transaction));
  const twice = (...parts: readonly Buffer[]): Buffer => sha256(sha256(Buffer.concat(parts)));
  const header = headerOver(twice(twice(a, b), twice(txid, txid)));
  return { kind: 'in block', height, confirmations, header, txids: [a, b, txid], hashed: transaction };
}
