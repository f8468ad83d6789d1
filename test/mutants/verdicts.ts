/**
 * Verdicts of earlier runs, under `target`: which test noticed a change, or that none did. One counts while
 * the built file, and the test with its helpers, stay as they were; that none noticed it, while all of the
 * tests do. So a run tries what is new, and one that was ended goes on where it was.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Imports } from './build.js';
import type { Mutation } from './mutations.js';

/** The test file that noticed a change, null for none, and the state in which the tests were. */
interface Verdict {
  readonly test: string | null;
  readonly digest: string;
}

function nameOf({ from, to, text }: Mutation): string {
  return `${from}-${to} ${text}`;
}

/** Verdicts on the changes of one built file. */
export class Verdicts {
  private readonly path: string;
  private readonly known: Record<string, Verdict>;
  private readonly digests = new Map<string | null, string>();

  constructor(
    root: string,
    private readonly box: string,
    private readonly imports: Imports,
    text: string,
    private readonly tests: readonly string[],
  ) {
    const folder = join(root, 'target/mutants/verdicts');
    mkdirSync(folder, { recursive: true });
    this.path = join(folder, `${createHash('sha256').update(text).digest('hex')}.json`);
    this.known = this.read();
  }

  private read(): Record<string, Verdict> {
    try {
      return JSON.parse(readFileSync(this.path, 'utf8')) as Record<string, Verdict>;
    } catch {
      return {};
    }
  }

  /** A digest of a test and its helpers; null: of all tests. */
  private digest(test: string | null): string {
    const known = this.digests.get(test) ?? this.reckon(test);
    this.digests.set(test, known);
    return known;
  }

  private reckon(test: string | null): string {
    const inTests = (file: string): boolean => file.startsWith(join(this.box, 'dist/test/'));
    if (test !== null) return this.imports.digest(join(this.box, test), inTests);
    const hash = createHash('sha256');
    for (const each of [...this.tests].sort()) hash.update(this.digest(relative(this.box, each)));
    return hash.digest('hex');
  }

  /** Whether a test noticed a change, as far as is known. */
  of(mutation: Mutation): 'noticed' | 'survived' | undefined {
    const verdict = this.known[nameOf(mutation)];
    if (verdict === undefined || this.digest(verdict.test) !== verdict.digest) return undefined;
    return verdict.test === null ? 'survived' : 'noticed';
  }

  /** Keeps which test noticed a change; undefined: none did. */
  keep(mutation: Mutation, by: string | undefined): void {
    const test = by === undefined ? null : relative(this.box, by);
    this.known[nameOf(mutation)] = { test, digest: this.digest(test) };
    writeFileSync(this.path, JSON.stringify(this.known));
  }
}
