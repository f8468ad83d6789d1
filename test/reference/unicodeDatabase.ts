/** The Unicode Character Database where it lies beside the project. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { tableOf, type UnicodeTable } from './unicode.js';

/** Folder of the database, which is not in the project. */
const database = new URL('../../../../shared/data/unicode/17.0/', import.meta.url);

function textOf(name: string): string | undefined {
  const path = fileURLToPath(new URL(`${name}.txt.gz`, database));
  return existsSync(path) ? gunzipSync(new Uint8Array(readFileSync(path))).toString('utf8') : undefined;
}

/** The oracle's table made of the database; `undefined` where that is absent. */
export function databaseTable(): UnicodeTable | undefined {
  const [folding, categories] = [textOf('CaseFolding'), textOf('DerivedGeneralCategory')];
  return folding === undefined || categories === undefined ? undefined : tableOf(folding, categories);
}
