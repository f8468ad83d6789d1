/**
 * Admission: checks and counts an API key or an address by a request's head (contract, Authentication). For a
 * key that this process knows one native call decides everything.
 */
import type { Answer } from '../contract/exchange.js';
import { tiers as tierNames } from '../contract/pricing.js';
import type { RouteLimit } from '../contract/routes.js';
import type { Access as NativeAccess, AdmitOutcome } from '../native/index.js';
import { dayMs, type Clock, type Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';
import type { Metric } from '../system/metrics.js';
import { clientAddress, proxyLook, untrustedProxy } from './address.js';
import type { CallerHead, ClientAddress, Head } from './address.js';
import { Keyring, type KeySource, type KnownKey, type UsageSource } from './keyring.js';
import { limitedAs, limitedByRoute, limitMetrics, type Limited } from './limited.js';
import { noRateLimit, rateLimit } from './rateLimit.js';
import type { AccessMode } from './mode.js';
import { facts, factsRoom, kinds, outcomes, statuses } from './nativeDecision.js';
import {
  keyRefusals,
  keyRequired,
  liftAnonymous,
  liftTier,
  differingKeys,
  overCrowd,
  overLookUps,
  overMinute,
  overMonth,
  overNetwork,
  revokedKey,
  storeUnavailable,
  suspendedKey,
} from './refusals.js';
import { sentKey } from './sentKey.js';
import { storingLimit, usageRoom } from './storing.js';
import type { Tiers } from './tiers.js';
import { UsageFlush, usageFlushMs, type UsageDelta } from './usage.js';

/** Decision about one request. */
export interface Admission {
  /** The answer that refuses it; undefined: it is admitted. */
  readonly refusal: Answer | undefined;
  /** Values of the header fields that every answer to it carries; `""` omits the field. */
  readonly rateLimit: string;
  readonly rateLimitPolicy: string;
  /** Requests left in the minute; undefined: no limit. */
  readonly remaining?: number | undefined;
  /** Adds the characters of a 200 to the caller's month. */
  readonly charge: (characters: number) => void;
  /** The address of an admitted caller without a key, if it was needed; absent if there is a key. */
  readonly address?: Uint8Array | undefined;
  /** The accepted key; absent if there is none. */
  readonly key?: string | undefined;
}

/** Parts of access. */
export interface AccessParts {
  /** The process's table of keys and the machine's limits; its tiers are in the order of `keyTiers`. */
  readonly native: NativeAccess;
  /** SHA-256 of a key's characters; null if the text is not a key. */
  readonly hashKey: (key: string) => Buffer | null;
  readonly tiers: Tiers;
  /** Mode for callers without a key; absent: `metered`. */
  readonly mode?: AccessMode;
  /** Requests a minute per address, for each route with such a limit; 0: no limit. */
  readonly routeLimits: Readonly<Record<RouteLimit, number>>;
  /** Limit on what a /24 or a /48 sends to be stored (kB a minute); 0 or absent: no limit. */
  readonly storedKbPerMinute?: number;
  readonly trustedProxies: readonly string[];
  readonly keys: KeySource;
  /** Absent: usage lasts as long as the server runs. */
  readonly usage?: UsageSource;
  readonly clock: Clock;
  readonly log: Log;
}

/** Unknown keys that an address may send in a minute; a key that proves known does not count. */
export const UNKNOWN_KEYS_PER_MINUTE = 60;

const keyLength = 52;
/** A month for character limits (ms). */
export const monthMs = 30 * dayMs;
const nothing = (): void => undefined;

// With all members: V8 gives an object that spreads another and adds a member a map of its own, each time.
const unlimited: Admission = {
  refusal: undefined,
  ...noRateLimit,
  charge: nothing,
  remaining: undefined,
  address: undefined,
  key: undefined,
};

/** The limit on look-ups of unknown keys by an address; every 401 shows how many are left. */
const lookUps = limitedAs({ requests_per_minute: UNKNOWN_KEYS_PER_MINUTE, characters_per_month: 0 }, '', '');

/** The access of one process. It hands charges over every five seconds until closed. */
export class Access {
  private readonly told = factsRoom();
  private readonly lookForProxy: ReturnType<typeof proxyLook>;
  private readonly addressOf: ClientAddress;
  private readonly keyring: Keyring;
  private readonly usageFlush: UsageFlush | undefined;
  private readonly timer: Timer;
  private readonly byTier: readonly Limited[];
  private readonly anonymous: Limited;
  private readonly needsKey: boolean;
  private readonly refusals: ReturnType<typeof keyRefusals>;
  private readonly byRoute: Readonly<Record<RouteLimit, Limited>>;
  private seesProxy = false;
  private uncounted = 0;
  private crowded = 0;
  private unstored = 0;

  constructor(private readonly parts: AccessParts) {
    const { tiers, native, clock, usage, log, routeLimits, mode = 'metered' } = parts;
    this.needsKey = mode === 'keys';
    this.refusals = keyRefusals(mode);
    const storing = storingLimit(parts, () => (this.crowded += 1));
    this.store = (limit, ...what) => (routeLimits[limit] === 0 ? undefined : storing.take(...what));
    this.stored = (limit, ...what) => (routeLimits[limit] === 0 ? undefined : storing.spend(...what));
    this.lookForProxy = proxyLook((peer) => {
      if (!this.seesProxy) parts.log.warn({ peer: Buffer.from(peer).toString('hex') }, untrustedProxy);
      this.seesProxy = true;
    });
    this.addressOf = clientAddress(parts.trustedProxies, this.lookForProxy);
    this.byTier = tierNames.map((name) => limitedAs(tiers[name], `a key of tier ${name}`, liftTier));
    const lifts = [liftAnonymous('minute'), liftAnonymous('month')] as const;
    this.anonymous = limitedAs(tiers.anonymous, 'an address without a key', ...lifts);
    this.byRoute = limitedByRoute(routeLimits);
    this.keyring = new Keyring(parts.keys, {
      know: (key) => this.know(key),
      forget: (hash) => native.forgetKey(hash),
      forgetAll: () => native.forgetKeys(),
    });
    const raise = (subject: Uint8Array, monthStartMs: number, total: number): void =>
      native.raiseUsage(subject, monthStartMs, total, clock.machineMicros());
    const ledger = {
      takeCharged: () => native.takeCharged(),
      owe: ({ subject, days, ...month }: UsageDelta) =>
        native.owe({ ...month, subject: Buffer.from(subject), days: [...days] }),
      raise,
    };
    const mayMake = usageRoom(storing, () => (this.unstored += 1));
    this.usageFlush = usage === undefined ? undefined : new UsageFlush(usage, ledger, log, mayMake);
    this.timer = clock.every(usageFlushMs, () => void this.flush());
  }

  /**
   * Decides about a request to a route for keys; a promise only if the store must be asked. `needsAddress`:
   * the admission of a caller without a key has the address even if nothing is counted by it.
   */
  readonly keyed = (head: CallerHead, needsAddress = false): Admission | Promise<Admission> => {
    const key = sentKey(head);
    if (key === '') return this.admitAnonymous(head, needsAddress);
    if (key === undefined) return this.refused(differingKeys, this.addressOf(head));
    if (key.length !== keyLength) return this.refused(this.refusals.invalid, this.addressOf(head));
    return this.admitKey(key, () => this.addressOf(head));
  };

  /** True once per `everyMs` for an order, across processes: the poll then looks up the payment. */
  readonly mayLookUp = (id: string, everyMs: number): boolean => {
    const { native, clock } = this.parts;
    return native.firstIn(kinds.orderLooks, Buffer.from(id), everyMs, clock.machineMicros());
  };

  /**
   * Decides about a request to a route with a limit by address. `counts`: a second limit, which counts the
   * charged amount; a request is refused while that limit allows none.
   */
  readonly limited = (limit: RouteLimit, head: Head, counts?: RouteLimit): Admission => {
    if (counts === undefined) return this.byAddress(limit, head);
    const second = this.byAddress(counts, head);
    if (second.refusal !== undefined) return second;
    const { requests_per_minute: perMinute } = this.byRoute[counts].limits;
    const address = this.addressOf(head);
    const first = this.byAddress(limit, head);
    if (perMinute === 0) return first;
    const { native, clock } = this.parts;
    if (first.refusal !== undefined) {
      native.giveBack(kinds[counts], address, perMinute);
      return first;
    }
    // Admission has counted one already.
    const charge = (count: number): void =>
      native.spend(kinds[counts], address, perMinute, count - 1, clock.machineMicros());
    return { ...first, charge };
  };

  /**
   * Charges bytes to the storing limit of the address's network; returns the answer if it refuses them. If
   * `limit` is switched off, the storing limit is, too.
   */
  readonly store: (limit: RouteLimit, address: Uint8Array, bytes: number) => Answer | undefined;

  /** Charges bytes that are stored already, even beyond the limit: later requests then wait. */
  readonly stored: (limit: RouteLimit, address: Uint8Array, bytes: number) => void;

  /** SHA-256 of the first key in a chain of replacements; null for a malformed key. */
  readonly holderOf = (key: string): Uint8Array | null => {
    const { native, hashKey } = this.parts;
    return native.usageSubject(key)?.subarray(1) ?? hashKey(key);
  };

  /** Sentences for the operator about how requests arrive. */
  readonly warnings = (): readonly string[] => (this.seesProxy ? [untrustedProxy] : []);

  /** The record of the key with this SHA-256 changed; called within a second of the change. */
  readonly changed = (hash: Uint8Array): void => this.keyring.changed(hash);

  /** Any key's record may have changed. */
  readonly allChanged = (): void => this.keyring.allChanged();

  /** Hands charges over; resolves when they are durable, or are queued for the next time. */
  readonly flush = async (): Promise<void> => {
    if (this.usageFlush === undefined) this.parts.native.takeCharged();
    else await this.usageFlush.flush();
  };

  /** Stops the timer and hands over the last charges. */
  readonly close = async (): Promise<void> => {
    this.timer.stop();
    await this.flush();
  };

  readonly metrics = (): Metric[] => limitMetrics(this.uncounted, this.crowded, this.unstored);

  private byAddress(limit: RouteLimit, head: Head): Admission {
    const limited = this.byRoute[limit];
    const address = this.addressOf(head);
    if (limited.limits.requests_per_minute === 0) return { ...unlimited, address };
    const outcome = this.askForAddress(kinds[limit], address, limited, head.isHead());
    return this.decided(outcome, limited, nothing, address);
  }

  /** Decides about a key. Calls `addressOf`, at once, if the key is invalid or the store must be asked. */
  private admitKey(key: string, addressOf: () => Uint8Array): Admission | Promise<Admission> {
    const { native, clock } = this.parts;
    const outcome = native.admitKey(key, clock.machineMicros(), clock.wallMs(), this.told);
    switch (outcome) {
      case outcomes.Unknown:
        return this.lookUp(key, addressOf());
      case outcomes.Unloaded:
        return this.loadKeyUsage(key, this.fact(facts.MonthStartMs), addressOf());
      case outcomes.Expired:
        return this.refused(this.refusals.expired, addressOf());
      case outcomes.Revoked:
        return this.refused(revokedKey, addressOf());
      case outcomes.Suspended:
        return this.refused(suspendedKey, addressOf());
    }
    const limited = this.byTier[this.fact(facts.Tier)];
    if (outcome === outcomes.Malformed || limited === undefined)
      return this.refused(this.refusals.invalid, addressOf());
    const monthStartMs = this.fact(facts.MonthStartMs);
    const charge = (characters: number): void => this.chargeKey(key, monthStartMs, characters);
    return this.decided(outcome, limited, charge, undefined, key);
  }

  /** Charges a key's holder; looks the key up again first if its record changed meanwhile. */
  private chargeKey(key: string, monthStartMs: number, characters: number): void {
    const { native, clock } = this.parts;
    const charge = (): boolean =>
      native.chargeKey(key, monthStartMs, characters, clock.machineMicros(), clock.wallMs());
    if (charge()) return;
    const hash = this.parts.hashKey(key);
    if (hash !== null) void this.keyring.lookUp(hash).then(charge, nothing);
  }

  /**
   * Asks the store about a well-formed key. An address may send a limited number of unknown keys a minute, so
   * that they are no cheap way to load the store. A key that proves known does not count.
   */
  private lookUp(key: string, address: Uint8Array): Admission | Promise<Admission> {
    const hash = this.parts.hashKey(key);
    if (hash === null) return this.refused(this.refusals.invalid, address);
    const outcome = this.askForAddress(kinds.unknownKeys, address, lookUps);
    const told = this.decided(outcome, lookUps, nothing);
    if (told.refusal !== undefined) return { ...told, refusal: overLookUps(this.fact(facts.RetrySeconds)) };
    return this.keyring.lookUp(hash).then((found) => {
      if (found === 'none') return { ...told, refusal: this.refusals.invalid };
      this.parts.native.giveBack(kinds.unknownKeys, address, UNKNOWN_KEYS_PER_MINUTE);
      return found === 'known' ? this.admitKey(key, () => address) : { ...told, refusal: storeUnavailable };
    });
  }

  /** Refuses without a look-up, and does not count one. */
  private refused(refusal: Answer, address: Uint8Array): Admission {
    const outcome = this.askForAddress(kinds.unknownKeys, address, lookUps);
    const told = this.decided(outcome, lookUps, nothing);
    if (told.refusal === undefined) {
      this.parts.native.giveBack(kinds.unknownKeys, address, UNKNOWN_KEYS_PER_MINUTE);
    }
    return { ...told, refusal };
  }

  private know(key: KnownKey): void {
    const tier = tierNames.findIndex((name) => name === key.tier);
    if (tier < 0) throw new Error(`Key ${key.id} has a tier that is not sold`);
    const { hash, countedAs, issuedAtMs, expiresAtMs } = key;
    const status = statuses[key.status];
    this.parts.native.knowKey(hash, countedAs ?? hash, tier, issuedAtMs, expiresAtMs, status);
  }

  private admitAnonymous(head: CallerHead, needsAddress: boolean): Admission | Promise<Admission> {
    const { limits } = this.anonymous;
    const isLimited = limits.requests_per_minute !== 0 || limits.characters_per_month !== 0;
    if (!this.needsKey && !isLimited && !needsAddress && this.parts.trustedProxies.length === 0) {
      // Reading the peer's address takes longer than all the rest.
      this.lookForProxy(head);
      return unlimited;
    }
    const address = this.addressOf(head);
    if (this.needsKey) return this.refused(keyRequired, address);
    if (!isLimited) return { ...unlimited, address };
    const outcome = this.askForAddress(kinds.anonymous, address, this.anonymous);
    if (outcome === outcomes.Unloaded) return this.loadAddressUsage(address);
    return this.decideAnonymous(outcome, address);
  }

  private decideAnonymous(outcome: AdmitOutcome, address: Uint8Array): Admission {
    const { native, clock } = this.parts;
    const monthStartMs = this.fact(facts.MonthStartMs);
    const charge = (characters: number): void => {
      // No month is limited, or the address has no slot of its own: its characters are not counted.
      if (monthStartMs === 0) return;
      native.chargeAddress(kinds.anonymous, address, monthStartMs, characters, clock.machineMicros());
    };
    return this.decided(outcome, this.anonymous, charge, address);
  }

  private loadKeyUsage(
    key: string,
    monthStartMs: number,
    address: Uint8Array,
  ): Admission | Promise<Admission> {
    const again = (): Admission | Promise<Admission> => this.admitKey(key, () => address);
    const subject = this.parts.native.usageSubject(key);
    return subject === null ? again() : this.loadUsage(subject, monthStartMs, again);
  }

  private loadAddressUsage(address: Uint8Array): Admission | Promise<Admission> {
    const subject = Buffer.concat([Uint8Array.of(kinds.anonymous), address]);
    const ask = (): AdmitOutcome => this.askForAddress(kinds.anonymous, address, this.anonymous, false, true);
    const again = (): Admission => this.decideAnonymous(ask(), address);
    return this.loadUsage(subject, this.parts.clock.wallMs(), again);
  }

  /**
   * Loads a month's usage and asks again. If the store does not answer, its part counts as zero until it
   * stores the next charge and returns the total: callers are not refused for our fault.
   */
  private loadUsage(
    subject: Buffer,
    monthStartMs: number,
    again: () => Admission | Promise<Admission>,
  ): Admission | Promise<Admission> {
    const { native, usage, clock } = this.parts;
    const load = (startMs: number, characters: number): Admission | Promise<Admission> => {
      native.loadUsage(subject, startMs, characters, clock.machineMicros());
      return again();
    };
    if (usage === undefined) return load(monthStartMs, 0);
    return usage.load(subject).then((kept) => {
      if (kept === undefined || kept === 'unavailable') return load(monthStartMs, 0);
      return load(kept.monthStartMs, kept.characters);
    });
  }

  /** `isLoaded`: asks again once usage is loaded, without counting the address's networks twice. */
  private askForAddress(
    kind: number,
    address: Uint8Array,
    { limits }: Limited,
    isHead = false,
    isLoaded = false,
  ): AdmitOutcome {
    const { native, clock } = this.parts;
    return native.admitAddress(
      kind,
      address,
      limits.requests_per_minute,
      limits.characters_per_month,
      isHead,
      isLoaded,
      clock.machineMicros(),
      clock.wallMs(),
      this.told,
    );
  }

  /** Turns the native module's decision into an admission. */
  private decided(
    outcome: AdmitOutcome,
    limited: Limited,
    charge: Admission['charge'],
    address?: Uint8Array,
    key?: string,
  ): Admission {
    if (outcome === outcomes.Uncounted) this.uncounted += 1;
    if (outcome === outcomes.Crowded || outcome === outcomes.OverCrowd) this.crowded += 1;
    const remaining = limited.policy === '' ? undefined : this.fact(facts.Remaining);
    const fields = remaining === undefined ? '' : rateLimit(remaining, this.fact(facts.FullInSeconds));
    const passes =
      outcome === outcomes.Admitted || outcome === outcomes.Uncounted || outcome === outcomes.Crowded;
    const refusal = passes ? undefined : this.refusal(outcome, limited);
    const { policy: rateLimitPolicy } = limited;
    return { refusal, rateLimit: fields, rateLimitPolicy, remaining, charge, address, key };
  }

  private refusal(outcome: AdmitOutcome, { limits, who, lift }: Limited): Answer {
    const retrySeconds = this.fact(facts.RetrySeconds);
    if (outcome === outcomes.OverMinute) {
      return overMinute(limits.requests_per_minute, who, retrySeconds, lift.minute);
    }
    if (outcome === outcomes.OverNetwork) return overNetwork(retrySeconds, lift.minute);
    if (outcome === outcomes.OverCrowd) return overCrowd(retrySeconds, lift.minute);
    const endMs = this.fact(facts.MonthStartMs) + monthMs;
    return overMonth(limits.characters_per_month, who, endMs, retrySeconds, lift.month);
  }

  private fact(index: number): number {
    return this.told[index] ?? 0;
  }
}
