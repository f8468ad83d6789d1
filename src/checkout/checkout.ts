/** The checkout of one process: the rails that the operator has set up, their routes, and their upkeep. */
import type { Tiers } from '../access/tiers.js';
import type { Handlers } from '../contract/routes.js';
import { Candidate } from '../store/leases.js';
import { keepRate } from '../store/tables/rates.js';
import { whenUnavailable } from '../store/store.js';
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { Bitcoin } from './onchain/bitcoin.js';
import { bitcoinHandlers, bitcoinOrders } from './onchain/bitcoinRoutes.js';
import type { BookParts } from './order/book.js';
import { Card } from './card/card.js';
import { cardHandlers, cardOrders, pickUpCard, type PickUpCard } from './card/cardRoutes.js';
import { Lightning } from './lightning/lightning.js';
import { lightningHandlers, lightningOrders } from './lightning/lightningRoutes.js';
import { Lnd } from './lnd.js';
import type { MayLook } from './order/lookUps.js';
import type { NodeValues } from './nodeSettings.js';
import type { OnChain } from './onchain/onChain.js';
import type { Shop } from './orderRoutes.js';
import { pricesOf, pricing, quote } from './pricing.js';
import {
  checkRoom,
  notConfigured,
  type RailChecks,
  type Readiness,
  type StorageLimit,
  type RoundWish,
} from './rail.js';
import { createRates, type RateParts, type Rates } from './rates.js';
import { gapSentence } from './onchain/scan.js';
import type { CheckoutValues } from './settings.js';
import type { Watcher } from './onchain/watcher.js';

/** Parts of the checkout. */
export interface CheckoutParts extends BookParts, StorageLimit {
  readonly configuration: CheckoutValues & { readonly publicUrl: string | null };
  readonly tiers: Tiers;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn' | 'error' | 'info' | 'debug'>;
  /** This process' id among those that share the store. */
  readonly holder: string;
  /** Fetches a page of a rate source; rejects if it does not arrive in time. */
  readonly getPage: (url: string) => Promise<string>;
  /** Decides whether a poll looks its order up; absent: no other process shares the store. */
  readonly mayLook?: MayLook;
  /** False: the checkout is not served, and nothing is watched or looked up. */
  readonly isServed?: boolean;
}

/** The checkout, running. */
export interface Checkout {
  readonly handlers: Pick<Handlers, 'pricing' | 'quote'> &
    ReturnType<typeof bitcoinHandlers> &
    ReturnType<typeof lightningHandlers> &
    ReturnType<typeof cardHandlers>;
  /** For the pages that sell. */
  readonly shop: Shop;
  readonly pickUpCard: PickUpCard;
  /** Sentences for the operator about parts that work now and may soon fail. */
  readonly warnings: () => Promise<readonly string[]>;
  /** Ends the upkeep. */
  readonly stop: () => Promise<void>;
}

/** Interval of look-ups of all open orders (ms); polls look up their own. */
const reconcileMs = 15_000;

const leaseMs = 30_000;

/** Failed rounds in a row after which a process leaves the lease to one whose node may answer. */
const maxFailedRounds = 3;

/** Pause after them (ms): others ask for the lease every 10 s. */
const restMs = 20_000;

/** The configured LND node; undefined if there is none. */
function lndOf({ lndRestUrl, lndTlsCert, lndMacaroonHex, lndMacaroonPath }: NodeValues, clock: Clock) {
  const macaroon = lndMacaroonHex ?? lndMacaroonPath;
  if (lndRestUrl === null || lndTlsCert === null || macaroon === null) return undefined;
  return new Lnd({ url: lndRestUrl, certificate: lndTlsCert, macaroon }, clock);
}

/** Parts of the rails. */
export type RailsParts = BookParts &
  Pick<CheckoutParts, 'mayLook' | 'clock' | 'log'> & { readonly configuration: NodeValues };

/** The rails that the operator has set up. */
export interface Rails {
  readonly rails: { readonly btc?: Bitcoin; readonly lightning?: Lightning };
  /** Their nodes. */
  readonly nodes: {
    readonly chain?: OnChain;
    readonly lnd?: Lnd;
  };
  /** Ends the connections to their nodes. */
  readonly close: () => void;
}

/**
 * Opens the rails that the configuration names, and loads what they need; `wrong` is a sentence about a
 * setting.
 */
