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

/** Those of some receipts whose content is withheld. */
export async function withheldAmong(store: Store, receipts: readonly string[]): Promise<ReadonlySet<string>> {
  // Notices are few: mostly one read has them all.
  const page = await store.scan('fragmentNotices', { limit: receipts.length + 1 });
  if (page.length <= receipts.length) {
    const hidden = page.filter(({ value }) => decodeNotice(value).hidden);
    const all = new Set(hidden.map(({ key }) => Buffer.from(key).toString()));
    return new Set(receipts.filter((receipt) => all.has(receipt)));
  }
  const withheld = await Promise.all(receipts.map((receipt) => findWithheld(store, receipt)));
  return new Set(receipts.filter((_, at) => withheld[at] !== undefined));
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
