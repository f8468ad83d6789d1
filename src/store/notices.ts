/** What the operator decided about showing a fragment's content; the fragment itself is never changed. */
import { visitRecords } from './entries.js';
import { defineRecord } from './record.js';
import type { Reading, Store, Unavailable } from './store.js';
import type { UnitIds } from './unitId.js';

/** The last decision about a fragment. */
export interface Notice {
  /** Whether its content is withheld. */
  readonly hidden: boolean;
  /** Why, for whoever reads the receipt. */
  readonly reason: string;
  readonly atMs: number;
}

const record = defineRecord<Notice>('fragment notice', {
  1: ({ boolean, text, integer }) => ({
    hidden: boolean('hidden'),
    reason: text('reason'),
    atMs: integer('at_ms'),
  }),
});

/** A notice's bytes. */
export function encodeNotice({ hidden, reason, atMs }: Notice): Uint8Array {
  return record.encode(1, { hidden, reason, at_ms: atMs });
}

/** The notice of a record's bytes. */
export const decodeNotice = record.decode;

/** Why a fragment's content is withheld; undefined: it is not. */
export async function findWithheld(store: Store, receipt: string): Promise<Reading<string | undefined>> {
  const reading = await store.get('fragmentNotices', Buffer.from(receipt));
  if (reading.kind === 'unavailable' || reading.value === undefined) return reading as Reading<undefined>;
  const { hidden, reason } = decodeNotice(reading.value);
  return { kind: 'read', value: hidden ? reason : undefined };
}

/** Calls `visit` for every decision, in the order of receipts. */
export function visitNotices(
  store: Store,
  visit: (receipt: string, notice: Notice) => Promise<Unavailable | undefined>,
): Promise<Unavailable | undefined> {
  return visitRecords(store, 'fragmentNotices', Buffer.alloc(0), ({ key, value }) =>
    visit(Buffer.from(key).toString(), decodeNotice(value)),
  );
}

/** Keeps a decision, which replaces the one before; on disk when it resolves. */
export async function keepNotice(
  store: Store,
  newUnitId: UnitIds,
  receipt: string,
  notice: Notice,
): Promise<Unavailable | undefined> {
  const place = { space: 'fragmentNotices', key: Buffer.from(receipt) } as const;
  const value = encodeNotice(notice);
  for (;;) {
    const present = await store.get(place.space, place.key);
    if (present.kind === 'unavailable') return present;
    const outcome = await store.commit({
      id: newUnitId(),
      operations: [
        present.value === undefined
          ? { kind: 'insert', ...place, value }
          : { kind: 'replace', ...place, from: present.value, to: value },
      ],
    });
    if (outcome.kind === 'unavailable') return outcome;
    if (outcome.kind === 'done') return undefined;
  }
}
