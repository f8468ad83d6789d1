/** `fusegate history`: shows the changes by operators' commands, with caller and time. */
import { InvalidArgumentError, type Command } from 'commander';
import { historyAfter, type HistoryEntry } from '../store/tables/history.js';
import { tableRow } from './printable.js';
import { withStore, type CommandParts } from './withStore.js';
import { timeText } from '../system/clock.js';

interface Options {
  readonly json?: boolean;
  readonly after: number;
}

/** Outcomes in words. */
const outcomes: Readonly<Record<HistoryEntry['outcome'], string>> = {
  begun: 'not ended',
  done: 'done',
  failed: 'failed',
};

/** The columns and their widths. */
const columns = { position: 8, at: 24, who: 24, outcome: 9, command: 0 } as const;

const heading = tableRow(columns, {
  position: 'position',
  at: 'at',
  who: 'who',
  outcome: 'outcome',
  command: 'what',
});

function history(parts: CommandParts, { json, after }: Options): Promise<number> {
  return withStore(parts, async ({ store }) => {
    let count = 0;
    for await (const { position, value } of historyAfter(store, after)) {
      const { command, object, user, host, atMs, outcome } = value;
      const at = timeText(atMs);
      const line = {
        ...{ position: String(position), at, who: `${user}@${host}`, outcome: outcomes[outcome] },
        command: object === null ? command : `${command} ${object}`,
      };
      await parts.write(
        json === true
          ? `${JSON.stringify({ position, at, user, host, command, object, outcome })}\n`
          : `${count === 0 ? heading : ''}${tableRow(columns, line)}`,
      );
      count += 1;
    }
    if (count === 0) parts.printError('No command has changed anything yet.');
    return 0;
  });
}

function position(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

/** Adds `history`. */
export function addHistory(program: Command, parts: CommandParts): void {
  program
    .command('history')
    .description('list what operators’ commands have changed, by whom and when')
    .option('--after <position>', 'only entries after this position', position, 0)
    .option('--json', 'print JSON, one object a line')
    .allowExcessArguments(false)
    .action(async (options: Options) => {
      process.exitCode = await history(parts, options);
    });
}
