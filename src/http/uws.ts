/** Loads uWebSockets.js: the native build that fits this Node and C library. Only this folder knows it. */
import { createRequire } from 'node:module';
import { cLibrary } from '../native/machine.js';
import type * as UWebSockets from 'uws-20';

/** uWebSockets.js as loaded. */
export type Uws = typeof UWebSockets;
export type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket as ListenSocket } from 'uws-20';

/**
 * Largest head of a request (bytes): enough for the longest valid query of a preview. uWebSockets.js reads it
 * from the environment once, when its native code is loaded; its own default is 4,096.
 */
const maxHeadBytes = 65_536;

/** Supported runtime. */
const supported =
  'Node 20, or Node 22 or newer, on Linux with glibc (Node 24 and newer: glibc 2.38) or on macOS, ' +
  'x64 or arm64';

/**
 * Loads the newer of the two published versions that this machine can run: 20.69 (Node 22, 24, 26; glibc >=
 * 2.38), else 20.51 (Node 18, 20, 22, 23; glibc >= 2.27). `builds` names their packages.
 * @throws Error with one sentence that names Node's version, the C library and the architecture; on Windows,
 *   which Fusegate does not support although builds exist for it, a sentence that says so.
 */
export function loadUws(
  builds: readonly string[] = ['uws-24', 'uws-20'],
  platform: string = process.platform,
): Uws {
  if (platform === 'win32') {
    throw new Error(`Fusegate does not run on Windows: it needs ${supported}. WSL 2 is such a Linux.`);
  }
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(maxHeadBytes);
  const require = createRequire(import.meta.url);
  for (const name of builds) {
    try {
      return require(name) as Uws;
    } catch {
      // The next one may fit; if none does, the error below says what was needed.
    }
  }
  throw new Error(
    `No build of uWebSockets.js fits Node ${process.versions.node} with ${cLibrary()} on ${process.arch}. ` +
      `Fusegate needs ${supported}; after changing Node run npm install again.`,
  );
}
