/** The commands `list`, `show` and `remove` for named records that have versions. */
import type { Command } from 'commander';
import { isStoredName } from '../store/tables/names.js';
import type { Store } from '../store/store.js';
import { withStore, type CommandParts } from './withStore.js';

/** The option of a command that prints JSON or a table. */
export interface Json {
  readonly json?: boolean;
}

/** Records with versions under names: how they are read, removed and shown. */
export interface Versioned<Named> {
  readonly all: (store: Store) => Promise<readonly Named[]>;
  readonly find: (store: Store, name: string) => Promise<Named | undefined>;
  /** False if there is no such name. */
  readonly remove: (store: Store, name: string) => Promise<boolean>;
  /** The sentence about a name that does not exist. */
  readonly missing: (name: string) => string;
  /** Head of the table. */
  readonly heading: string;
  /** A row for each version. */
  readonly rowsOf: (named: Named) => readonly string[];
  /** A name as `list` shows it in the table, if not as `show` does. */
  readonly listed?: (named: Named) => Named;
  /** A name as `--json` prints it. */
  readonly shown: (named: Named) => object;
}

function list<Named>(parts: CommandParts, versioned: Versioned<Named>, { json }: Json): Promise<number> {
  return withStore(parts, async ({ store }) => {
    const { heading, rowsOf, listed = (named: Named) => named, shown } = versioned;
    const all = await versioned.all(store);
    const table = `${heading}${all.flatMap((named) => rowsOf(listed(named))).join('')}`;
    await parts.write(json === true ? `${JSON.stringify(all.map(shown))}\n` : table);
    return 0;
  });
}

function show<Named>(
  parts: CommandParts,
  { find, missing, heading, rowsOf, shown }: Versioned<Named>,
  name: string,
  { json }: Json,
): Promise<number> {
  return withStore(parts, async ({ store }) => {
    const found = isStoredName(name) ? await find(store, name) : undefined;
    if (found === undefined) return { wrong: missing(name) };
    const table = `${heading}${rowsOf(found).join('')}`;
    await parts.write(json === true ? `${JSON.stringify(shown(found))}\n` : table);
    return 0;
  });
}

function remove<Named>(parts: CommandParts, versioned: Versioned<Named>, name: string): Promise<number> {
  return withStore(parts, async ({ store }) => {
    if (!isStoredName(name) || !(await versioned.remove(store, name))) {
      return { wrong: versioned.missing(name) };
    }
    await parts.write(
      `Removed ${name} with all its versions. A server that runs forgets it within a second.\n`,
    );
    return 0;
  });
}

/** Adds a command to a group; it accepts no more arguments than it names. */
export function addTo(group: Command, usage: string, description: string): Command {
  return group.command(usage).description(description).allowExcessArguments(false);
}

/** Adds `list`, `show` and `remove` to a group. */
export function addVersions<Named>(
  group: Command,
  parts: CommandParts,
  versioned: Versioned<Named>,
  /** Descriptions of `list` and its `--json`, of `show` and of `remove`. */
  says: { readonly list: string; readonly listJson: string; readonly show: string; readonly remove: string },
): void {
  addTo(group, 'list', says.list)
    .option('--json', says.listJson)
    .action(async (options: Json) => {
      process.exitCode = await list(parts, versioned, options);
    });
  addTo(group, 'show <name>', says.show)
    .option('--json', 'print JSON')
    .action(async (name: string, options: Json) => {
      process.exitCode = await show(parts, versioned, name, options);
    });
  addTo(group, 'remove <name>', says.remove).action(async (name: string) => {
    process.exitCode = await remove(parts, versioned, name);
  });
}
