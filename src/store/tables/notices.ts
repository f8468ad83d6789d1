/** The operator's decision about showing a fragment's content; the fragment itself never changes. */
import { recordsAfter, writeOver } from '../entries.js';
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

/** Why content is withheld, by the record of the decision about it; undefined: it is not. */
function reasonOf(record: Uint8Array | undefined): string | undefined {
  const notice = record === undefined ? undefined : decodeNotice(record);
  return notice?.hidden === true ? notice.reason : undefined;
}

/** Why a fragment's content is withheld; undefined: it is not. */
export async function findWithheld(store: Store, receipt: string): Promise<string | undefined> {
  return reasonOf(await store.get('fragmentNotices', Buffer.from(receipt)));
}

/** Those of `receipts` whose content is withheld, each with the reason. */
export async function withheldAmong(
  store: Pick<Store, 'getMany'>,
  receipts: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const keys = receipts.map((receipt) => Buffer.from(receipt));
  const records = await store.getMany('fragmentNotices', keys);
  const reasons = receipts.flatMap((receipt, at): [string, string][] => {
    const reason = reasonOf(records[at]);
    return reason === undefined ? [] : [[receipt, reason]];
  });
  return new Map(reasons);
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
