/**
 * A thin LND for the tests: of its REST interface (LND API reference) what the checkout asks, over HTTPS with
 * a certificate of its own and a macaroon. Amounts are strings, unknown invoices 404, a wrong macaroon 500,
 * as LND has it; test/peers/payments has the real one.
 */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { systemRandomness } from '../../src/system/randomness.js';
import { invoice, type InvoiceWish } from '../checkout/bolt11.js';
import { HttpsNode, type NodeAnswer } from '../checkout/httpsNode.js';

/** An invoice of the node. */
interface Invoice {
  readonly memo: string;
  readonly preimage: Buffer;
  readonly value: bigint;
  readonly bolt11: string;
  readonly madeAtS: number;
  state: 'OPEN' | 'ACCEPTED' | 'SETTLED' | 'CANCELED';
  paidSat: bigint;
  settledAtS: number;
}

/** A channel, as the node's own side has it. */
export interface Channel {
  readonly active: boolean;
  readonly initiator: boolean;
  readonly remote_balance: string;
  readonly remote_chan_reserve_sat: string;
  readonly commit_fee: string;
  readonly private?: boolean;
}

/** A channel in which the other side has this much to send, less a reserve of 1,000 sat. */
export function channel(remoteSat: number, more: Partial<Channel> = {}): Channel {
  const fees = { remote_chan_reserve_sat: '1000', commit_fee: '0' };
  return { active: true, initiator: true, remote_balance: String(remoteSat), ...fees, ...more };
}

/** What the checkout asks of a node. */
interface Asked {
  readonly method: string;
  readonly path: string;
}

const hashOf = (preimage: Buffer): Buffer => createHash('sha256').update(preimage).digest();

/** A node that can be paid. */
export class LndServer extends HttpsNode {
  network = 'regtest';
  syncedToChain = true;
  channels: readonly Channel[] = [channel(10_000_000)];
  /** Whether it answers. */
  up = true;
  /** The path that it does not answer. */
  broken: string | undefined;
  /** What the invoice is that it makes where another was asked for. */
  instead: Partial<InvoiceWish> = {};
  /** The preimage of the next invoice; undefined: a new one. */
  nextPreimage: Buffer | undefined;
  readonly asked: Asked[] = [];
  /** Bodies of what it was asked to make invoices of. */
  readonly wishes: Readonly<Record<string, unknown>>[] = [];
  private readonly invoices = new Map<string, Invoice>();

  private constructor(private readonly nowMs: () => number) {
    super(systemRandomness(40).toString('hex'));
  }

  /** Starts it; it ends with the tests. */
  static start(nowMs: () => number): Promise<LndServer> {
    return new LndServer(nowMs).listening();
  }

  /** Settings by which a server and commands ask it. Its certificate is written into `folder`. */
  settings(folder: string): Readonly<Record<string, string>> {
    const { url, certificate, macaroon } = this.place;
    const path = join(folder, 'lnd.cert');
    writeFileSync(path, certificate);
    const own = { LND_REST_URL: url, LND_TLS_CERT: path, LND_MACAROON_HEX: macaroon };
    return { BTC_NETWORK: this.network, ...own };
  }

  /** How often it was asked for a path that begins so. */
  count(prefix: string): number {
    return this.asked.filter(({ path }) => path.startsWith(prefix)).length;
  }

  /** Settles an invoice by its payment hash, with what it asks for unless told. */
  settle(paymentHash: string, { sat, atMs = this.nowMs() }: { sat?: bigint; atMs?: number } = {}): void {
    const found = this.find(paymentHash);
    found.state = 'SETTLED';
    found.paidSat = sat ?? found.value;
    found.settledAtS = Math.floor(atMs / 1_000);
  }

  /** An invoice that somebody else made, paid; its payment hash. */
  paid(memo: string, value: bigint, madeAtMs = this.nowMs()): string {
    const preimage = systemRandomness(32);
    const [hash, madeAtS] = [hashOf(preimage).toString('hex'), Math.floor(madeAtMs / 1_000)];
    const made = { memo, preimage, value, bolt11: '', madeAtS } as const;
    this.invoices.set(hash, { ...made, state: 'SETTLED', paidSat: value, settledAtS: madeAtS });
    return hash;
  }

  /** What becomes of an invoice without its payment. */
  become(paymentHash: string, state: 'OPEN' | 'ACCEPTED' | 'CANCELED'): void {
    this.find(paymentHash).state = state;
  }

  /** Removes an invoice, as `deletecanceledinvoice` does. */
  forget(paymentHash: string): void {
    this.invoices.delete(paymentHash);
  }

