/**
 * The end of a test run, for people: what failed, what did not run and why, and the slowest files. A reporter
 * of node:test (Node's documentation, "Custom reporters"), in addition to the one that prints the results.
 */
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

/** Files in the list of slow ones. */
const maxSlowFiles = 10;

/** Lines of an error's message in the list of failures: what was expected, and what came. */
const maxErrorLines = 12;

/** One result, as the events `test:pass` and `test:fail` carry it. */
interface Result {
  readonly name: string;
  readonly nesting: number;
  readonly file?: string;
  readonly line?: number;
  readonly skip?: string | boolean;
  readonly details: { readonly duration_ms: number; readonly error?: Failure };
}

/** A failure as node:test wraps it. */
interface Failure extends Error {
  readonly failureType?: string;
}

/** Reads the events of a run, and yields its text once at the end. */
export default async function* summary(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const failed: Result[] = [];
  const reasons = new Map<string, number>();
  const durationsMs = new Map<string, number>();
  for await (const event of events) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const result = event.data as Result;
    const { nesting, file, skip, details } = result;
    // A group that fails because a test of it does is not told beside that test.
    if (event.type === 'test:fail' && details.error?.failureType !== 'subtestsFailed') failed.push(result);
    if (nesting === 0 && file !== undefined)
      durationsMs.set(file, (durationsMs.get(file) ?? 0) + details.duration_ms);
    if (skip === undefined || skip === false) continue;
    const reason = typeof skip === 'string' && skip !== '' ? skip : 'no reason given';
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  yield failures(failed) + notRun(reasons) + slow(durationsMs);
}

function failures(failed: readonly Result[]): string {
  if (failed.length === 0) return '';
  const lines = failed.map(({ name, file = '', line = 0, details: { error } }) => {
    const why = (error?.message ?? '').split('\n').slice(0, maxErrorLines);
    return [`    ${relative(process.cwd(), file)}:${line}  ${name}`, ...why.map((text) => `        ${text}`)];
  });
  return `\nFailed:\n${lines.flat().join('\n')}\n`;
}

function notRun(reasons: ReadonlyMap<string, number>): string {
  if (reasons.size === 0) return '\nEvery test ran.\n';
  const lines = [...reasons].map(([reason, count]) => `${String(count).padStart(5)}  ${reason}`);
  return `\nTests and groups that did not run, and what they need:\n${lines.join('\n')}\n`;
}

function slow(durationsMs: ReadonlyMap<string, number>): string {
  const longest = [...durationsMs].sort(([, left], [, right]) => right - left).slice(0, maxSlowFiles);
  const lines = longest.map(([file, durationMs]) => {
    const seconds = (durationMs / 1_000).toFixed(1);
    return `${seconds.padStart(7)} s  ${relative(process.cwd(), file)}`;
  });
  return `\nSlowest files:\n${lines.join('\n')}\n`;
}
