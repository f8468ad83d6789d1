/**
 * LND's wallet (WalletKit and ChainKit of its REST interface), for stamps of the log: these are the only
 * calls that spend. The macaroon needs onchain read and write, and info read.
 */
import { Block, Psbt, Transaction } from 'bitcoinjs-lib';
import {
  dataScript,
  type InBlock,
  type NotInBlock,
  type StampFailure,
  type StampWallet,
} from '../log/stamping.js';
import { objectsIn, type JsonObject } from '../system/json.js';
import { reasonOf } from '../system/reason.js';
import type { Lnd, LndAnswer } from './lnd.js';

/** Blocks within which a stamp should confirm, by LND's estimate: a day. */
const targetBlocks = 144;

/** Blocks to search back for a transaction with a day's label: two days, with room for fast blocks. */
const labelBlocks = 432;

/** An output that LND has locked for a transaction. */
interface Held {
  readonly id: unknown;
  readonly outpoint: unknown;
}

/** A transaction of the wallet. */
interface Known {
  readonly txid: string;
  readonly label: string;
  readonly blockHash: string;
  readonly height: number;
  readonly confirmations: number;
}

/** The value if it is text, else an empty text. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function bytesOf(value: unknown): Buffer {
  if (typeof value !== 'string' || value === '') throw new Error('its answer lacks bytes');
  return Buffer.from(value, 'base64');
}

function knownOf(json: JsonObject): Known {
  return {
    txid: String(json['tx_hash']),
    label: textOf(json['label']),
    blockHash: textOf(json['block_hash']),
    height: Number(json['block_height'] ?? 0),
    confirmations: Number(json['num_confirmations'] ?? 0),
  };
}

/** A transaction without inputs and with one output of data, as a PSBT (BIP 174). */
function dataTemplate(data: Uint8Array): Buffer {
  const script = dataScript(data);
  const transaction = Buffer.concat([
    Buffer.of(2, 0, 0, 0, 0, 1),
    Buffer.alloc(8),
    Buffer.of(script.byteLength),
    script,
    Buffer.alloc(4),
  ]);
  const magic = Buffer.concat([Buffer.from('psbt'), Buffer.of(0xff)]);
  return Buffer.concat([magic, Buffer.of(1, 0, transaction.byteLength), transaction, Buffer.of(0, 0)]);
}

/** The fee of a funded transaction. @throws Error if the values of its inputs are missing */
function feeOf(psbt: Psbt): bigint {
  const inputs = psbt.data.inputs.map(({ witnessUtxo }) => {
    if (witnessUtxo === undefined) throw new Error('an input has no amount');
    return witnessUtxo.value;
  });
  const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, each) => total + each, 0n);
  return sum(inputs) - sum(psbt.txOutputs.map(({ value }) => value));
}

/** The outputs spent and the outputs made, as a text. */
function effectOf(inputs: Transaction['ins'] | Psbt['txInputs'], outputs: Transaction['outs']): string {
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  const spent = inputs.map(({ hash, index }) => `${hex(hash)}:${index}`);
  const made = outputs.map(({ script, value }) => `${hex(script)}:${value}`);
  return `${spent.join()} ${made.join()}`;
}

/** True if a signed transaction spends the same inputs as the funded one, to the same outputs. */
function isSame({ ins, outs }: Transaction, { txInputs, txOutputs }: Psbt): boolean {
  return effectOf(ins, outs) === effectOf(txInputs, txOutputs);
}

/** The value of an answer. @throws Error with LND's reason */
function valueOf<Value>(answer: LndAnswer<Value>): Value {
  if (answer.kind === 'failed') throw new Error(answer.reason);
  return answer.value;
}

/** The outcome of a call; an error that it throws becomes a failure. */
function orWrong<Value>(call: Promise<Value>): Promise<Value | StampFailure> {
  return call.catch((error: unknown) => ({ wrong: reasonOf(error) }));
}

/** The wallet of an LND node. */
export class LndWallet implements StampWallet {
  constructor(private readonly lnd: Pick<Lnd, 'ask' | 'info'>) {}

  readonly sign: StampWallet['sign'] = (data, label, mostSat) => orWrong(this.signed(data, label, mostSat));

