/**
 * What each test file reaches, test by test, and how long it takes. Measured once for a state of the file and
 * of all that it imports, and kept under `target`.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Imports } from './build.js';
import { isIn } from './intervals.js';
import { TestProcess } from './process.js';
import type { Reached } from './worker.js';

/** A test file that passes in time. */
interface Measured {
  readonly loading: Reached;
  readonly cases: readonly { readonly ms: number; readonly reached: Reached }[];
  readonly dependent: readonly number[];
}

/** Tests of a file that run a place. */
export interface Reaching {
  readonly test: string;
  /** Undefined: all of the file, as some of them do not pass without the others. */
  readonly only: readonly number[] | undefined;
  readonly ms: number;
}

/** Names of files in what is kept: those of the build, without the folder it is in. */
function inside(box: string, reached: Reached): Reached {
  return Object.fromEntries(Object.entries(reached).map(([file, each]) => [relative(box, file), each]));
}

export class Measurements {
  private readonly known = new Map<string, Promise<Measured | undefined>>();

  constructor(
    private readonly root: string,
    private readonly box: string,
    private readonly imports: Imports,
    /** Longest that a file may run (ms). */
    private readonly mostMs: number,
  ) {}

  private async measure(test: string): Promise<Measured | undefined> {
    const { root, box, imports } = this;
    const folder = join(root, 'target/mutants');
    const kept = join(folder, `${imports.digest(test)}.json`);
    try {
      const known = JSON.parse(readFileSync(kept, 'utf8')) as Measured | null;
      if (known === null) console.log(`${relative(box, test)} is left out: it was late`);
      return known ?? undefined;
    } catch {
      // Not measured in this state.
    }
    const worker = new TestProcess(box, imports.under('dist/test'));
    const outcome = await worker.ask(
      { kind: 'measure', test, under: join(box, 'dist/src') },
      this.mostMs * 4,
    );
    worker.end();
    if (outcome.kind !== 'measured') {
      const why = outcome.kind === 'failed' ? `fails: ${outcome.why.slice(0, 100)}` : `is ${outcome.kind}`;
      console.log(`${relative(box, test)} is left out: it ${why}`);
      mkdirSync(folder, { recursive: true });
      if (outcome.kind === 'late') writeFileSync(kept, 'null');
      return undefined;
    }
    const { loading, cases, dependent } = outcome;
    const measured: Measured = {
      loading: inside(box, loading),
      cases: cases.map(({ ms, reached }) => ({ ms, reached: inside(box, reached) })),
      dependent,
    };
    mkdirSync(folder, { recursive: true });
    writeFileSync(kept, JSON.stringify(measured));
    return measured;
  }

  /** The tests of a file that run a place of a built file; undefined: none does. */
  async reaching(test: string, file: string, place: number): Promise<Reaching | undefined> {
    const known = this.known.get(test) ?? this.measure(test);
    this.known.set(test, known);
    const measured = await known;
    if (measured === undefined) return undefined;
    const { loading, cases, dependent } = measured;
    const name = relative(this.box, file);
    const all = [...cases.keys()];
    const found = isIn(loading[name], place)
      ? all
      : all.filter((index) => isIn(cases[index]?.reached[name], place));
    if (found.length === 0) return undefined;
    const only = found.some((index) => dependent.includes(index)) ? undefined : found;
    const ms = (only ?? all).reduce((sum, index) => sum + (cases[index]?.ms ?? 0), 0);
    return { test, only, ms };
  }
}
