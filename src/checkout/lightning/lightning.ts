/** Orders paid over Lightning (contract, Checkout; BOLT 11): invoices of the operator's own LND node. */
import { decode } from 'light-bolt11-decoder';
import type { Clock } from '../../system/clock.js';
import type { Log } from '../../system/log.js';
import type { LightningOrder } from '../../store/tables/lightningOrder.js';
import type { Network } from '../../store/tables/orderRow.js';
import type { Fence } from '../../store/store.js';
import { reasonOf } from '../../system/reason.js';
import { Recent } from '../../system/shared.js';
import {
  apply,
  makeOrder,
  newOrderId,
  type BookParts,
  type MadeOrder,
  type OrderWish,
} from '../order/book.js';
import type { Lnd, LndFailure, NodeInfo } from '../lnd.js';
import { LookUps, type MayLook } from '../order/lookUps.js';
import type { Rail, RailUnavailable, Readiness, RoundWish } from '../rail.js';

/** Prefix of each network's invoices (BOLT 11). */
const prefixes: Readonly<Record<Network, string>> = {
  mainnet: 'bc',
  testnet: 'tb',
  signet: 'tbs',
  regtest: 'bcrt',
};

/** Lifetime of an invoice (s). */
const invoiceS = 900;

/** Time from an order's expiry after which an invoice that LND does not have is over (ms). */
const forgottenMs = 3_600_000;

/** Lifetime of the cached node status (ms). */
const knownMs = 3_000;

/** Lifetime of an invoice's cached look-up (ms): any number of polls cause one request. */
const lookedMs = 1_000;

/** Parts of the rail. */
export interface LightningParts extends BookParts {
  readonly clock: Clock;
  /** See {@link LookUps}. */
  readonly mayLook?: MayLook;
  readonly lnd: Lnd;
  readonly network: Network;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

/** The amount that can be received now. */
export interface Liquidity {
  /** Satoshi; null if the node did not say. */
  readonly inboundSat: bigint | null;
  /** The part over channels that the network knows. */
  readonly announcedSat: bigint;
  readonly network: string | null;
  /** Why nothing can be received, a sentence; null if it can. */
  readonly reason: string | null;
  readonly checkedAtMs: number;
}

/** The rail of one process. */
export class Lightning implements Rail<LightningOrder, OrderWish, MadeOrder<LightningOrder>> {
  private readonly known: Recent<Liquidity>;
  private readonly lookUps: LookUps<'lightning'>;

  constructor(private readonly parts: LightningParts) {
    this.known = new Recent(parts.clock, knownMs);
    const lookUp = (order: LightningOrder, fence?: Fence): Promise<boolean> => this.lookUp(order, fence);
    this.lookUps = new LookUps({ ...parts, rail: 'lightning', freshMs: lookedMs, lookUp });
  }

  /** The amount that can be received now; read at most every few seconds. */
  liquidity(): Promise<Liquidity> {
    return this.known.of(() => this.look());
  }

  async check(sat: bigint): Promise<Readiness> {
    const { inboundSat, reason } = await this.liquidity();
    if (reason !== null) return { ready: false, reason };
    // Null only if there is a reason.
    const inbound = inboundSat ?? 0n;
    if (inbound >= sat) return { ready: true };
    const short = `The node can receive ${inbound} sat over Lightning now, not ${sat}.`;
    return { ready: false, reason: short };
  }

  async create(wish: OrderWish): Promise<MadeOrder<LightningOrder> | RailUnavailable> {
    const ready = await this.check(wish.sat);
    if (!ready.ready) return { kind: 'rail unavailable', reason: ready.reason };
    const { lnd, network, randomness } = this.parts;
    const id = newOrderId(randomness);
    // Names of unannounced channels say more of the node than others need to know.
    const hints = (await this.liquidity()).announcedSat < wish.sat;
    const made = await lnd.addInvoice(wish.sat, `Fusegate ${wish.tier}, order ${id}`, invoiceS, hints);
    if (made.kind === 'failed') return { kind: 'rail unavailable', reason: this.told(made) };
    const { paymentHash, bolt11 } = made.value;
    const wrong = invoiceFault(bolt11, paymentHash, wish.sat, network);
    if (wrong !== undefined) {
      this.parts.log.error({ reason: wrong }, 'LND made an invoice that differs from the request');
      return { kind: 'rail unavailable', reason: 'The Lightning node made a wrong invoice.' };
    }
    const order = await makeOrder(this.parts, {
      ...wish,
      id,
      rail: 'lightning',
      network,
      place: paymentHash,
      bolt11,
      lifeMs: invoiceS * 1_000,
    });
    if (order.kind === 'taken') throw new Error('LND gave a payment hash twice');
    return order;
  }

