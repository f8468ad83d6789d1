/**
 * The operators' changes: a log with one entry per command. The entry is written before the command changes
 * anything and completed when it ends, so every change has an entry. An incomplete entry means that the
 * command was interrupted, or is still running.
 */
import { keptAfter, type Kept } from '../entries.js';
import type { Store } from '../store.js';
import { choice, integer, orNull, table, text, type ValueOf } from '../table.js';

const historyTable = table('history entry', {
  /** The command, as in `keys revoke`. */
  command: text,
  /** Id of what it changed; null if it has no id, or if the id would be personal data. */
  object: orNull(text),
  /** Name of the operating system's user and, under `sudo`, of its caller. */
  user: text,
  host: text,
  atMs: integer,
  outcome: choice('begun', 'done', 'failed'),
});

/** An entry. */
export type HistoryEntry = ValueOf<typeof historyTable>;

/** An entry whose command is running. */
export interface Begun {
  /** Writes how the command ended; durable when it resolves. */
  readonly end: (outcome: 'done' | 'failed', object: string | null) => Promise<void>;
}

/** Writes an entry; durable when it resolves. */
export async function beginEntry(store: Store, given: Omit<HistoryEntry, 'outcome'>): Promise<Begun> {
  const entry: HistoryEntry = { ...given, outcome: 'begun' };
  const from = historyTable.encode(entry);
  const outcome = await store.commit([{ kind: 'append', log: 'history', value: from }]);
  const position = outcome.kind === 'done' ? outcome.positions[0] : undefined;
  if (position === undefined) throw new Error(`An entry of the history came to ${outcome.kind}`);
  return {
    async end(ended, object) {
      const to = historyTable.encode({ ...entry, outcome: ended, object });
      await store.commit([{ kind: 'amend', log: 'history', position, from, to }]);
    },
  };
}

/** The entries after a position. */
export function historyAfter(store: Store, after: number): AsyncGenerator<Kept<HistoryEntry>, void> {
  return keptAfter(store, 'history', after, historyTable.decode);
}
