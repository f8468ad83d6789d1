/** Characters that a subject has used in its current month: monthly limits count these. */
import { dayMs } from '../../system/clock.js';
import { findRecord, recordsAfter, removeOver, writeOver } from '../entries.js';
import type { Store } from '../store.js';
import { integer, rows, widenedTable, type ValueOf } from '../table.js';

/** Usage of one day (UTC). */
export interface DayUse {
  /** Days since 1970. */
  readonly day: number;
  /** Requests that were admitted. */
  readonly requests: number;
  /** Code points charged for them. */
  readonly characters: number;
  /** Requests that a limit refused. */
  readonly refused: number;
}

function dayOf([day, requests, characters, refused]: readonly unknown[]): DayUse {
  const numbers = { day, requests, characters, refused };
  if (!Object.values(numbers).every(Number.isSafeInteger))
    throw new Error('A day of usage is not of integers');
  return numbers as DayUse;
}

const month = {
  /** When its month began (wall time, ms). */
  monthStartMs: integer,
  /** Code points since then. */
  characters: integer,
};

const byDay = {
  members: {
    /** The last days with any usage, the oldest first. */
    days: rows(dayOf, ({ day, requests, characters, refused }) => [day, requests, characters, refused]),
  },
  without: { days: [] },
};

const usageTable = widenedTable('usage', month, byDay);

/** Usage of a subject. */
export type Usage = ValueOf<typeof usageTable>;

/** Days of usage that are retained. */
const keptDays = 30;

/** The last days of both lists; equal days are added up. */
function addedDays(before: readonly DayUse[], more: readonly DayUse[]): readonly DayUse[] {
  const days = new Map(before.map((each) => [each.day, each]));
  for (const { day, requests, characters, refused } of more) {
    const found = days.get(day) ?? { requests: 0, characters: 0, refused: 0 };
    days.set(day, {
      day,
      requests: found.requests + requests,
      characters: found.characters + characters,
      refused: found.refused + refused,
    });
  }
  return [...days.values()].sort((left, right) => left.day - right.day).slice(-keptDays);
}

/** Stored usage of a subject, which is a digest: no address is stored in the clear. */
export function findUsage(store: Pick<Store, 'get'>, subject: Uint8Array): Promise<Usage | undefined> {
  return findRecord(store, 'usage', subject, usageTable.decode);
}

/** Decides whether a record may be made. */
type MayMake<Refused> = () => Refused | undefined;

/** An amount to add to a subject's usage once, however often it is tried. */
export class Charge<Refused extends 'refused' = never> {
  private readonly id: Uint8Array;
  private mayMake: MayMake<Refused>;
  private isSent = false;

  constructor(
    private readonly store: Pick<Store, 'get' | 'commit' | 'newUnitId'>,
    private readonly subject: Uint8Array,
    private readonly usage: Usage,
    mayMake: MayMake<Refused>,
  ) {
    this.id = store.newUnitId();
    this.mayMake = mayMake;
  }

  /**
   * True if a try was sent whose outcome is unknown: then only a retry of this same charge counts it once.
   */
  get isUnsure(): boolean {
    return this.isSent;
  }

  /**
   * As {@link addUsage}. After StoreUnavailable it may be called again, for as long as outcomes are stored.
   */
  async add(): Promise<Usage | Refused> {
    const { store, subject, id } = this;
    for (;;) {
      const from = await store.get('usage', subject);
      const refused = from === undefined ? this.mayMake() : undefined;
      if (refused !== undefined) return refused;
      // `mayMake` is called only once.
      this.mayMake = () => undefined;
      const before = from === undefined ? undefined : usageTable.decode(from);
      const total = totalOf(before, this.usage);
      if (total === before) return total;
      const wasSent = this.isSent;
      this.isSent = true;
      const outcome = await store.commit([writeOver('usage', subject, from, usageTable.encode(total))], id);
      if (outcome.kind === 'done') return wasSent ? ((await findUsage(store, subject)) ?? total) : total;
      this.isSent = wasSent;
    }
  }
}

/**
 * Starts that are less apart belong to the same month of 30 days (ms). The month of an address begins with
 * its first request, which two nodes may see at different times, as may one that could not read the record.
 */
const sameMonthMs = 29 * dayMs;

/** Usage of a subject with more added; the same object if nothing changes. */
function totalOf(before: Usage | undefined, { monthStartMs, characters, days }: Usage): Usage {
  if (before === undefined) return { monthStartMs, characters, days: addedDays([], days) };
  const laterMs = monthStartMs - before.monthStartMs;
  if (laterMs <= -sameMonthMs) {
    return days.length === 0 ? before : { ...before, days: addedDays(before.days, days) };
  }
  const ofMonth =
    laterMs < sameMonthMs
      ? {
          monthStartMs: Math.min(before.monthStartMs, monthStartMs),
          characters: before.characters + characters,
        }
      : { monthStartMs, characters };
  return { ...ofMonth, days: addedDays(before.days, days) };
}

/**
 * Adds to a subject's usage in the month that began about `monthStartMs` and returns the month's total. A
 * later month starts at the added amount; a late charge for an earlier month counts for its days alone. A
 * subject without a record gets one unless `mayMake` refuses it.
 */
export function addUsage<Refused extends 'refused' = never>(
  store: Store,
  subject: Uint8Array,
  usage: Usage,
  mayMake: MayMake<Refused> = () => undefined,
): Promise<Usage | Refused> {
  return new Charge(store, subject, usage, mayMake).add();
}

/** Retention of a month's usage after its start (ms): the time in which it counts, and as long again. */
const keptMs = 60 * dayMs;

/** Removes the usage of months that are long over; returns the number of records. */
export async function removeOldUsage(store: Store, nowMs: number): Promise<number> {
  let removed = 0;
  for await (const { key, value } of recordsAfter(store, 'usage')) {
    if (usageTable.decode(value).monthStartMs + keptMs > nowMs) continue;
    const outcome = await store.commit([removeOver('usage', key, value)]);
    removed += outcome.kind === 'done' ? 1 : 0;
  }
  return removed;
}
