/** Composition root: reads the configuration, builds the parts and hands them to a command. */
import { native } from './native/addon.js';

/** Runs `fusegate` with the arguments after the command's name. */
export function main(args: readonly string[]): Promise<void> {
  console.log(`fusegate ${native.version()} ${args.join(' ')}`);
  return Promise.resolve();
}
