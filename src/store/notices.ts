/** Decision of the operator about showing a fragment's content; the fragment itself is never changed. */
import { recordsAfter } from './entries.js';
import { defineRecord } from './record.js';
import type { Store } from './store.js';

/** The last decision about a fragment. */
export interface Notice {
  /** True if its content is withheld. */
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
export async function findWithheld(store: Store, receipt: string): Promise<string | undefined> {
  const reading = await store.get('fragmentNotices', Buffer.from(receipt));
  if (reading === undefined) return undefined;
  const { hidden, reason } = decodeNotice(reading);
  return hidden ? reason : undefined;
}

/** Every decision with the receipt it is about, in the order of receipts. */
export async function* allNotices(store: Store): AsyncGenerator<Notice & { readonly receipt: string }, void> {
  for await (const { key, value } of recordsAfter(store, 'fragmentNotices')) {
    yield { receipt: Buffer.from(key).toString(), ...decodeNotice(value) };
  }
}

/** Keeps a decision, which replaces the one before; on disk when it resolves. */
export async function keepNotice(store: Store, receipt: string, notice: Notice): Promise<void> {
  const place = { space: 'fragmentNotices', key: Buffer.from(receipt) } as const;
  const value = encodeNotice(notice);
  for (;;) {
    const present = await store.get(place.space, place.key);
    const outcome = await store.commit([
      present === undefined
        ? { kind: 'insert', ...place, value }
        : { kind: 'replace', ...place, from: present, to: value },
    ]);
    if (outcome.kind === 'done') return;
  }
}