export async function openRails(parts: RailsParts): Promise<Rails | { readonly wrong: string }> {
  const { configuration, clock } = parts;
  const { btcXpub, btcChain, btcNetwork, btcConfirmations } = configuration;
  const lnd = lndOf(configuration, clock);
  const lightning =
    lnd === undefined ? {} : { lightning: new Lightning({ ...parts, lnd, network: btcNetwork }) };
  const nodes = lnd === undefined ? {} : { lnd };
  if (btcXpub === null || btcChain === null) return { rails: lightning, nodes, close: () => lnd?.close() };
  const { openOnChain } = await import('./onchain/onChain.js');
  const onChain = openOnChain({ btcXpub, btcChain, btcNetwork }, lnd, clock);
  if ('wrong' in onChain) return onChain;
  const { maxUnpaidOrders, unpaidOrdersPerAddress } = configuration;
  const limits = { maxUnpaidOrders, unpaidOrdersPerAddress };
  const bitcoin = new Bitcoin({ ...parts, ...onChain, confirmationsRequired: btcConfirmations, ...limits });
  return {
    rails: { btc: bitcoin, ...lightning },
    nodes: { ...nodes, chain: onChain },
    close() {
      lnd?.close();
      onChain.chain.close();
    },
  };
}

/** Parts of the card rail. */
export type CardSources = BookParts &
  Pick<CheckoutParts, 'configuration' | 'tiers' | 'clock' | 'log' | 'getPage'>;

/** The configured card rail, and the rates that all prices are calculated from. */
export async function openCard(
  parts: CardSources,
): Promise<{ readonly card: Card | undefined; readonly rates: Rates }> {
  const { configuration, clock, log, store, getPage: get } = parts;
  const { stripeSecretKey: secretKey, rateSource } = configuration;
  if (secretKey === null) return { card: undefined, rates: createRates(rateSource, { clock, get }) };
  const keep: RateParts['keep'] = (rate) => {
    const kept = keepRate(store, rate);
    void whenUnavailable(kept, ({ message }) => log.warn({ reason: message }, 'a rate was not stored'));
  };
  const rates = createRates(rateSource, { clock, get, keep });
  // Loaded only here: the SDK has hundreds of files.
  const { StripeClient } = await import('./card/stripe.js');
  const card = new Card({
    ...parts,
    rates,
    stripe: new StripeClient({ secretKey, apiBase: configuration.stripeApiBase }),
    webhookReady: configuration.stripeWebhookSecrets.length > 0,
    publicUrl: configuration.publicUrl,
    prices: configuration.stripePrices,
    allowDiscounts: configuration.stripeAllowDiscounts,
  });
  return { card, rates };
}

/** Starts the checkout. @throws Error with a sentence if a setting cannot be used */
export async function startCheckout(parts: CheckoutParts): Promise<Checkout> {
  const { configuration, tiers, clock } = parts;
  const opened = await openRails(parts);
  if ('wrong' in opened) throw new Error(opened.wrong);
  const { btc: bitcoin, lightning } = opened.rails;
  const cheapest = BigInt(
    Math.min(tiers.developer.price_sat, tiers.growth.price_sat, tiers.enterprise.price_sat),
  );
  const { card, rates } = await openCard(parts);
  const checkOf = (
    rail: { readonly check: (sat: bigint) => Promise<Readiness> } | undefined,
    payments: string,
  ): RailChecks['btc'] => {
    if (rail === undefined) return () => notConfigured(payments);
    return (tier) =>
      checkRoom(parts, () => rail.check(tier === undefined ? cheapest : BigInt(tiers[tier].price_sat)));
  };
  const checks: RailChecks = {
    btc: checkOf(bitcoin, 'On-chain payments'),
    lightning: checkOf(lightning, 'Lightning payments'),
    card: checkOf(card, 'Card payments'),
  };
  const prices = { tiers, rails: checks, clock, rates };
  const cardRoutes = { ...parts, card, rates, webhookSecrets: configuration.stripeWebhookSecrets };
  const routes = { ...parts, lightning, claimRequired: configuration.lightningClaim };
  const onChainRoutes = { ...parts, bitcoin };
  const kept = parts.isServed === false ? [] : keepRails(parts, opened.rails);
  return {
    handlers: {
      pricing: pricing(prices),
      quote: quote(prices),
      ...bitcoinHandlers(onChainRoutes),
      ...lightningHandlers(routes),
      ...cardHandlers(cardRoutes),
    },
    shop: {
      prices: () => pricesOf(prices),
      orders: {
        btc: bitcoinOrders(onChainRoutes),
        lightning: lightningOrders(routes),
        card: cardOrders(cardRoutes),
      },
    },
    pickUpCard: pickUpCard(cardRoutes),
    async warnings() {
      const { chain } = opened.nodes;
      const gap =
        chain === undefined || parts.isServed === false
          ? null
          : await gapSentence(parts.store, chain.account);
      return gap === null ? [] : [gap];
    },
    async stop() {
      await Promise.all(kept.map((stop) => stop()));
      opened.close();
    },
  };
}

