/**
 * LND's REST interface, with one macaroon and the node's certificate pinned. The macaroon needs info,
 * offchain and onchain read, and invoices and address write; it cannot spend.
 */
import { X509Certificate } from 'node:crypto';
import { Agent } from 'node:https';
import type { Clock } from '../system/clock.js';
import { isJsonObject, objectsIn, type JsonObject } from '../system/json.js';
import { reasonOf } from '../system/reason.js';
import { askNode, followLines } from './httpsJson.js';
import { answered, failed, type Answered, type Failed } from './nodeAnswer.js';

/** LND's address and credentials. */
export interface LndPlace {
  /** `https://host:port` */
  readonly url: string;
  /** The node's certificate, PEM. */
  readonly certificate: string;
  /** The macaroon in hex. A secret. */
  readonly macaroon: string;
}

/** LND refused or failed. `absent`: it answers that it has no such thing. */
export interface LndFailure extends Failed {
  readonly absent: boolean;
}

/** Answer of LND. */
export type LndAnswer<Value> = Answered<Value> | LndFailure;

/** The node's status. */
export interface NodeInfo {
  readonly network: string;
  readonly syncedToChain: boolean;
  readonly activeChannels: number;
  readonly blockHeight: number;
  readonly blockHash: string;
}

/** An account of the wallet. */
export interface WalletAccount {
  readonly name: string;
  readonly extendedPublicKey: string;
  /** Number of receiving addresses handed out, from index 0 on. */
  readonly handedOut: number;
}

/** A transaction of the wallet, with all its outputs. */
export interface WalletTransaction {
  readonly txid: string;
  /** Height of its block; 0: unconfirmed. */
  readonly height: number;
  readonly confirmations: number;
  readonly atMs: number;
  readonly outputs: readonly { readonly address: string; readonly vout: number; readonly sat: bigint }[];
}

/** Events of a stream of transactions. */
export interface StreamListener {
  readonly onTransaction: (json: JsonObject) => void;
  /** The connection has ended, or could not be made. */
  readonly onEnd: () => void;
}

/** A stream that is open, or being opened. */
export interface Stream {
  readonly stop: () => void;
}

/** An invoice that was made. */
export interface MadeInvoice {
  /** 64 hex characters. */
  readonly paymentHash: string;
  readonly bolt11: string;
}

/** An invoice as LND has it. */
export interface Invoice {
  readonly state: 'open' | 'accepted' | 'settled' | 'canceled';
  readonly paidSat: bigint;
  readonly settledAtMs: number | null;
}

/** An invoice that was paid. */
export interface SettledInvoice {
  readonly memo: string;
  /** 64 hex characters. */
  readonly paymentHash: string;
  readonly paidSat: bigint;
}

/** Invoices in one answer. */
const pageInvoices = 1_000;

/** LND writes 64-bit numbers as strings. @throws Error if the value is not such a number */
function whole(value: unknown): bigint {
  if (typeof value === 'string' && /^-?\d{1,20}$/.test(value)) return BigInt(value);
  if (Number.isSafeInteger(value)) return BigInt(value as number);
  throw new Error('an amount is not a number');
}

const states = { OPEN: 'open', ACCEPTED: 'accepted', SETTLED: 'settled', CANCELED: 'canceled' } as const;

function invoiceOf(json: JsonObject): Invoice {
  const { state } = json;
  if (typeof state !== 'string' || !Object.hasOwn(states, state))
    throw new Error('an invoice has no known state');
  const settled = whole(json['settle_date'] ?? '0');
  return {
    state: states[state as keyof typeof states],
    paidSat: whole(json['amt_paid_sat'] ?? '0'),
    settledAtMs: settled === 0n ? null : Number(settled) * 1_000,
  };
}

/** Reads a transaction as LND writes it. @throws Error if it is malformed */
export function walletTransaction(json: JsonObject): WalletTransaction {
  const { tx_hash: txid, output_details: details } = json;
  if (typeof txid !== 'string' || !Array.isArray(details)) throw new Error('a transaction is malformed');
  return {
    txid,
    height: Number(json['block_height'] ?? 0),
    confirmations: Number(json['num_confirmations'] ?? 0),
    atMs: Number(whole(json['time_stamp'])) * 1_000,
    outputs: objectsIn(details).map((output) => ({
      address: String(output['address']),
      vout: Number(whole(output['output_index'] ?? '0')),
      sat: whole(output['amount'] ?? '0'),
    })),
  };
}

