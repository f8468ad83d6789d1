/** Access for the tests: keys and usage in memory, a clock set by hand, limits in a file of their own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { Head } from '../../src/access/address.js';
import { Access, type AccessParts } from '../../src/access/admission.js';
import type { KeySource, KnownKey, MonthUsage, UsageSource } from '../../src/access/keyring.js';
import { keyTiers, readTiers, type Tiers } from '../../src/access/tiers.js';
import { native } from '../../src/native/addon.js';
import { systemClock, type Clock } from '../../src/system/clock.js';
import { createLog } from '../../src/system/log.js';
import { systemRandomness } from '../../src/system/randomness.js';

/** The tiers that ship. */
export function shippedTiers(): Tiers {
  const read = readTiers(null, { anonymousRequestsPerMinute: null, anonymousCharactersPerMonth: null });
  if ('errors' in read) throw new Error(read.errors.join('\n'));
  return read.tiers;
}

/** The shipped tiers without limits for those without a key. */
export function openTiers(): Tiers {
  return { ...shippedTiers(), anonymous: { requests_per_minute: 0, characters_per_month: 0 } };
}

/** A clock whose time moves only when told; its timers do not run. */
export class SetClock implements Clock {
  private elapsedMs = 0;
  readonly after = systemClock.after;
  readonly every = () => ({ stop: () => undefined });

  constructor(private readonly startMs = 1_800_000_000_000) {}

  pass(ms: number): void {
    this.elapsedMs += ms;
  }

  readonly sleep = (ms: number): Promise<void> => {
    this.pass(ms);
    return Promise.resolve();
  };

  readonly wallMs = (): number => this.startMs + this.elapsedMs;
  readonly monotonicMs = (): number => this.elapsedMs;
  readonly machineMicros = (): number => 1e9 + this.elapsedMs * 1000;
}

/** Keys in memory, and how often one was looked for. */
export class MemoryKeys implements KeySource {
  readonly records = new Map<string, KnownKey>();
  available = true;
  finds = 0;

  /** Makes a key and its record. */
  issue(given: Partial<KnownKey> = {}): { key: string; hash: Buffer } {
    const key = native.writeKey(systemRandomness(32));
    const hash = native.hashKey(key);
    if (hash === null) throw new Error('a written key is none');
    const record = { id: 'key_1', tier: 'developer', issuedAtMs: 1_800_000_000_000, expiresAtMs: null };
    const added = { status: 'active', hash, countedAs: null, ...given } as const;
    this.records.set(hash.toString('hex'), { ...record, ...added });
    return { key, hash };
  }

  /** Changes a key's record, as an operator does. */
  change(hash: Buffer, given: Partial<KnownKey>): void {
    const record = this.records.get(hash.toString('hex'));
    if (record === undefined) throw new Error('no such key');
    this.records.set(hash.toString('hex'), { ...record, ...given });
  }

  find(hash: Uint8Array): Promise<KnownKey | undefined | 'unavailable'> {
    this.finds += 1;
    const found = this.records.get(Buffer.from(hash).toString('hex'));
    return Promise.resolve(this.available ? found : 'unavailable');
  }
}

/** Usage in memory. */
export class MemoryUsage implements UsageSource {
  readonly months = new Map<string, MonthUsage>();
  available = true;
  loads = 0;

  load(subject: Uint8Array): Promise<MonthUsage | undefined | 'unavailable'> {
    this.loads += 1;
    const kept = this.months.get(Buffer.from(subject).toString('hex'));
    return Promise.resolve(this.available ? kept : 'unavailable');
  }

  add(
    subject: Uint8Array,
    { monthStartMs, characters, days }: MonthUsage,
    mayMake?: () => boolean,
  ): Promise<number | 'unavailable' | 'refused'> {
    if (!this.available) return Promise.resolve('unavailable');
    const name = Buffer.from(subject).toString('hex');
    const kept = this.months.get(name);
    if (kept === undefined && mayMake?.() === false) return Promise.resolve('refused');
    const before = kept?.monthStartMs === monthStartMs ? kept.characters : 0;
    const all = [...(kept?.days ?? []), ...days];
    this.months.set(name, { monthStartMs, characters: before + characters, days: all });
    return Promise.resolve(before + characters);
  }
}

/** A file of limits that is removed when the tests are over. */
export function limitsFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-access-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'limits');
  native.createLimits(path, systemRandomness(16));
  return path;
}

/** What a test may set of {@link testAccess}. */
export interface TestAccessParts extends Partial<Omit<AccessParts, 'routeLimits'>> {
  /** Limits other than those that ship. */
  readonly routeLimits?: Partial<AccessParts['routeLimits']>;
  /** A file of limits that several accesses share, as workers do. */
  readonly file?: string;
}

/** Access with no keys, the tiers that ship and limits of its own, unless told otherwise. */
export function testAccess({ file, routeLimits, ...given }: TestAccessParts = {}): Access {
  const tiers = given.tiers ?? shippedTiers();
  return new Access({
    native: given.native ?? new native.Access(file ?? limitsFile(), keyTiers(tiers)),
    hashKey: native.hashKey,
    tiers,
    routeLimits: {
      ...{ audits: 6, leads: 10, checkout: 10, submissions: 60, previews: 60, markers: 300, clicks: 600 },
      ...{ explorations: 300, polls: 120, pages: 600, cardEvents: 6_000 },
      ...routeLimits,
    },
    trustedProxies: [],
    keys: new MemoryKeys(),
    clock: systemClock,
    log: createLog('silent'),
    ...given,
  });
}

/** A request's head from `peer`, with header fields by lower-case name; several lines in an array. */
export function headFrom(
  peer: readonly number[],
  fields: Readonly<Record<string, string | readonly string[]>> = {},
): Head {
  const lines = (name: string): readonly string[] => [fields[name] ?? []].flat();
  return {
    field: (name) => lines(name)[0] ?? '',
    allOf: (name) => lines(name).join(', '),
    peer: () => Uint8Array.from(peer),
    isHead: () => false,
  };
}
