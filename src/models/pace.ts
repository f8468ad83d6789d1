/** A model's time per text, as measured on this machine: a mean over the latest texts. */
import type { InstalledModel } from './embedder.js';

/** Number of texts in the mean: texts differ in length, and the machine's load changes. */
const TEXTS = 64;

/** Assumed time of a text before the first measurement (ms). */
const FIRST_GUESS_MS = 20;

/** The pace of each model. */
export class Pace {
  private readonly means = new Map<string, { texts: number; ms: number }>();

  /** Records the time that a text took. */
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

  /** Time per text of the model (ms); a guess before the first measurement. */
  msPerText({ digest }: InstalledModel): number {
    return this.means.get(digest)?.ms ?? FIRST_GUESS_MS;
  }
}
