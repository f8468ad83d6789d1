/** Time of a model for a text, as measured on this machine: a mean over the last texts. */
import type { InstalledModel } from './embedder.js';

/** Texts over which the mean runs: the lengths of a call's texts differ, the machine's load changes. */
const TEXTS = 64;

/** A text's time before any was measured (ms). */
const FIRST_GUESS_MS = 20;

/** The pace of each model. */
export class Pace {
  private readonly means = new Map<string, { texts: number; ms: number }>();

  /** A text of a model took so long. */
  measured({ digest }: InstalledModel, ms: number): void {
    const mean = this.means.get(digest) ?? { texts: 0, ms: 0 };
    this.means.set(digest, mean);
    mean.texts = Math.min(mean.texts + 1, TEXTS);
    mean.ms += (ms - mean.ms) / mean.texts;
  }

  /** True once a text of the model was measured. */
  isKnown({ digest }: InstalledModel): boolean {
    return this.means.has(digest);
  }

  /** Milliseconds that a text of the model takes; a guess before the first was measured. */
  msPerText({ digest }: InstalledModel): number {
    return this.means.get(digest)?.ms ?? FIRST_GUESS_MS;
  }
}