  refresh(order: LightningOrder): Promise<LightningOrder> {
    return this.lookUps.refresh(order);
  }

  /** Asks about every open order: a stream from LND could miss changes while it was down. */
  reconcile(wish?: RoundWish): Promise<number | undefined> {
    return this.lookUps.reconcile(wish);
  }

  /** Looks an order up; false if LND does not answer. */
  private async lookUp(order: LightningOrder, fence?: Fence): Promise<boolean> {
    const answer = await this.parts.lnd.invoice(order.place);
    if (answer.kind === 'failed') {
      this.told(answer);
      if (answer.absent) await this.endForgotten(order, fence);
      return answer.absent;
    }
    if (answer.value.state === 'open' || answer.value.state === 'accepted') return true;
    await apply({ ...this.parts, fence }, order.id, { kind: 'invoice', ...answer.value });
    return true;
  }

  /** Ends an order whose invoice LND has no more: it may delete what it has canceled. */
  private async endForgotten(order: LightningOrder, fence?: Fence): Promise<void> {
    const { lnd, clock, network } = this.parts;
    if (clock.wallMs() < order.expiresAtMs + forgottenMs) return;
    const info = await lnd.info();
    if (info.kind === 'failed' || info.value.network !== network) return;
    const canceled = { kind: 'invoice', state: 'canceled', paidSat: 0n, settledAtMs: null } as const;
    await apply({ ...this.parts, fence }, order.id, canceled);
  }

  private async look(): Promise<Liquidity> {
    const { lnd, clock } = this.parts;
    const checkedAtMs = clock.wallMs();
    const [info, inbound] = await Promise.all([lnd.info(), lnd.inbound()]);
    const unknown = { inboundSat: null, announcedSat: 0n, network: null, checkedAtMs } as const;
    if (info.kind === 'failed') return { ...unknown, reason: this.told(info) };
    if (inbound.kind === 'failed') return { ...unknown, reason: this.told(inbound) };
    const reason = this.faultOf(info.value);
    const { sat: inboundSat, announcedSat } = inbound.value;
    return { inboundSat, announcedSat, network: info.value.network, reason, checkedAtMs };
  }

  /** Why a node that answers cannot receive payments. */
  private faultOf({ network, syncedToChain, activeChannels }: NodeInfo): string | null {
    const expected = this.parts.network;
    if (network !== expected) return `The Lightning node is on ${network}, not on ${expected}.`;
    if (!syncedToChain) return 'The Lightning node is catching up with the chain.';
    return activeChannels === 0 ? 'The Lightning node has no active channel.' : null;
  }

  /** Logs LND's answer for the operator; returns the text that buyers get. */
  private told({ reason }: LndFailure): string {
    this.parts.log.warn({ reason }, 'the Lightning node cannot be used');
    return 'The Lightning node does not answer.';
  }
}

/** Why an invoice does not match the request, if so. */
function invoiceFault(
  bolt11: string,
  paymentHash: string,
  sat: bigint,
  network: Network,
): string | undefined {
  try {
    const { sections } = decode(bolt11);
    const find = (name: string): unknown => {
      const section = sections.find((each) => each.name === name) as { readonly value?: unknown } | undefined;
      return section?.value;
    };
    const chain = find('coin_network') as { readonly bech32?: string } | undefined;
    if (chain?.bech32 !== prefixes[network]) return `it is not of ${network}`;
    if (find('payment_hash') !== paymentHash) return 'it has another payment hash';
    return find('amount') === String(sat * 1_000n) ? undefined : 'it has another amount';
  } catch (error) {
    return reasonOf(error);
  }
}
