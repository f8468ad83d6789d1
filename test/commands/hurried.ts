/** `fusegate` in a process of its own whose pauses end at once. */
import { systemClock } from '../../src/system/clock.js';
import { here } from '../support/here.js';

const environment = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
);
const sleep = (): Promise<void> => Promise.resolve();
const { code, output } = await here(process.argv.slice(2), environment, { ...systemClock, sleep });
process.stdout.write(output);
process.exitCode = Number(code);
