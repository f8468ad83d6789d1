/** Secrets that commands print once: none is made if standard output cannot be written. */
import type { CommandParts } from './withStore.js';

/**
 * Writes the first characters of an output that will reveal a secret: only a write shows that the reader of a
 * pipe has gone. Returns a sentence if the secret would be lost.
 */
export async function beginReveal(
  { write, output }: Pick<CommandParts, 'write' | 'output'>,
  first: string,
): Promise<string | undefined> {
  if (output?.isDiscarded() !== true) await write(first);
  else return 'Nobody would see the secret, as standard output is closed or discarded. Nothing was changed.';
  if (!output?.isLost()) return undefined;
  return 'Nobody would see the secret, as standard output cannot be written. Nothing was changed.';
}