  private find(paymentHash: string): Invoice {
    const found = this.invoices.get(paymentHash);
    if (found === undefined) throw new Error('the node has no such invoice');
    return found;
  }

  protected async answer(request: IncomingMessage): Promise<NodeAnswer> {
    const { method = '', url = '' } = request;
    let body = '';
    for await (const chunk of request) body += String(chunk);
    this.asked.push({ method, path: url });
    if (!this.up || url.startsWith(this.broken ?? 'none')) return undefined;
    if (request.headers['grpc-metadata-macaroon'] !== this.macaroon) {
      return failure(500, 2, 'verification failed: signature mismatch after caveat verification');
    }
    const { pathname, searchParams } = new URL(url, 'https://localhost');
    const [, hash] = /^\/v1\/invoice\/([0-9a-f]{64})$/.exec(pathname) ?? [];
    if (hash !== undefined) return this.lookUp(hash);
    switch (`${method} ${pathname}`) {
      case 'GET /v1/getinfo':
        return { status: 200, json: this.info() };
      case 'GET /v1/channels':
        return { status: 200, json: { channels: this.channels } };
      case 'GET /v1/invoices':
        return { status: 200, json: this.list(searchParams) };
      case 'POST /v1/invoices':
        return { status: 200, json: this.add(JSON.parse(body) as Record<string, string>) };
      default:
        return failure(404, 5, 'Not Found');
    }
  }

  private info(): object {
    return {
      ...{ version: '0.19.0-beta', alias: 'shop', block_height: 200, block_hash: '00'.repeat(32) },
      ...{ num_active_channels: this.channels.filter(({ active }) => active).length },
      ...{ synced_to_chain: this.syncedToChain, chains: [{ chain: 'bitcoin', network: this.network }] },
    };
  }

  private add(wish: Readonly<Record<string, string>>): object {
    this.wishes.push(wish);
    const { memo = '', value = '0', expiry = '3600' } = wish;
    const preimage = this.nextPreimage ?? systemRandomness(32);
    this.nextPreimage = undefined;
    const madeAtS = Math.floor(this.nowMs() / 1_000);
    const asked = { prefix: 'bcrt', sat: BigInt(value), paymentHash: hashOf(preimage) } as const;
    const bolt11 = invoice({ ...asked, memo, expiryS: Number(expiry), madeAtS, ...this.instead });
    const made = { memo, preimage, value: BigInt(value), bolt11, madeAtS } as const;
    this.invoices.set(hashOf(preimage).toString('hex'), {
      ...made,
      ...{ state: 'OPEN', paidSat: 0n, settledAtS: 0 },
    });
    return {
      r_hash: hashOf(preimage).toString('base64'),
      payment_request: bolt11,
      add_index: String(this.invoices.size),
    };
  }

  private lookUp(hash: string): { status: number; json: unknown } {
    const found = this.invoices.get(hash);
    if (found === undefined) return failure(404, 5, 'unable to locate invoice');
    return { status: 200, json: shown(found) };
  }

  /** A page of invoices, the oldest first: those behind an index, made since a time. */
  private list(query: URLSearchParams): object {
    const [behind, most, since] = ['index_offset', 'num_max_invoices', 'creation_date_start'].map((name) =>
      Number(query.get(name)),
    );
    const page = [...this.invoices.values()]
      .map((invoice, at) => ({ invoice, index: at + 1 }))
      .filter(({ invoice, index }) => index > (behind ?? 0) && invoice.madeAtS >= (since ?? 0))
      .slice(0, most);
    return {
      invoices: page.map(({ invoice }) => shown(invoice)),
      first_index_offset: String(page[0]?.index ?? 0),
      last_index_offset: String(page.at(-1)?.index ?? 0),
    };
  }
}

/** An invoice as the node tells of it. */
function shown({ memo, preimage, value, bolt11, madeAtS, state, paidSat, settledAtS }: Invoice): object {
  return {
    ...{ memo, r_preimage: preimage.toString('base64'), r_hash: hashOf(preimage).toString('base64') },
    ...{ value: String(value), settled: state === 'SETTLED', creation_date: String(madeAtS), state },
    ...{ settle_date: String(settledAtS), payment_request: bolt11, expiry: '900' },
    ...{ amt_paid_sat: String(paidSat), amt_paid_msat: String(paidSat * 1_000n) },
  };
}

function failure(status: number, code: number, message: string): { status: number; json: unknown } {
  return { status, json: { code, message, details: [] } };
}
