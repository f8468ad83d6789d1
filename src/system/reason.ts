/** The reasons of thrown values, in words. */

/** The message of an error, or of its cause (fetch says only that it failed); the text of another value. */
export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const { cause } = thrown;
  const first = cause instanceof AggregateError ? (cause.errors as unknown[])[0] : cause;
  return first instanceof Error ? first.message : thrown.message;
}

/** The code of an error of Node or of the operating system, such as `ENOENT`; undefined if it has none. */
export function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined;
}

/** True if an error, of Node or of the native module, is that the disk has no room. */
export function isNoRoom(thrown: unknown): boolean {
  return codeOf(thrown) === 'ENOSPC' || /\bENOSPC\b|\(os error 28\)/.test(reasonOf(thrown));
}

/** The code of an error, or its reason if it has none. */
export function shortReasonOf(thrown: unknown): string {
  return codeOf(thrown) ?? reasonOf(thrown);
}
