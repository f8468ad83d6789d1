/** Loads the native module (Node-API 8) built from `native/node`: the only place that names its file. */
import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type * as Addon from './index.js';

const file = fileURLToPath(new URL('../../native/fusegate.node', import.meta.url));

function load(): typeof Addon {
  if (!existsSync(file)) throw new Error('The native module is not built. Run: npm run build');
  return createRequire(import.meta.url)(file) as typeof Addon;
}

/** The native module's functions, as `native/node` declares them. */
export const native = load();
