/** Threads of a process, as /proc shows them. */
import { readdirSync, readFileSync } from 'node:fs';

/** A thread as the system lists it. */
export interface Thread {
  readonly name: string;
  readonly niceness: number;
  /** A letter, such as `T` for one that stands still. */
  readonly state: string;
}

/** The threads of a process, the first one first; one that ends meanwhile is left out. */
export function threadsOf(pid: number | 'self'): Thread[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    let stat: string;
    try {
      stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    } catch {
      return [];
    }
    // The second field is the name in brackets, which may have blanks; the niceness is the 19th.
    const end = stat.lastIndexOf(')');
    const [state = '', ...rest] = stat.slice(end + 2).split(' ');
    return [{ name: stat.slice(stat.indexOf('(') + 1, end), niceness: Number(rest[15]), state }];
  });
}

/** The niceness of each thread of a process. */
export function nicenessOf(pid: number | 'self'): number[] {
  return threadsOf(pid).map(({ niceness }) => niceness);
}
