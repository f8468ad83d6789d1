#!/usr/bin/env node
/** The `fusegate` command: builds what is not built, then hands over to the compiled program. */
import { ensureBuilt } from './build.mjs';

ensureBuilt();
const { main } = await import('./dist/src/main.js');
await main(process.argv.slice(2));
