/** Writes the generated files under `docs` anew: `node dist/test/contract/writeDocuments.js`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { documents } from './documents.js';

for (const [path, text] of documents()) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
