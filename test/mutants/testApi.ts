/**
 * Stands in for node:test where mutants are tried: a test file that is imported leaves its tests here, which
 * are then run one by one, all or some of them, in the order of the file.
 */
import { createRequire } from 'node:module';
import type { MockTracker } from 'node:test';

// An import of it would be this module.
const { mock } = createRequire(import.meta.url)('node:test') as { readonly mock: MockTracker };

/** The part of node:test's context that our tests use. */
interface Context {
  readonly name: string;
  readonly signal: AbortSignal;
  readonly after: (run: Run) => void;
  readonly diagnostic: () => void;
  readonly skip: () => void;
  readonly mock: MockTracker;
}

type Run = (context: Context) => unknown;

interface Options {
  readonly skip?: boolean | string;
}

type Hooks = Record<'before' | 'after' | 'beforeEach' | 'afterEach', Run[]>;

interface Case {
  readonly kind: 'case';
  /** Its place among the file's tests. */
  readonly index: number;
  readonly name: string;
  readonly run: Run;
}

interface Suite {
  readonly kind: 'suite';
  readonly hooks: Hooks;
  readonly inside: (Suite | Case)[];
}

/** The tests that a file has left. */
export interface Gathered {
  readonly suite: Suite;
  readonly count: number;
}

function newSuite(): Suite {
  return { kind: 'suite', hooks: { before: [], after: [], beforeEach: [], afterEach: [] }, inside: [] };
}

let current = newSuite();
let count = 0;

/** Begins a file. */
export function beginFile(): void {
  current = newSuite();
  count = 0;
}

/** The tests since {@link beginFile}. */
export function gathered(): Gathered {
  return { suite: current, count };
}

/** Both ways to call `describe` and `test`: with options and without. */
function given<Body>(options: Options | Body, body: Body | undefined): { options: Options; body: Body } {
  return body === undefined ? { options: {}, body: options as Body } : { options: options as Options, body };
}

export function test(name: string, first: Options | Run, second?: Run): Promise<void> {
  const { options, body } = given<Run>(first, second);
  const isSkipped = options.skip !== undefined && options.skip !== false;
  if (!isSkipped) current.inside.push({ kind: 'case', index: count, name, run: body });
  if (!isSkipped) count += 1;
  return Promise.resolve();
}

export const it = test;

export function describe(_name: string, first: Options | (() => void), second?: () => void): Promise<void> {
  const { options, body } = given<() => void>(first, second);
  if (options.skip !== undefined && options.skip !== false) return Promise.resolve();
  const [outer, inner] = [current, newSuite()];
  outer.inside.push(inner);
  current = inner;
  try {
    body();
  } finally {
    current = outer;
  }
  return Promise.resolve();
}

export const suite = describe;

export function before(run: Run): void {
  current.hooks.before.push(run);
}

export function after(run: Run): void {
  current.hooks.after.push(run);
}

export function beforeEach(run: Run): void {
  current.hooks.beforeEach.push(run);
}

export function afterEach(run: Run): void {
  current.hooks.afterEach.push(run);
}

/** How a run of gathered tests is watched. */
export interface Watch {
  /** Tests that run; undefined: all. */
  readonly only: ReadonlySet<number> | undefined;
  /** Called after each test. */
  readonly ran?: (index: number, ms: number) => Promise<void>;
}

function contextOf(name: string): { context: Context; ends: Run[] } {
  const ends: Run[] = [() => mock.reset()];
  const nothing = (): void => undefined;
  const { signal } = new AbortController();
  const context = {
    name,
    signal,
    after: (run: Run) => ends.unshift(run),
    diagnostic: nothing,
    skip: nothing,
    mock,
  };
  return { context, ends };
}

async function runCase(each: Case, around: readonly Hooks[], { ran }: Watch): Promise<void> {
  const { context, ends } = contextOf(each.name);
  const begunMs = performance.now();
  try {
    for (const { beforeEach: runs } of around) for (const run of runs) await run(context);
    await each.run(context);
  } finally {
    for (const run of ends) await run(context);
    for (const { afterEach: runs } of around.toReversed()) for (const run of runs) await run(context);
  }
  await ran?.(each.index, performance.now() - begunMs);
}

function isWanted(each: Suite | Case, only: ReadonlySet<number> | undefined): boolean {
  if (only === undefined) return true;
  return each.kind === 'case' ? only.has(each.index) : each.inside.some((inner) => isWanted(inner, only));
}

async function runSuite({ hooks, inside }: Suite, around: readonly Hooks[], watch: Watch): Promise<void> {
  const { context } = contextOf('');
  try {
    for (const run of hooks.before) await run(context);
    for (const each of inside.filter((one) => isWanted(one, watch.only))) {
      if (each.kind === 'case') await runCase(each, [...around, hooks], watch);
      else await runSuite(each, [...around, hooks], watch);
    }
  } finally {
    for (const run of hooks.after) await run(context);
  }
}

/** Runs tests up to the first failure, which it throws. What the file opened is closed in any case. */
export function runGathered({ suite: all }: Gathered, watch: Watch): Promise<void> {
  return runSuite(all, [], watch);
}
