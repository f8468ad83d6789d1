/** Threads of a process, as /proc shows them. */
import { readdirSync, readFileSync } from 'node:fs';

/** The niceness of each thread of a process. */
export function nicenessOf(pid: number | 'self'): number[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    // The second field is the name in brackets, which may have blanks; the niceness is the 19th.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
  });
}
