/** `fusegate keys usage`: shows the usage of each of the last days, by key or by tier. */
import { Option, type Command } from 'commander';
import { keySubject, usageSubject } from '../access/stored.js';
import { allKeys } from '../store/tables/keys.js';
import { findUsage, type DayUse } from '../store/tables/usage.js';
import { dateText, dayMs } from '../system/clock.js';
import { printable } from './printable.js';
import { withStore, type CommandContext, type CommandParts } from './withStore.js';

interface Options {
  readonly by: 'key' | 'tier';
  readonly json?: boolean;
}

/** Usage of one day by one key or tier. */
interface Row extends Omit<DayUse, 'day'> {
  readonly date: string;
  /** Id of the key; undefined: all keys of a tier are added up. */
  readonly key?: string;
  readonly tier: string;
}

/** Usage by day and key; a replaced key's successors count with it. */
async function* usedByKeys({ store, secrets }: CommandContext): AsyncGenerator<Row> {
  for await (const { id, tier, hash, countedAs } of allKeys(store)) {
    if (countedAs !== null) continue;
    const subject = usageSubject(secrets, keySubject(hash));
    for (const { day, ...counts } of (await findUsage(store, subject))?.days ?? []) {
      yield { date: dateText(day * dayMs), key: id, tier, ...counts };
    }
  }
}

/** The rows of all days, in the order of days; by tier, all keys of a tier are added up for each day. */
async function rowsOf(context: CommandContext, by: Options['by']): Promise<readonly Row[]> {
  const rows = new Map<string, Row>();
  for await (const { key, ...row } of usedByKeys(context)) {
    const place = [row.date, row.tier, by === 'key' ? key : ''].join(' ');
    const found = rows.get(place) ?? { requests: 0, characters: 0, refused: 0 };
    rows.set(place, {
      ...{ date: row.date, ...(by === 'key' && key !== undefined ? { key } : {}), tier: row.tier },
      requests: found.requests + row.requests,
      characters: found.characters + row.characters,
      refused: found.refused + row.refused,
    });
  }
  return [...rows].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, row]) => row);
}

function line(cells: readonly (string | number)[]): string {
  const widths = [10, 10, 24, 10, 14, 10];
  return `${cells
    .map((cell, at) => {
      const width = widths[at] ?? 0;
      return typeof cell === 'number' ? String(cell).padStart(width) : printable(cell).padEnd(width);
    })
    .join('  ')
    .trimEnd()}\n`;
}

const heads = ['requests', 'characters', 'refused'].map((head, at) => head.padStart([10, 14, 10][at] ?? 0));

/** Adds `usage` to the commands of keys. */
export function addKeyUsage(keys: Command, parts: CommandParts): void {
  keys
    .command('usage')
    .description('what keys have used on each of the last 30 days')
    .addOption(new Option('--by <what>', 'a row for each').choices(['key', 'tier']).default('key'))
    .option('--json', 'print JSON, one object a line')
    .allowExcessArguments(false)
    .action(async ({ by, json }: Options) => {
      process.exitCode = await withStore(parts, async (context) => {
        const rows = await rowsOf(context, by);
        if (json !== true && rows.length > 0) await parts.write(line(['date', 'tier', 'key', ...heads]));
        for (const row of rows) {
          const { date, tier, key = '', requests, characters, refused } = row;
          const text = line([date, tier, key, requests, characters, refused]);
          await parts.write(json === true ? `${JSON.stringify(row)}\n` : text);
        }
        if (rows.length === 0) parts.printError('No key has been used in the last 30 days.');
        return 0;
      });
    });
}
