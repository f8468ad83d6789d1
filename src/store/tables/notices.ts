/** The operator's decision about showing a fragment's content; the fragment itself never changes. */
import { findRecord, recordsAfter, writeOver } from '../entries.js';
import type { Store } from '../store.js';
import { boolean, integer, table, text, type ValueOf } from '../table.js';

const noticeTable = table('fragment notice', {
  /** True if its content is withheld. */
  hidden: boolean,
  /** The reason, for readers of the receipt. */
  reason: text,
  atMs: integer,
});

/** The latest decision about a fragment. */
export type Notice = ValueOf<typeof noticeTable>;

/** Codec of a notice. */
export const { encode: encodeNotice, decode: decodeNotice } = noticeTable;

/** Why a fragment's content is withheld; undefined: it is not. */
export async function findWithheld(store: Store, receipt: string): Promise<string | undefined> {
  const notice = await findRecord(store, 'fragmentNotices', Buffer.from(receipt), decodeNotice);
  return notice?.hidden === true ? notice.reason : undefined;
}

/** Why the content of those of some receipts is withheld whose content is, by receipt id. */
export async function withheldAmong(
  store: Pick<Store, 'getMany'>,
  receipts: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const keys = receipts.map((receipt) => Buffer.from(receipt));
  const reasons = new Map<string, string>();
  for (const [at, record] of (await store.getMany('fragmentNotices', keys)).entries()) {
    const [receipt, notice] = [receipts[at], record === undefined ? undefined : decodeNotice(record)];
    if (receipt !== undefined && notice?.hidden === true) reasons.set(receipt, notice.reason);
  }
  return reasons;
}

/** Every decision with its receipt's id, in the order of receipts. */
export async function* allNotices(store: Store): AsyncGenerator<Notice & { readonly receipt: string }, void> {
  for await (const { key, value } of recordsAfter(store, 'fragmentNotices')) {
    yield { receipt: Buffer.from(key).toString(), ...decodeNotice(value) };
  }
}

/** Stores a decision, which replaces an earlier one; on disk when it resolves. */
export async function keepNotice(store: Store, receipt: string, notice: Notice): Promise<void> {
  const key = Buffer.from(receipt);
  const value = encodeNotice(notice);
  for (;;) {
    const present = await store.get('fragmentNotices', key);
    const outcome = await store.commit([writeOver('fragmentNotices', key, present, value)]);
    if (outcome.kind === 'done') return;
  }
}