  readonly publish: StampWallet['publish'] = async (transaction, label) => {
    const body = { tx_hex: Buffer.from(transaction).toString('base64'), label };
    const answer = await this.lnd.ask('/v2/wallet/tx', body, (json) => textOf(json['publish_error']));
    if (answer.kind === 'failed') return { wrong: answer.reason };
    return answer.value === '' ? undefined : { wrong: `LND says: ${answer.value}` };
  };

  readonly find: StampWallet['find'] = (transaction, fromHeight) =>
    orWrong(this.place(Transaction.fromBuffer(transaction), fromHeight));

  private async signed(data: Uint8Array, label: string, mostSat: bigint) {
    const { blockHeight: tipHeight, syncedToChain } = valueOf(await this.lnd.info());
    if (!syncedToChain) return { wrong: 'LND is behind the chain' };
    const known = await this.transactions(Math.max(0, tipHeight - labelBlocks));
    const earlier = known.find((each) => each.label === label);
    // The store was rolled back, or another one of the same name uses this wallet: the day is paid for
    // already.
    if (earlier !== undefined) return { wrong: `the wallet has paid for it: transaction ${earlier.txid}` };
    const body = {
      psbt: dataTemplate(data).toString('base64'),
      target_conf: targetBlocks,
      min_confs: 1,
    };
    const funded = valueOf(await this.lnd.ask('/v2/wallet/psbt/fund', body, (json) => json));
    const held = objectsIn(funded['locked_utxos']).map(({ id, outpoint }) => ({ id, outpoint }));
    try {
      const psbt = Psbt.fromBuffer(bytesOf(funded['funded_psbt']));
      const feeSat = feeOf(psbt);
      if (feeSat > mostSat) throw new Error(`it would cost ${feeSat} sat now, more than ${mostSat}`);
      const raw = await this.finalized(psbt, bytesOf(funded['funded_psbt']));
      const transaction = Transaction.fromBuffer(raw);
      return { transaction: raw, feeSat, bytes: hashedOf(transaction).byteLength, tipHeight };
    } catch (error) {
      await this.release(held);
      throw error;
    }
  }

  private async finalized(psbt: Psbt, funded: Buffer): Promise<Buffer> {
    const body = { funded_psbt: funded.toString('base64') };
    const raw = valueOf(
      await this.lnd.ask('/v2/wallet/psbt/finalize', body, (json) => bytesOf(json['raw_final_tx'])),
    );
    if (!isSame(Transaction.fromBuffer(raw), psbt)) throw new Error('LND signed another transaction');
    return raw;
  }

  /** Unlocks the outputs of a transaction that will not be made. */
  private async release(held: readonly Held[]): Promise<void> {
    for (const { id, outpoint } of held) {
      // If this fails, LND unlocks it after ten minutes.
      await this.lnd.ask('/v2/wallet/utxos/release', { id, outpoint }, () => undefined);
    }
  }

  private async transactions(fromHeight: number): Promise<Known[]> {
    const path = `/v1/transactions?start_height=${fromHeight}&end_height=-1`;
    return valueOf(
      await this.lnd.ask(path, undefined, (json) => objectsIn(json['transactions']).map(knownOf)),
    );
  }

  private async place(transaction: Transaction, fromHeight: number): Promise<InBlock | NotInBlock> {
    const txid = transaction.getId();
    const known = (await this.transactions(fromHeight)).find((each) => each.txid === txid);
    if (known === undefined) return { kind: 'absent' };
    const { height, confirmations, blockHash } = known;
    if (confirmations < 1) return { kind: 'waiting' };
    const hash = Buffer.from(blockHash, 'hex').reverse().toString('base64');
    const path = `/v2/chainkit/block?block_hash=${encodeURIComponent(hash)}`;
    const raw = valueOf(await this.lnd.ask(path, undefined, (json) => bytesOf(json['raw_block'])));
    const block = Block.fromBuffer(raw);
    const txids = (block.transactions ?? []).map((each) => Buffer.from(each.getHash()));
    const header = Buffer.from(block.toBuffer(true));
    return { kind: 'in block', height, confirmations, header, txids, hashed: hashedOf(transaction) };
  }
}

/** A transaction without its witnesses: the bytes that its id hashes. */
function hashedOf(transaction: Transaction): Buffer {
  const stripped = transaction.clone();
  stripped.stripWitnesses();
  return Buffer.from(stripped.toBuffer());
}
