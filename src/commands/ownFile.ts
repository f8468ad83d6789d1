/** Files that commands write for people: reports and plots. */
import { reasonOf } from '../system/reason.js';

/** Writes a text to a file. @throws Error if it cannot */
export type WriteFile = (path: string, text: string) => void;

/** Writes a file; a sentence if it cannot be written. */
export function writeOwn(
  writeFile: WriteFile,
  path: string,
  text: string,
): { readonly wrong: string } | undefined {
  try {
    writeFile(path, text);
    return undefined;
  } catch (error) {
    return { wrong: `${path} cannot be written (${reasonOf(error)}).` };
  }
}
