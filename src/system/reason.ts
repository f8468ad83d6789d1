/** The reasons of thrown values, in words. */

/** The message of an error, or the text of any other thrown value. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The code of an error of Node or of the operating system, such as `ENOENT`; undefined if it has none. */
export function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined;
}

/** The code of an error, or its reason if it has none. */
export function shortReasonOf(thrown: unknown): string {
  return codeOf(thrown) ?? reasonOf(thrown);
}
