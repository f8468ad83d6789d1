/** The commands that change stored data; each leaves an entry in the history. */

/** A command as called. */
export interface Called {
  /** Its path, as in `keys create`. */
  readonly path: string;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

/** The caller of a command. */
export interface Operator {
  readonly user: string;
  readonly host: string;
}

const firstArgument = ({ args: [first] }: Called): string | null => first ?? null;
const noName = (): null => null;
/** The profile that a command may write; without one the command changes nothing. */
const profileOption = ({ options: { profile } }: Called): string | undefined =>
  typeof profile === 'string' ? profile : undefined;

/**
 * The commands, each with a function that returns the changed object's name from the command line; undefined:
 * nothing changes. For a person, a secret, or a URL (which may contain either) it returns null, and the
 * command may report an id instead.
 */
const changing: Readonly<Record<string, (called: Called) => string | null | undefined>> = {
  'keys create': noName,
  'keys revoke': firstArgument,
  'keys reissue': ({ args: [id], options: { order } }) => id ?? (typeof order === 'string' ? order : null),
  'orders reconcile': noName,
  'orders rescan': noName,
  'models add': noName,
  'models remove': firstArgument,
  'corpora put': firstArgument,
  'corpora remove': firstArgument,
  'profiles put': firstArgument,
  'profiles remove': firstArgument,
  tune: profileOption,
  calibrate: profileOption,
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

/** Longest object name that is stored (characters). */
const longestName = 256;

/** The change that a command will make; undefined: none. */
export function changeOf(
  called: Called | undefined,
): { readonly command: string; object: string | null } | undefined {
  const nameObject = called === undefined ? undefined : changing[called.path];
  if (called === undefined || nameObject === undefined) return undefined;
  const object = nameObject(called);
  if (object === undefined) return undefined;
  return { command: called.path, object: object?.slice(0, longestName) ?? null };
}