function accountsOf({ accounts }: JsonObject): readonly WalletAccount[] {
  return objectsIn(accounts).map((account) => ({
    name: String(account['name']),
    extendedPublicKey: String(account['extended_public_key']),
    handedOut: Number(account['external_key_count'] ?? 0),
  }));
}

/**
 * Amount in satoshi that a channel can receive: the peer's balance, less its reserve and its share of the
 * commitment fee.
 */
function receivable(channel: JsonObject): bigint {
  if (channel['active'] !== true) return 0n;
  const remote = whole(channel['remote_balance'] ?? '0');
  const reserve = whole(channel['remote_chan_reserve_sat'] ?? '0');
  // The opener of the channel pays the commitment fee, and must be able to pay twice as much.
  const fee = channel['initiator'] === true ? 0n : 2n * whole(channel['commit_fee'] ?? '0');
  const room = remote - reserve - fee;
  return room > 0n ? room : 0n;
}

/** Satoshi that can be received. */
export interface Inbound {
  /** Over all channels. */
  readonly sat: bigint;
  /** Over those that the network knows. */
  readonly announcedSat: bigint;
}

/** A client of one node. */
export class Lnd {
  private readonly agent: Agent;

  /**
   * @throws Error if the certificate is invalid
   */
  constructor(
    private readonly place: LndPlace,
    private readonly clock: Pick<Clock, 'after'>,
  ) {
    const pinned = new X509Certificate(place.certificate).fingerprint256;
    this.agent = new Agent({
      keepAlive: true,
      ca: place.certificate,
      // The certificate itself is pinned, so the host name does not matter.
      checkServerIdentity: (_, { fingerprint256 }) =>
        fingerprint256 === pinned ? undefined : new Error('it shows another certificate'),
    });
  }

  info(): Promise<LndAnswer<NodeInfo>> {
    return this.ask('/v1/getinfo', undefined, (json) => {
      const chains: unknown = json['chains'];
      const chain: unknown = Array.isArray(chains) ? chains[0] : undefined;
      if (!isJsonObject(chain) || typeof chain['network'] !== 'string')
        throw new Error('it names no network');
      return {
        network: chain['network'],
        syncedToChain: json['synced_to_chain'] === true,
        activeChannels: Number(json['num_active_channels'] ?? 0),
        blockHeight: Number(json['block_height'] ?? 0),
        blockHash: String(json['block_hash']),
      };
    });
  }

  /** Satoshi that can be received now, over active channels. */
  inbound(): Promise<LndAnswer<Inbound>> {
    return this.ask('/v1/channels?active_only=true', undefined, (json) => {
      const channels: unknown = json['channels'] ?? [];
      if (!Array.isArray(channels)) throw new Error('its channels are not a list');
      const sumOf = (some: readonly JsonObject[]): bigint =>
        some.reduce((sum, channel) => sum + receivable(channel), 0n);
      const all = channels.filter(isJsonObject);
      return { sat: sumOf(all), announcedSat: sumOf(all.filter((channel) => channel['private'] !== true)) };
    });
  }

  /**
   * Makes an invoice that expires after `expiryS` seconds. `hints`: it names unannounced channels, without
   * which nobody finds a way through them.
   */
  addInvoice(sat: bigint, memo: string, expiryS: number, hints = false): Promise<LndAnswer<MadeInvoice>> {
    const body = { memo, value: sat.toString(), expiry: String(expiryS), ...(hints && { private: true }) };
    return this.ask('/v1/invoices', body, (json) => {
      const { r_hash: hash, payment_request: bolt11 } = json;
      if (typeof hash !== 'string' || typeof bolt11 !== 'string') throw new Error('its invoice is malformed');
      return { paymentHash: Buffer.from(hash, 'base64').toString('hex'), bolt11 };
    });
  }

  /** Looks up an invoice by its payment hash in hex. */
  invoice(paymentHash: string): Promise<LndAnswer<Invoice>> {
    return this.ask(`/v1/invoice/${paymentHash}`, undefined, invoiceOf);
  }

