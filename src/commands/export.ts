/** `fusegate leads|interests|optouts|clicks export`: a table as CSV or JSON lines. */
import { Option, type Command } from 'commander';
import { timeText } from '../outreach/leads.js';
import { clickIdOf } from '../outreach/tokens.js';
import { visitClicks } from '../store/clicks.js';
import { visitInterests } from '../store/interests.js';
import { visitLeads } from '../store/leads.js';
import { findOptout, visitOptouts } from '../store/optouts.js';
import type { Log } from '../store/spaces.js';
import type { Unavailable } from '../store/store.js';
import { csvLine, type Cell } from './csv.js';
import { storeFailed, withStore, type CommandContext, type CommandParts } from './withStore.js';

/** One row: cells by the names of the columns. */
type Row = Readonly<Record<string, Cell>>;

/** How a table is exported. */
interface ExportedTable {
  readonly name: 'leads' | 'interests' | 'optouts' | 'clicks';
  readonly what: string;
  readonly columns: readonly string[];
  /** The log whose end tells how much there is; undefined: that is not known. */
  readonly log: Log | undefined;
  /** What `--after` must be. */
  readonly cursor: { readonly pattern: RegExp; readonly described: string };
  readonly visit: (
    context: CommandContext,
    after: string,
    row: (row: Row) => Promise<void>,
  ) => Promise<Unavailable | undefined>;
}

const position = { pattern: /^\d{1,15}$/, described: 'a position as the export shows it' };
const campaignColumns = ['message', 'source', 'segment', 'campaign', 'event_id'];

/** Writes rows that say of their address whether it opted out. */
type MarkedRow = (email: string, row: Row) => Promise<void>;

/** A visit whose rows are marked; it ends where the opt-outs cannot be read: no row goes out unmarked. */
async function marked(
  { store, secrets }: CommandContext,
  row: (row: Row) => Promise<void>,
  visit: (row: MarkedRow) => Promise<Unavailable | undefined>,
): Promise<Unavailable | undefined> {
  let failed: Unavailable | undefined;
  const unavailable = await visit(async (email, unmarked) => {
    if (failed !== undefined) return;
    const found = await findOptout(store, secrets, email.trim());
    if (found.kind === 'unavailable') failed = found;
    else await row({ ...unmarked, opted_out: found.value !== undefined });
  });
  return unavailable ?? failed;
}

const leads: ExportedTable = {
  name: 'leads',
  what: 'leads',
  columns: ['position', 'id', 'received_at', 'email', 'opted_out', 'tier', ...campaignColumns],
  log: 'leads',
  cursor: position,
  visit: (context, after, row) =>
    marked(context, row, (markedRow) =>
      visitLeads(context.store, Number(after), (at, { receivedAtMs, eventId, ...lead }) => {
        const received_at = timeText(receivedAtMs);
        return markedRow(lead.email, { ...lead, position: at, received_at, event_id: eventId });
      }),
    ),
};

const interests: ExportedTable = {
  name: 'interests',
  what: 'interests in delivery models',
  columns: [
    ...['position', 'id', 'received_at', 'email', 'opted_out', 'delivery_model', 'company', 'cloud'],
    ...['monthly_chars', 'timeline', 'compliance', ...campaignColumns],
  ],
  log: 'interests',
  cursor: position,
  visit: (context, after, row) =>
    marked(context, row, (markedRow) =>
      visitInterests(context.store, Number(after), (at, interest) => {
        const { receivedAtMs, eventId, deliveryModel, monthlyChars, ...rest } = interest;
        return markedRow(rest.email, {
          ...rest,
          position: at,
          received_at: timeText(receivedAtMs),
          delivery_model: deliveryModel,
          monthly_chars: monthlyChars,
          event_id: eventId,
        });
      }),
    ),
};

const optouts: ExportedTable = {
  name: 'optouts',
  what: 'addresses that opted out',
  columns: ['position', 'email', 'opted_out_at'],
  log: undefined,
  cursor: { pattern: /^([0-9a-f]{64})?$/, described: 'a position as the export shows it' },
  visit: ({ store }, after, row) =>
    visitOptouts(store, Buffer.from(after, 'hex'), (key, { email, optedOutAtMs }) =>
      row({ position: Buffer.from(key).toString('hex'), email, opted_out_at: timeText(optedOutAtMs) }),
    ),
};

const clicks: ExportedTable = {
  name: 'clicks',
  what: 'clicks on counted links',
  columns: ['position', 'at', 'link_id', 'token', 'destination', 'valid', 'bot'],
  log: 'clicks',
  cursor: position,
  visit: ({ store }, after, row) =>
    visitClicks(store, Number(after), (at, { atMs, ...click }) => {
      const id = click.valid ? (clickIdOf(click.token) ?? null) : null;
      return row({ ...click, position: at, at: timeText(atMs), link_id: id });
    }),
};

/** Rows that are written at once. */
const rowsAtOnce = 200;

/** Writes rows in one format, some at once, and tells how far it is. */
class RowWriter {
  private text = '';
  private rows = 0;

  constructor(
    private readonly parts: CommandParts,
    private readonly table: ExportedTable,
    private readonly csv: boolean,
    private readonly last: number | undefined,
  ) {
    if (csv) this.text = csvLine(table.columns);
  }

  async row(row: Row): Promise<void> {
    const cells = this.table.columns.map((name) => row[name] ?? null);
    const members = this.table.columns.map((name, index) => [name, cells[index]] as const);
    this.text += this.csv ? csvLine(cells) : `${JSON.stringify(Object.fromEntries(members))}\n`;
    this.rows += 1;
    if (this.rows % rowsAtOnce === 0) await this.flush(row['position']);
  }

  async flush(at?: Cell): Promise<void> {
    const { text } = this;
    this.text = '';
    if (text !== '') await this.parts.write(text);
    const done = `${this.rows.toLocaleString('en')} ${this.rows === 1 ? 'row' : 'rows'}`;
    const of = this.last === undefined || typeof at !== 'number' ? '' : `, position ${at} of ${this.last}`;
    this.parts.showProgress?.(`${this.table.name}: ${done}${at === undefined ? '\n' : of}`);
  }
}

interface ExportOptions {
  readonly format: 'csv' | 'jsonl';
  readonly after?: string;
}

function exportTable(parts: CommandParts, table: ExportedTable, options: ExportOptions): Promise<number> {
  return withStore(parts, async (context) => {
    const after = options.after ?? '';
    if (options.after !== undefined && !table.cursor.pattern.test(after)) {
      return { wrong: `--after must be ${table.cursor.described}.` };
    }
    const last = table.log === undefined ? undefined : await context.store.last(table.log);
    if (last?.kind === 'unavailable') return storeFailed(last);
    const writer = new RowWriter(parts, table, options.format === 'csv', last?.value);
    const unavailable = await table.visit(context, after, (row) => writer.row(row));
    if (unavailable !== undefined) return storeFailed(unavailable);
    await writer.flush();
    return 0;
  });
}

/** Adds the four `export` commands. */
export function addExports(program: Command, parts: CommandParts): void {
  for (const table of [leads, interests, optouts, clicks]) {
    const group = program.command(table.name).description(`export the ${table.what}`);
    group
      .command('export')
      .description(`write the ${table.what} to standard output`)
      .addOption(
        new Option('--format <format>', 'csv or jsonl').choices(['csv', 'jsonl']).makeOptionMandatory(),
      )
      .option('--after <position>', 'only what follows this position of an earlier export')
      .allowExcessArguments(false)
      .action(async (options: ExportOptions) => {
        process.exitCode = await exportTable(parts, table, options);
      });
  }
}
