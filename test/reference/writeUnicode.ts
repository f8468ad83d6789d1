/** Writes the table of Unicode that the oracle reads, out of the database that lies beside the project. */
import { writeFileSync } from 'node:fs';
import { tableFile } from './unicode.js';
import { databaseTable } from './unicodeDatabase.js';

const table = databaseTable();
if (table === undefined) throw new Error('The Unicode Character Database does not lie beside the project.');
writeFileSync(tableFile, `${JSON.stringify(table, null, 0)}\n`);