  /** Paid invoices that were made since a time (ms since 1970). */
  async settledInvoices(fromMs: number): Promise<LndAnswer<readonly SettledInvoice[]>> {
    const found: SettledInvoice[] = [];
    for (let offset = '0'; ;) {
      const since = Math.floor(fromMs / 1_000);
      const query = `index_offset=${offset}&num_max_invoices=${pageInvoices}&creation_date_start=${since}`;
      const page = await this.ask(`/v1/invoices?${query}`, undefined, (json) => {
        const invoices: unknown = json['invoices'] ?? [];
        if (!Array.isArray(invoices)) throw new Error('its invoices are not a list');
        return { invoices: invoices.filter(isJsonObject), last: String(json['last_index_offset']) };
      });
      if (page.kind === 'failed') return page;
      const { invoices, last } = page.value;
      for (const invoice of invoices.filter(({ state }) => state === 'SETTLED')) {
        found.push({
          memo: String(invoice['memo']),
          paymentHash: Buffer.from(String(invoice['r_hash']), 'base64').toString('hex'),
          paidSat: whole(invoice['amt_paid_sat']),
        });
      }
      if (invoices.length < pageInvoices) return answered(found);
      offset = last;
    }
  }

  /** An account of the wallet, by name. */
  account(name: string): Promise<LndAnswer<WalletAccount>> {
    return this.ask(`/v2/wallet/accounts?name=${encodeURIComponent(name)}`, undefined, (json) => {
      const [found] = accountsOf(json);
      if (found === undefined) throw new Error(`it has no account ${name}`);
      return found;
    });
  }

  /** Every account of the wallet. */
  accounts(): Promise<LndAnswer<readonly WalletAccount[]>> {
    return this.ask('/v2/wallet/accounts', undefined, accountsOf);
  }

  /** Hands out the account's next receiving address; the wallet watches it from then on. */
  nextAddress(account: string): Promise<LndAnswer<string>> {
    return this.ask('/v2/wallet/address/next', { account, change: false }, ({ addr }) => String(addr));
  }

  /** The account's transactions in blocks of at least this height, and the unconfirmed ones. */
  transactions(account: string, fromHeight: number): Promise<LndAnswer<readonly WalletTransaction[]>> {
    const query = `account=${encodeURIComponent(account)}&start_height=${fromHeight}&end_height=-1`;
    return this.ask(`/v1/transactions?${query}`, undefined, (json) => {
      const list: unknown = json['transactions'] ?? [];
      if (!Array.isArray(list)) throw new Error('its transactions are not a list');
      return list.filter(isJsonObject).map(walletTransaction);
    });
  }

  /** Streams the account's transactions as they arrive and as they are confirmed. */
  streamTransactions(account: string, listener: StreamListener): Stream {
    const query = `account=${encodeURIComponent(account)}`;
    const url = new URL(`/v1/transactions/subscribe?${query}`, this.place.url);
    const headers = { 'grpc-metadata-macaroon': this.place.macaroon };
    return followLines(
      url,
      { agent: this.agent, headers },
      {
        ...listener,
        onLine(line) {
          const json: unknown = JSON.parse(line);
          const result: unknown = isJsonObject(json) ? json['result'] : undefined;
          if (!isJsonObject(result)) throw new Error('it reports no transaction');
          listener.onTransaction(result);
        },
      },
    );
  }

  /** Closes the connections. */
  close(): void {
    this.agent.destroy();
  }

  /** Calls the interface, by a POST if there is a body; `read` throws if the answer is malformed. */
  async ask<Value>(
    path: string,
    body: object | undefined,
    read: (json: JsonObject) => Value,
  ): Promise<LndAnswer<Value>> {
    try {
      const headers = { 'grpc-metadata-macaroon': this.place.macaroon };
      // JSON.stringify(undefined) is undefined: no body is sent.
      const asked = { agent: this.agent, headers, isOwn: true, body: JSON.stringify(body) };
      const { status, text } = await askNode(new URL(path, this.place.url), asked, this.clock);
      const json: unknown = JSON.parse(text);
      if (!isJsonObject(json)) throw new Error('its answer is not a JSON object');
      if (status === 200) return answered(read(json));
      const message = typeof json['message'] === 'string' ? json['message'] : `status ${status}`;
      return { ...failed(`LND says: ${message}`), absent: status === 404 };
    } catch (error) {
      return { ...failed(`LND does not answer (${reasonOf(error)})`), absent: false };
    }
  }
}
