#!/usr/bin/env node
/** The `fusegate` command: builds what a working tree has not built, then hands over to the compiled program. */
import { existsSync, readFileSync } from 'node:fs';

const args = process.argv.slice(2);
if (args.length === 1 && ['--version', '-V'].includes(args[0])) {
  // Asked by scripts, again and again: without building, loading or checking anything.
  const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
  console.log(version);
} else {
  // An installed package has no sources and nothing to build.
  if (existsSync(new URL('build.mjs', import.meta.url))) {
    const { ensureBuilt } = await import('./build.mjs');
    ensureBuilt();
  }
  // Before the rest is loaded, which may fail: what nothing catches is a line of a server's log.
  if (args.includes('serve')) (await import('./dist/src/system/uncaught.js')).logUncaught();
  const { main } = await import('./dist/src/main.js');
  await main(args);
}
