/** Commands on the store: they work beside a running server, and return an exit code. */
import { StoreUnavailable, type Store } from '../store/store.js';
import { UnreadableRecord } from '../store/table.js';
import type { Clock } from '../system/clock.js';
import { readConfiguration, type Configuration } from '../configuration.js';
import { beginEntry } from '../store/tables/history.js';
import type { Machine } from '../system/settings.js';
import type { MasterSecrets } from '../system/masterSecret.js';
import type { Randomness } from '../system/randomness.js';
import { changeOf, type Called, type Operator } from './changes.js';

/** A store and its secrets. */
export interface OpenedStore {
  readonly store: Store;
  readonly secrets: MasterSecrets;
}

/** Dependencies of the commands. */
export interface CommandParts {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly machine: Machine;
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** The command as called. */
  readonly called: () => Called | undefined;
  readonly operator: Operator;
  /** Opens the server's store; never creates one. */
  readonly openStore: (configuration: Configuration) => Promise<OpenedStore | { readonly refused: string }>;
  /** Writes text to standard output; resolves when there is room for more. */
  readonly write: (text: string) => Promise<void>;
  /** Facts of standard output; undefined: all that is written is read. */
  readonly output?: {
    /** True once something could not be written. */
    readonly isLost: () => boolean;
    /** True if nobody reads what is written. */
    readonly isDiscarded: () => boolean;
  };
  /** Prints one line about an error or about progress. */
  readonly printError: (line: string) => void;
  /** Shows a command's progress; undefined if no person watches. */
  readonly showProgress: ((text: string) => void) | undefined;
  /** Asks a yes-or-no question; undefined if no person can answer. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
}

/** An opened store and its configuration. */
export type CommandContext = OpenedStore & {
  readonly configuration: Configuration;
  /** Reports the id of the object that the command changes, if the command line does not. */
  readonly named: (object: string) => void;
};

/** The exit code of a command, or a sentence about its error. */
export type Ended = Promise<number | { readonly wrong: string }>;

/** Reads the configuration and runs a command with it; prints errors. Resolves to the exit code. */
export async function withConfiguration(
  { environment, machine, printError }: Pick<CommandParts, 'environment' | 'machine' | 'printError'>,
  command: (configuration: Configuration) => Ended,
): Promise<number> {
  const read = readConfiguration(environment, machine);
  for (const warning of read.warnings) printError(`Warning: ${warning}`);
  if ('errors' in read) {
    for (const error of read.errors) printError(error);
    return 1;
  }
  const ended = await command(read.configuration);
  if (typeof ended === 'number') return ended;
  printError(ended.wrong);
  return 1;
}

/** Runs a command on the store and closes it; as {@link withConfiguration} otherwise. */
export function withStore(parts: CommandParts, command: (context: CommandContext) => Ended): Promise<number> {
  return withConfiguration(parts, async (configuration) => {
    const opened = await parts.openStore(configuration);
    if ('refused' in opened) return { wrong: opened.refused };
    try {
      return await answeredBy(recorded(parts, { ...opened, configuration }, command));
    } finally {
      await opened.store.close();
    }
  });
}

/** True if the called command leaves no entry in the history. */
export function changesNothing({ called }: Pick<CommandParts, 'called'>): boolean {
  return changeOf(called()) === undefined;
}

/** Runs a command that needs no store, with an entry in the store's history, if there is a store. */
export async function inHistory(
  parts: Pick<CommandParts, 'called' | 'operator' | 'openStore' | 'output'> & {
    readonly clock: Pick<Clock, 'wallMs'>;
  },
  configuration: Configuration,
  command: () => Ended,
): Ended {
  const opened = await parts.openStore(configuration);
  if ('refused' in opened) return command();
  try {
    return await answeredBy(recorded(parts, { ...opened, configuration }, command));
  } finally {
    await opened.store.close();
  }
}

/** The end of a command that has made its changes, but whose output was not read to its end. */
const lostOutput =
  'The changes are made, but the output could not be written: its reader ended first, or its disk is full. ' +
  'See: fusegate history';

/** Runs a command; one that changes something leaves an entry in the history. */
async function recorded(
  {
    called,
    operator,
    clock,
    output,
  }: Pick<CommandParts, 'called' | 'operator' | 'output'> & { readonly clock: Pick<Clock, 'wallMs'> },
  context: OpenedStore & { readonly configuration: Configuration },
  command: (context: CommandContext) => Ended,
): Ended {
  const change = changeOf(called());
  if (change === undefined) return command({ ...context, named: () => undefined });
  const entry = await beginEntry(context.store, {
    ...change,
    ...operator,
    atMs: clock.wallMs(),
  });
  let { object } = change;
  const done = await command({ ...context, named: (name) => (object = name) });
  const ended = done === 0 && output?.isLost() === true ? { wrong: lostOutput } : done;
  await entry.end(ended === 0 ? 'done' : 'failed', object);
  return ended;
}

/** The end of a command, or a sentence if the store does not answer, or has a record that cannot be read. */
function answeredBy(ended: Ended): Ended {
  return ended.catch((error: unknown) => {
    if (error instanceof StoreUnavailable) return { wrong: `The store does not answer (${error.message}).` };
    if (error instanceof UnreadableRecord) return { wrong: error.message };
    throw error;
  });
}
