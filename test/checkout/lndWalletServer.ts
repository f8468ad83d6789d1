/**
 * A thin wallet of LND for the tests: of its REST interface (WalletKit, ChainKit, LND API reference) what
 * stamps ask, over HTTPS with a certificate of its own; test/peers/payments has the real one.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Block, Psbt, Transaction } from 'bitcoinjs-lib';
import { headerOver } from '../log/chain.js';
import { HttpsNode, type NodeAnswer } from './httpsNode.js';

type Json = Readonly<Record<string, unknown>>;

/** A transaction that was published. */
interface Published {
  readonly raw: Buffer;
  readonly label: string;
  height: number;
}

const coinSat = 100_000n;
const ownScript = Buffer.concat([Buffer.of(0, 20), Buffer.alloc(20, 7)]);

function varint(count: number): Buffer {
  return count < 0xfd ? Buffer.of(count) : Buffer.of(0xfd, count & 255, count >> 8);
}

/** A wallet with as many coins as are asked for. */
export class LndWalletServer extends HttpsNode {
  feeSat = 250n;
  tip = 800_000;
  syncedToChain = true;
  /** Called when a request took effect, before it is answered. */
  onEffect: (path: string) => void = () => undefined;
  /** What the wallet signs in place of what was funded. */
  tamper: (transaction: Transaction) => void = () => undefined;
  readonly published = new Map<string, Published>();
  /** Outputs that are held back, by the coin. */
  readonly held = new Set<string>();
  readonly asked: string[] = [];
  private readonly blocks = new Map<string, Buffer>();
  private coins = 0;

  /** Starts it; it ends with the tests. */
  static start(macaroon: string): Promise<LndWalletServer> {
    return new LndWalletServer(macaroon).listening();
  }

  /** Takes what is published into the next block, and mines others on it. */
  mine(blocks: number): void {
    this.tip += 1;
    for (const each of this.published.values()) if (each.height === 0) each.height = this.tip;
    this.tip += blocks - 1;
  }

  protected async answer(request: IncomingMessage): Promise<NodeAnswer> {
    const { url = '' } = request;
    let body = '';
    for await (const chunk of request) body += String(chunk);
    if (request.headers['grpc-metadata-macaroon'] !== this.macaroon) {
      return { status: 500, json: { message: 'verification failed: signature mismatch' } };
    }
    const [path = '', query = ''] = url.split('?');
    this.asked.push(path);
    const json = this.effect(path, new URLSearchParams(query), body === '' ? {} : (JSON.parse(body) as Json));
    this.onEffect(path);
    return json === undefined ? { status: 404, json: { message: 'Not Found' } } : { status: 200, json };
  }

  private effect(path: string, query: URLSearchParams, body: Json): Json | undefined {
    switch (path) {
      case '/v1/getinfo':
        return {
          chains: [{ network: 'regtest' }],
          block_height: this.tip,
          block_hash: '00',
          synced_to_chain: this.syncedToChain,
        };
      case '/v1/transactions':
        return { transactions: [...this.published].map(([txid, each]) => this.described(txid, each)) };
      case '/v2/wallet/psbt/fund':
        return this.fund(String(body['psbt']));
      case '/v2/wallet/psbt/finalize':
        return this.finalize(String(body['funded_psbt']));
      case '/v2/wallet/tx':
        return this.publish(String(body['tx_hex']), String(body['label']));
      case '/v2/wallet/utxos/release':
        this.held.delete(String((body['outpoint'] as Json)['txid_str']));
        return { status: 'released' };
      case '/v2/chainkit/block': {
        const hash = Buffer.from(query.get('block_hash') ?? '', 'base64').toString('hex');
        const raw = this.blocks.get(hash);
        return raw === undefined ? undefined : { raw_block: raw.toString('base64') };
      }
      default:
        return undefined;
    }
  }

  private fund(template: string): Json {
    // bitcoinjs reads no transaction without inputs: magic, the key, its length, then one output of 34 bytes.
    const bytes = Buffer.from(template, 'base64');
    const form = /^70736274ff0100350200000000010{16}22(6a20[0-9a-f]{64})0{8}0000$/.exec(
      bytes.toString('hex'),
    );
    if (form === null) throw new Error('the template is not one output of data');
    const script = Buffer.from(form[1] ?? '', 'hex');
    const hash = createHash('sha256')
      .update(`coin ${(this.coins += 1)}`)
      .digest();
    const psbt = new Psbt();
    psbt.addInput({ hash, index: 0, witnessUtxo: { script: ownScript, value: coinSat } });
    psbt.addOutput({ script, value: 0n });
    psbt.addOutput({ script: ownScript, value: coinSat - this.feeSat });
    const coin = Buffer.from(hash).reverse().toString('hex');
    this.held.add(coin);
    const outpoint = { txid_str: coin, output_index: 0 };
    return { funded_psbt: psbt.toBase64(), locked_utxos: [{ id: 'bG9jaw==', outpoint }] };
  }

  private finalize(funded: string): Json {
    const psbt = Psbt.fromBase64(funded);
    const transaction = new Transaction();
    transaction.version = 2;
    for (const { hash, index } of psbt.txInputs) transaction.addInput(hash, index);
    for (const { script, value } of psbt.txOutputs) transaction.addOutput(script, value);
    transaction.setWitness(0, [Buffer.alloc(71, 1), Buffer.alloc(33, 2)]);
    this.tamper(transaction);
    return { raw_final_tx: Buffer.from(transaction.toBuffer()).toString('base64') };
  }

  private publish(raw: string, label: string): Json {
    const bytes = Buffer.from(raw, 'base64');
    const txid = Transaction.fromBuffer(bytes).getId();
    if (!this.published.has(txid)) this.published.set(txid, { raw: bytes, label, height: 0 });
    return { publish_error: '' };
  }

  private described(txid: string, { raw, label, height }: Published): Json {
    const confirmations = height === 0 ? 0 : this.tip - height + 1;
    const about = { tx_hash: txid, label, block_height: height, num_confirmations: confirmations };
    if (height === 0) return { ...about, block_hash: '' };
    const first = new Transaction();
    first.addInput(Buffer.alloc(32), 0xffffffff, 0xffffffff, Buffer.of(2, height & 255, height >> 8));
    first.addOutput(ownScript, 5_000_000_000n);
    const transactions = [first, Transaction.fromBuffer(raw)];
    const header = headerOver(Buffer.from(Block.calculateMerkleRoot(transactions)));
    const parts = transactions.map((each) => each.toBuffer());
    const block = Buffer.concat([header, varint(parts.length), ...parts]);
    const hash = Buffer.from(Block.fromBuffer(block).getHash());
    this.blocks.set(hash.toString('hex'), block);
    return { ...about, block_hash: Buffer.from(hash).reverse().toString('hex') };
  }
}
