/**
 * Changes that no test can notice, as nothing that anybody sees depends on them: each with its reason. A
 * change is named as the runner shows it. A reason whose change is no longer made is reported.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mutation } from './mutations.js';

/** Changes of a source file, each with its reason. */
export type Reasons = Readonly<Record<string, string>>;

/** The reasons of every file, as `test/mutants/reasons.json` has them. */
export function readReasons(root: string): Readonly<Record<string, Reasons>> {
  const text = readFileSync(join(root, 'test/mutants/reasons.json'), 'utf8');
  return JSON.parse(text) as Record<string, Reasons>;
}

/** Reasons for changes that are not made: those of a file that has none of them. */
export function withoutChange(reasons: Reasons, changes: readonly string[]): string[] {
  return Object.keys(reasons).filter((change) => !changes.includes(change));
}

/** Says what a mutation does. */
export function shown(text: string, mutation: Omit<Mutation, 'reached'>): string {
  const short = (part: string): string => part.replaceAll(/\s+/g, ' ').slice(0, 100);
  const around = text.slice(text.lastIndexOf('\n', mutation.from - 1) + 1, mutation.from).trimStart();
  const was = short(text.slice(mutation.from, mutation.to));
  return `${short(around)}[${was} → ${short(mutation.text)}]`;
}
