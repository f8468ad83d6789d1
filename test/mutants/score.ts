/** Scores: how many changes of a file were noticed. */
import { dirname } from 'node:path';

/** What became of a file's mutations. */
export interface Score {
  readonly source: string;
  readonly all: number;
  readonly killed: number;
  /** Those that change nothing that anybody sees, with a reason. */
  readonly explained: number;
  /** Those that there was no time for. */
  readonly left: number;
}

/** A score in words. */
export function inWords({ all, killed, explained, left }: Omit<Score, 'source'>): string {
  const rest = explained === 0 ? '' : `, ${explained} change nothing`;
  return `${killed} of ${all} noticed${rest}${left === 0 ? '' : `, ${left} not tried`}`;
}

/** One line a folder. */
export function byFolder(scores: readonly Score[]): string {
  const folders = [...new Set(scores.map(({ source }) => dirname(source)))];
  const lines = folders.map((folder) => {
    const own = scores.filter(({ source }) => dirname(source) === folder);
    const sum = (of: (score: Score) => number): number => own.reduce((all, each) => all + of(each), 0);
    const [all, killed] = [sum((each) => each.all), sum((each) => each.killed)];
    const [explained, left] = [sum((each) => each.explained), sum((each) => each.left)];
    const counted = all - explained - left;
    const percent = counted === 0 ? '' : ` (${Math.floor((100 * killed) / counted)} %)`;
    return `${folder.padEnd(20)} ${inWords({ all, killed, explained, left })}${percent}`;
  });
  return lines.join('\n');
}
