/** `fusegate leads|interests|optouts|clicks export`: a table as CSV or JSON lines. */
import { Option, type Command } from 'commander';
import { clickIdOf } from '../outreach/tokens.js';
import { clicksAfter } from '../store/tables/clicks.js';
import { interestsAfter } from '../store/tables/interests.js';
import { leadsAfter } from '../store/tables/leads.js';
import { findOptout, optoutsAfter } from '../store/tables/optouts.js';
import type { Log } from '../store/spaces.js';
import { timeText } from '../system/clock.js';
import { csvLine, type Cell } from './csv.js';
import { withStore, type CommandContext, type CommandParts } from './withStore.js';

/** One row: cells by column name. */
type Row = Readonly<Record<string, Cell>>;

/** The export of one table. */
interface ExportedTable {
  readonly name: 'leads' | 'interests' | 'optouts' | 'clicks';
  readonly what: string;
  readonly columns: readonly string[];
  /** The log whose last position gives the total; undefined: the total is unknown. */
  readonly log: Log | undefined;
  /** Form of `--after`. */
  readonly cursor: { readonly pattern: RegExp; readonly described: string };
  readonly rows: (context: CommandContext, after: string) => AsyncGenerator<Row, void>;
}

const position = { pattern: /^\d{1,15}$/, described: 'a position as the export shows it' };
const campaignColumns = ['message', 'source', 'segment', 'campaign', 'event_id'];

/**
 * True if an address opted out. If that cannot be read the export ends: no row is written without the mark.
 */
async function optedOut({ store, secrets }: CommandContext, email: string): Promise<boolean> {
  return (await findOptout(store, secrets, email.trim())) !== undefined;
}

const leads: ExportedTable = {
  name: 'leads',
  what: 'leads',
  columns: ['position', 'id', 'received_at', 'email', 'opted_out', 'tier', ...campaignColumns],
  log: 'leads',
  cursor: position,
  async *rows(context, after) {
    for await (const { position, value } of leadsAfter(context.store, Number(after))) {
      const { receivedAtMs, eventId, ...lead } = value;
      const opted_out = await optedOut(context, lead.email);
      yield { ...lead, position, received_at: timeText(receivedAtMs), event_id: eventId, opted_out };
    }
  },
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
  async *rows(context, after) {
    for await (const { position, value } of interestsAfter(context.store, Number(after))) {
      const { receivedAtMs, eventId, deliveryModel, monthlyChars, ...rest } = value;
      yield {
        ...rest,
        position,
        received_at: timeText(receivedAtMs),
        delivery_model: deliveryModel,
        monthly_chars: monthlyChars,
        event_id: eventId,
        opted_out: await optedOut(context, rest.email),
      };
    }
  },
};

const optouts: ExportedTable = {
  name: 'optouts',
  what: 'addresses that opted out',
  columns: ['position', 'email', 'opted_out_at'],
  log: undefined,
  cursor: { pattern: /^([0-9a-f]{64})?$/, described: 'a position as the export shows it' },
  async *rows({ store }, after) {
    for await (const { key, email, optedOutAtMs } of optoutsAfter(store, Buffer.from(after, 'hex'))) {
      yield { position: Buffer.from(key).toString('hex'), email, opted_out_at: timeText(optedOutAtMs) };
    }
  },
};

const clicks: ExportedTable = {
  name: 'clicks',
  what: 'clicks on counted links',
  columns: ['position', 'at', 'link_id', 'token', 'destination', 'valid', 'bot'],
  log: 'clicks',
  cursor: position,
  async *rows({ store }, after) {
    for await (const { position, value } of clicksAfter(store, Number(after))) {
      const { atMs, ...click } = value;
      const link_id = click.valid ? (clickIdOf(click.token) ?? null) : null;
      yield { ...click, position, at: timeText(atMs), link_id };
    }
  },
};

/** Rows written at once. */
const rowsAtOnce = 200;

/** Writes rows in one format, in batches, and reports progress. */
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
    const writer = new RowWriter(parts, table, options.format === 'csv', last);
    for await (const row of table.rows(context, after)) await writer.row(row);
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
