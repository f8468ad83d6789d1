/** Reasons, in words, of what was thrown. */

/** The message of an error, or the text of anything else that was thrown. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
