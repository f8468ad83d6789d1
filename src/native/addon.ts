/**
 * Loads the native module (Node-API 8): the one built from `native/node`, else the prebuilt one of a package.
 * The only place that names them.
 */
import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type * as Addon from './index.js';
import { cLibrary, prebuiltPackage } from './machine.js';

/** Path of the module that `npm run build` makes. An installed package has no such file. */
const builtFile = fileURLToPath(new URL('../../native/fusegate.node', import.meta.url));

/** The oldest glibc that a prebuilt module loads on. */
const oldestGlibc = '2.34';

/**
 * The sentence for the operator of a machine where no module loads. `reasons`: why existing ones do not load.
 */
function missing(prebuilt: string, reasons: readonly string[]): string {
  const machine = `${process.platform}-${process.arch} with ${cLibrary()}`;
  const why = reasons.length === 0 ? 'none is installed' : reasons.join('; ');
  return (
    `No native module of Fusegate loads on ${machine}: ${why}. Prebuilt ones are for Linux with glibc ` +
    `${oldestGlibc} or newer (here ${prebuilt}). Elsewhere build it from a working tree, ` +
    'which needs Rust: npm install && npm run build'
  );
}

/**
 * Loads the first module that exists. The one built in a working tree comes first, as a package may have
 * other sources.
 * @throws Error with a sentence that names the machine and says what to do, if none loads
 */
export function loadNative(
  built: string = builtFile,
  prebuilt: string = prebuiltPackage(process.platform, process.arch),
): typeof Addon {
  const require = createRequire(import.meta.url);
  const reasons: string[] = [];
  if (existsSync(built)) {
    try {
      return require(built) as typeof Addon;
    } catch (error) {
      reasons.push(`${built}: ${String(error)}`);
    }
  }
  try {
    return require(prebuilt) as typeof Addon;
  } catch (error) {
    const isAbsent = (error as { readonly code?: unknown }).code === 'MODULE_NOT_FOUND';
    if (!isAbsent) reasons.push(`${prebuilt}: ${String(error)}`);
  }
  throw new Error(missing(prebuilt, reasons));
}

/** The native module's functions, as `native/node` declares them. */
export const native = loadNative();
