/** Where commands print: results on stdout, everything else on stderr. */
import type { Unavailable } from '../store/store.js';

/** The operator's terminal, or what stands for it. */
export interface Console {
  /** Prints one line of the result. */
  readonly print: (line: string) => void;
  /** Prints one line about what is wrong or under way. */
  readonly printError: (line: string) => void;
  /** Says that the store does not answer; gives the exit code. */
  readonly unavailable: (unavailable: Unavailable) => number;
}

/** A console on two printers. */
export function consoleOn(print: (line: string) => void, printError: (line: string) => void): Console {
  const unavailable = ({ reason }: Unavailable): number => {
    printError(`The store does not answer: ${reason}`);
    return 1;
  };
  return { print, printError, unavailable };
}
