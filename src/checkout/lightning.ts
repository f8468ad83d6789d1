/** Orders paid over Lightning (contract, Checkout; BOLT 11): invoices of the operator's own LND node. */
import { decode } from 'light-bolt11-decoder';
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { openOrders, type OrderRecord } from '../store/orders.js';
import { whenUnavailable, type Fence } from '../store/store.js';
import { reasonOf } from '../system/reason.js';
import { Recent } from '../system/shared.js';
import { happen, makeOrder, newOrderId, type BookParts, type MadeOrder, type NewOrder } from './book.js';
import type { Lnd, LndFailure, NodeInfo } from './lnd.js';
import type { RailCheck } from './rails.js';

/** The Bitcoin networks. */
export type Network = 'mainnet' | 'testnet' | 'signet' | 'regtest';

/** Prefix of each network's invoices (BOLT 11). */
const prefixes: Readonly<Record<Network, string>> = {
  mainnet: 'bc',
  testnet: 'tb',
  signet: 'tbs',
  regtest: 'bcrt',
};

/** Lifetime of an invoice (s). */
const invoiceS = 900;

/** Time that what the node said of itself is told again (ms). */
const knownMs = 3_000;

/** Time that an invoice's look-up is told again (ms): any number of polls ask once. */
const lookedMs = 500;

/** Parts of the rail. */
export interface LightningParts extends BookParts {
  readonly clock: Clock;
  readonly lnd: Lnd;
  readonly network: Network;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

/** Amount that can be received now. */
export interface Liquidity {
  /** Satoshi; null where the node did not say. */
  readonly inboundSat: bigint | null;
  readonly network: string | null;
  /** Why nothing can be received, a sentence; null where it can. */
  readonly reason: string | null;
  readonly checkedAtMs: number;
}

/** A wish for an order, without what the rail itself knows. */
export type LightningWish = Omit<
  NewOrder,
  'id' | 'rail' | 'network' | 'place' | 'reference' | 'addressIndex' | 'confirmationsRequired' | 'lifeMs'
>;

/** The invoice could not be made; a sentence for buyers. */
export interface RailUnavailable {
  readonly kind: 'rail unavailable';
  readonly reason: string;
}

/** The rail of one process. */
export class Lightning {
  private readonly known: Recent<Liquidity>;
  private readonly looked: Recent<boolean>;

  constructor(private readonly parts: LightningParts) {
    this.known = new Recent(parts.clock, knownMs);
    this.looked = new Recent(parts.clock, lookedMs);
  }

  /** Amount that can be received now; read every few seconds at most. */
  liquidity(): Promise<Liquidity> {
    return this.known.of(() => this.look());
  }

  /** Readiness for an amount. */
  async canReceive(
    sat: bigint,
  ): Promise<{ readonly ready: true } | { readonly ready: false; readonly reason: string }> {
    const { inboundSat, reason } = await this.liquidity();
    if (reason !== null) return { ready: false, reason };
    if ((inboundSat ?? 0n) >= sat) return { ready: true };
    return {
      ready: false,
      reason: `The node can receive ${inboundSat ?? 0n} sat over Lightning now, not ${sat}.`,
    };
  }

  /** The check of the rail: of a tier's price, or of the smallest. */
  check(priceOf: (tier: Parameters<RailCheck>[0]) => bigint): RailCheck {
    return (tier) => this.canReceive(priceOf(tier));
  }

  /** Makes an invoice and the order for it; on disk when it resolves. */
  async create(wish: LightningWish): Promise<MadeOrder | RailUnavailable> {
    const ready = await this.canReceive(BigInt(wish.sat));
    if (!ready.ready) return { kind: 'rail unavailable', reason: ready.reason };
    const { lnd, network, randomness } = this.parts;
    const id = newOrderId(randomness);
    const made = await lnd.addInvoice(BigInt(wish.sat), `Fusegate ${wish.tier}, order ${id}`, invoiceS);
    if (made.kind === 'failed') return { kind: 'rail unavailable', reason: this.told(made) };
    const { paymentHash, bolt11 } = made.value;
    const wrong = invoiceFault(bolt11, paymentHash, BigInt(wish.sat), network);
    if (wrong !== undefined) {
      this.parts.log.error({ reason: wrong }, 'LND made an invoice that is not what was asked for');
      return { kind: 'rail unavailable', reason: 'The Lightning node made an invoice that does not fit.' };
    }
    const order = await makeOrder(this.parts, {
      ...wish,
      id,
      rail: 'lightning',
      network,
      place: paymentHash,
      reference: bolt11,
      addressIndex: null,
      confirmationsRequired: 0,
      lifeMs: invoiceS * 1_000,
    });
    if (order.kind === 'taken') throw new Error('LND gave a payment hash twice');
    return order;
  }

