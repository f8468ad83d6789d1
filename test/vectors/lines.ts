/** Vectors in files of a JSON value a line. */
import { readFileSync } from 'node:fs';

/** The vectors of a file of this folder, one a line. */
export function vectorLines(name: string): unknown[] {
  const file = new URL(`../../../test/vectors/${name}`, import.meta.url);
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}
