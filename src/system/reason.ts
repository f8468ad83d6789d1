/** The reasons of thrown values, in words. */

/** The message of an error, or the text of any other thrown value. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