  /** Looks at what LND says of an order's invoice, where that may have changed the order. */
  async refresh(order: OrderRecord): Promise<void> {
    if (order.open) await this.lookUpSoon(order);
  }

  /**
   * Looks every open order up, as a stream of LND's could miss what happened while it was down. Resolves to
   * how many were looked at; undefined where the store or LND does not answer, or the lease of the fence has
   * another holder by now.
   */
  async reconcile(fence?: Fence): Promise<number | undefined> {
    return whenUnavailable(this.lookUpAll(fence), () => undefined);
  }

  private async lookUpAll(fence?: Fence): Promise<number | undefined> {
    let looked = 0;
    for await (const order of openOrders(this.parts.store, 'lightning')) {
      looked += 1;
      if (!(await this.lookUp(order, fence))) return undefined;
    }
    return looked;
  }

  /** Looks an order up, unless that was just done; a node that does not answer changes nothing. */
  private async lookUpSoon(order: OrderRecord): Promise<void> {
    await this.looked.of(() => whenUnavailable(this.lookUp(order), () => false), order.id);
  }

  /** Looks an order up; false: LND does not answer. */
  private async lookUp(order: OrderRecord, fence?: Fence): Promise<boolean> {
    const answer = await this.parts.lnd.invoice(order.place);
    if (answer.kind === 'failed') {
      this.told(answer);
      return answer.absent;
    }
    if (answer.value.state === 'open' || answer.value.state === 'accepted') return true;
    const parts = { ...this.parts, ...(fence === undefined ? {} : { fence }) };
    await happen(parts, order.id, { kind: 'invoice', ...answer.value });
    return true;
  }

  private async look(): Promise<Liquidity> {
    const { lnd, clock } = this.parts;
    const checkedAtMs = clock.wallMs();
    const [info, inbound] = await Promise.all([lnd.info(), lnd.inbound()]);
    const unknown = { inboundSat: null, network: null, checkedAtMs } as const;
    if (info.kind === 'failed') return { ...unknown, reason: this.told(info) };
    if (inbound.kind === 'failed') return { ...unknown, reason: this.told(inbound) };
    const reason = this.faultOf(info.value);
    return { inboundSat: inbound.value, network: info.value.network, reason, checkedAtMs };
  }

  /** Why a node that answers cannot be paid. */
  private faultOf({ network, syncedToChain, activeChannels }: NodeInfo): string | null {
    const expected = this.parts.network;
    if (network !== expected) return `The Lightning node is on ${network}, not on ${expected}.`;
    if (!syncedToChain) return 'The Lightning node is catching up with the chain.';
    return activeChannels === 0 ? 'The Lightning node has no active channel.' : null;
  }

  /** Tells the operator what LND said; gives what buyers are told. */
  private told({ reason }: LndFailure): string {
    this.parts.log.warn({ reason }, 'the Lightning node cannot be used');
    return 'The Lightning node does not answer.';
  }
}

/** Why an invoice is not the one that was asked for, if so. */
function invoiceFault(
  bolt11: string,
  paymentHash: string,
  sat: bigint,
  network: Network,
): string | undefined {
  try {
    const { sections } = decode(bolt11);
    const find = (name: string): unknown => {
      const section = sections.find((each) => each.name === name);
      return section !== undefined && 'value' in section ? section.value : undefined;
    };
    const chain = find('coin_network') as { readonly bech32?: string } | undefined;
    if (chain?.bech32 !== prefixes[network]) return `it is not of ${network}`;
    if (find('payment_hash') !== paymentHash) return 'it has another payment hash';
    return find('amount') === String(sat * 1_000n) ? undefined : 'it has another amount';
  } catch (error) {
    return reasonOf(error);
  }
}