/** Starts the upkeep of the rails; each returned function stops one part. */
function keepRails(
  parts: CheckoutParts,
  { btc: bitcoin, lightning }: Rails['rails'],
): (() => Promise<void>)[] {
  return [
    ...(lightning === undefined ? [] : [keepReconciled(parts, 'lightning', lightning)]),
    ...(bitcoin === undefined ? [] : [keepBegun(parts, bitcoin), keepBitcoin(parts, bitcoin)]),
  ];
}

/** Has one process search an account that is new to the store, and retry until the node answers. */
function keepBegun(parts: CheckoutParts, bitcoin: Bitcoin): () => Promise<void> {
  return keepReconciled(parts, 'btc account', { reconcile: () => bitcoin.begin() });
}

/**
 * Watches on-chain orders while this process holds the lease; without notifications looks them up in rounds.
 */
function keepBitcoin(parts: CheckoutParts, bitcoin: Bitcoin): () => Promise<void> {
  if (!bitcoin.follows) return keepReconciled(parts, 'btc', bitcoin);
  let watcher: Watcher | undefined;
  let ended: Promise<void> | undefined;
  const onLost = (): void => {
    ended = watcher?.stop();
    watcher = undefined;
  };
  const name = 'orders btc';
  const onHeld = (token: number): void => {
    watcher = bitcoin.watch({ lease: name, token });
  };
  const lease = { name, holder: parts.holder, durationMs: leaseMs, onHeld, onLost };
  const candidate = new Candidate(parts, lease);
  const timer = parts.clock.every(reconcileMs, () => {
    if (watcher !== undefined && watcher.failedRounds >= maxFailedRounds) candidate.rest(restMs);
    candidate.ask();
  });
  candidate.ask();
  return async () => {
    timer.stop();
    await candidate.stop();
    await ended;
  };
}

/** Runs the upkeep at once and every 15 s, in whichever process holds the lease of its name. */
function keepReconciled(
  parts: CheckoutParts,
  name: string,
  rail: { readonly reconcile: (wish: RoundWish) => Promise<number | undefined> },
): () => Promise<void> {
  const { clock, log, holder } = parts;
  const lease = `orders ${name}`;
  let running: Promise<void> | undefined;
  /**
   * When this process' last complete round began; undefined: it had none. What is due since then is looked up
   * whoever held the lease meanwhile.
   */
  let lastMs: number | undefined;
  /** Rounds in a row that were not complete; 0 again with each rest. */
  let failedRounds = 0;
  let stopped = false;
  const round = async (token: number): Promise<void> => {
    const beganMs = clock.wallMs();
    const looked = await rail.reconcile({ fence: { lease, token }, lastMs });
    if (looked !== undefined) lastMs = beganMs;
    if (looked !== undefined && looked > 0) log.debug({ rail: name, looked }, 'open orders were looked up');
    failedRounds = looked === undefined ? failedRounds + 1 : 0;
    if (failedRounds < maxFailedRounds) return;
    failedRounds = 0;
    candidate.rest(restMs);
  };
  const look = (): void => {
    const token = candidate.token();
    // The keeper may take its lease while it stops. Nothing would wait for that round.
    if (stopped || token === undefined) return;
    running ??= round(token).finally(() => (running = undefined));
  };
  const kept = { name: lease, holder, durationMs: leaseMs, onHeld: look, onLost: () => undefined };
  const candidate = new Candidate(parts, kept);
  const timer = clock.every(reconcileMs, () => {
    candidate.ask();
    look();
  });
  candidate.ask();
  return async () => {
    stopped = true;
    timer.stop();
    await running;
    await candidate.stop();
  };
}
