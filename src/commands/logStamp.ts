/** `fusegate log stamp|verify`: stamps checkpoints in Bitcoin, and verifies stamps without a server. */
import { readFileSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import { headerBytes, readHeader, type BlockHeader } from '../log/blockHeader.js';
import { openCheckpoint } from '../log/note.js';
import { stamp, type Stamped, type StampWallet } from '../log/stamping.js';
import { openTimestamp } from '../log/timestampFile.js';
import { timeText } from '../system/clock.js';
import { reasonOf } from '../system/reason.js';
import { count } from './evaluate.js';
import { notCosigned, readTrust, type TrustOptions } from './logTrust.js';
import { printable } from './printable.js';
import { withStore, type CommandContext, type CommandParts } from './withStore.js';

/** A wallet's address and credentials. */
export interface WalletPlace {
  readonly url: string;
  readonly certificate: string;
  /** In hex. A secret. */
  readonly macaroon: string;
}

/** Dependencies of the commands besides the store. */
export interface StampCommandParts extends CommandParts {
  /** Opens LND's wallet. @throws Error if the certificate is invalid */
  readonly openWallet: (
    place: WalletPlace,
  ) => Promise<{ readonly wallet: StampWallet; readonly close: () => void }>;
}

type Ended = Promise<number | { readonly wrong: string }>;

interface StampOptions {
  readonly lnd: string;
  readonly cert: string;
  readonly macaroon: string;
  readonly mostSat: number;
}

/** A file's bytes, or a sentence if it cannot be read. */
function bytesOf(path: string): Buffer | { readonly wrong: string } {
  try {
    return readFileSync(path);
  } catch (error) {
    return { wrong: `${path} cannot be read (${reasonOf(error)}).` };
  }
}

/** The wallet's place from the options of `log stamp`. */
function placeOf({ lnd, cert, macaroon }: StampOptions): WalletPlace | { readonly wrong: string } {
  const url = URL.canParse(lnd) ? new URL(lnd) : undefined;
  if (url?.protocol !== 'https:' || url.href !== `${url.origin}/`) {
    return { wrong: '--lnd must be https://<host>:<port>, such as https://127.0.0.1:8080.' };
  }
  const [certificate, secret] = [bytesOf(cert), bytesOf(macaroon)];
  if ('wrong' in certificate) return certificate;
  if ('wrong' in secret) return secret;
  if ((statSync(macaroon).mode & 0o077) !== 0) {
    return { wrong: `${macaroon} can spend and can be read by others. Run: chmod 600 ${macaroon}` };
  }
  return { url: url.origin, certificate: certificate.toString(), macaroon: secret.toString('hex') };
}

function receipts(count: number): string {
  return count === 1 ? '1 receipt' : `${count} receipts`;
}

/** A line about a stamp's outcome. */
function lineOf(stamped: Stamped): string {
  const { day } = stamped;
  switch (stamped.kind) {
    case 'published':
      return `${day}: ${receipts(stamped.size)}, published for ${stamped.feeSat} sat.`;
    case 'waiting':
      return `${day}: waits, ${stamped.confirmations} confirmations.`;
    case 'complete':
      return `${day}: complete, block ${stamped.height}.`;
    case 'nothing new':
      return `${day}: the log has not grown since the last stamp.`;
    case 'failed':
      return `${day}: ${printable(stamped.reason)}.`;
  }
}

async function runStamp(parts: StampCommandParts, { store }: CommandContext, options: StampOptions): Ended {
  const place = placeOf(options);
  if ('wrong' in place) return place;
  let opened: Awaited<ReturnType<StampCommandParts['openWallet']>>;
  try {
    opened = await parts.openWallet(place);
  } catch (error) {
    return { wrong: `${options.cert} is not a certificate of LND (${reasonOf(error)}).` };
  }
  let code = 0;
  try {
    const stamping = { store, wallet: opened.wallet, clock: parts.clock };
    for await (const stamped of stamp(stamping, BigInt(options.mostSat))) {
      if (stamped.kind !== 'failed') {
        await parts.write(`${lineOf(stamped)}\n`);
        continue;
      }
      code = 1;
      parts.printError(lineOf(stamped));
    }
    return code;
  } finally {
    opened.close();
  }
}

/**
 * Least work of a header that counts as proof (hashes): every Bitcoin block since 2023 took more. Forging a
 * header with this much work costs about as much as a block earns.
 */
const leastWork = 2n ** 77n;

interface VerifyOptions extends TrustOptions {
  readonly header?: string;
  readonly testing: boolean;
}

/** A header from a file: raw bytes, or hex as nodes print it. */
function headerOf(path: string): BlockHeader | { readonly wrong: string } {
  const bytes = bytesOf(path);
  if ('wrong' in bytes) return bytes;
  const text = bytes.toString('latin1').trim();
  const isHex = /^[0-9a-f]+$/i.test(text) && text.length === 2 * headerBytes;
  const header = readHeader(isHex ? Buffer.from(text, 'hex') : bytes);
  return 'wrong' in header ? { wrong: `The header ${path} ${header.wrong}.` } : header;
}

async function verify(
  parts: StampCommandParts,
  [checkpointPath, timestampPath]: readonly [string, string],
  options: VerifyOptions,
): Ended {
  const trust = readTrust(options);
  if ('wrong' in trust) return trust;
  if (trust.keys.length === 0) return { wrong: 'Give the verifier key of the log: --vkey or --policy.' };
  const [note, timestamp] = [bytesOf(checkpointPath), bytesOf(timestampPath)];
  if ('wrong' in note) return note;
  if ('wrong' in timestamp) return timestamp;
  const opened = trust.keys.map((key) => openCheckpoint(note.toString(), key));
  const checkpoint = opened.find((each) => 'size' in each) ?? opened[0];
  if (checkpoint === undefined || 'wrong' in checkpoint) {
    return { wrong: `The checkpoint ${printable(checkpoint?.wrong ?? 'is none')}.` };
  }
  const lacking = notCosigned(trust, note.toString());
  if (lacking !== undefined) return { wrong: `The checkpoint ${lacking}.` };
  const attested = openTimestamp(timestamp, note);
  if ('wrong' in attested) return { wrong: `The timestamp ${attested.wrong}.` };
  const [first] = attested;
  if (first === undefined) return { wrong: 'The timestamp names no block of Bitcoin (yet).' };
  if (options.header === undefined) {
    return { wrong: `The timestamp names block ${first.height}: give its header (--header).` };
  }
  const header = headerOf(options.header);
  if ('wrong' in header) return header;
  if (header.work < leastWork && !options.testing) {
    return { wrong: `The header took ${header.work} hashes: any computer can make such a block.` };
  }
  const found = attested.find(({ root }) => root.equals(header.merkleRoot));
  if (found === undefined) return { wrong: 'The timestamp does not lead to the header.' };
  const time = timeText(header.timeS * 1_000).replace('.000Z', 'Z');
  await parts.write(
    `${printable(checkpoint.origin)}: ${receipts(checkpoint.size)}, signed before the block of ${time}.\n` +
      // A header does not contain its height, so the timestamp may claim any.
      `Compare with a node or an explorer: block ${header.hash}, at height ${found.height}.\n`,
  );
  return 0;
}

/** Adds the commands to those of the log. */
export function addLogStamp(log: Command, parts: StampCommandParts): void {
  log
    .command('stamp')
    .description('stamp today’s checkpoint in Bitcoin by your own LND, and complete earlier stamps')
    .requiredOption('--lnd <url>', 'LND’s REST interface, https://host:port')
    .requiredOption('--cert <file>', 'LND’s certificate, PEM')
    .requiredOption('--macaroon <file>', 'macaroon with info:read, onchain:read and onchain:write')
    .requiredOption('--most-sat <number>', 'satoshi that one day’s stamp may cost', count(1))
    .allowExcessArguments(false)
    .action(async (options: StampOptions) => {
      process.exitCode = await withStore(parts, (context) => runStamp(parts, context, options));
    });
  log
    .command('verify <checkpoint> <timestamp>')
    .description('verify offline that a checkpoint is signed, and stamped in a block of Bitcoin')
    .option('--header <file>', 'the block’s header, 80 bytes or their hexadecimal')
    .option('--vkey <key>', 'verifier key of the log')
    .option('--policy <file>', 'policy with keys of logs and the witnesses that must have cosigned')
    .option('--testing', 'take the header of a test chain, whose blocks cost nothing', false)
    .allowExcessArguments(false)
    .action(async (checkpoint: string, timestamp: string, options: VerifyOptions) => {
      const ended = await verify(parts, [checkpoint, timestamp], options);
      if (typeof ended !== 'number') parts.printError(ended.wrong);
      process.exitCode = typeof ended === 'number' ? ended : 1;
    });
}
