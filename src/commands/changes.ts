/** The commands that change what is stored, each of which leaves an entry in the history. */

/** A command that was called. */
export interface Called {
  /** Its path, as in `keys create`. */
  readonly path: string;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

/** Who called it. */
export interface Operator {
  readonly user: string;
  readonly host: string;
}

const firstArgument = ({ args: [first] }: Called): string | null => first ?? null;
const noName = (): null => null;

/**
 * The commands, and what of their command line names the object that they change. None names a person, a
 * secret or a URL, which may have one: such objects are named by their ids, by the command itself.
 */
const changing: Readonly<Record<string, (called: Called) => string | null>> = {
  'keys create': noName,
  'keys revoke': firstArgument,
  'keys reissue': ({ args: [id], options: { order } }) => id ?? (typeof order === 'string' ? order : null),
  'orders reconcile': noName,
  'orders rescan': noName,
  'models add': noName,
  'models remove': firstArgument,
  'corpora put': firstArgument,
  'corpora remove': firstArgument,
  forget: noName,
  'webhooks add': noName,
  'webhooks remove': firstArgument,
  'receipts import': noName,
  'fragments hide': firstArgument,
  'fragments show': firstArgument,
  'log resolve': ({ options }) => (options['newKey'] === true ? 'new key' : 'continue'),
  'log stamp': noName,
  restore: firstArgument,
};

/** The paths of the commands that change something. */
export const changingCommands: readonly string[] = Object.keys(changing);

/** Longest name of an object that is kept (characters). */
const longestName = 256;

/** The change that a command is about to make; undefined: none. */
export function changeOf(
  called: Called | undefined,
): { readonly command: string; object: string | null } | undefined {
  const nameObject = called === undefined ? undefined : changing[called.path];
  if (called === undefined || nameObject === undefined) return undefined;
  return { command: called.path, object: nameObject(called)?.slice(0, longestName) ?? null };
}
