/**
 * A process that runs test files again and again without ending in between: each time it loads the test
 * file, its helpers, the changed file and all that imports it, and keeps everything else. Started by
 * `process.ts`, asked over its channel.
 */
import { Session } from 'node:inspector/promises';
import { register } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { HookData } from './hooks.js';
import { coveredIn, type Interval } from './intervals.js';
import { beginFile, gathered, runGathered, type Watch } from './testApi.js';

/** A question. */
export type Asked =
  /** The first one. `fresh`: files that are loaded again each time. */
  | { readonly kind: 'begin'; readonly fresh: readonly string[] }
  /** Runs a test file and measures what its tests reach; each of them once more alone. */
  | { readonly kind: 'measure'; readonly test: string; readonly under: string }
  /** Runs some tests of a file; undefined: all. */
  | { readonly kind: 'run'; readonly test: string; readonly only: readonly number[] | undefined };

/** What tests reach of each file. */
export type Reached = Readonly<Record<string, readonly Interval[]>>;

/** An answer. */
export type Answer =
  | { readonly kind: 'begun' }
  | { readonly kind: 'failed'; readonly why: string }
  /** Something failed outside of the tests: maybe an earlier one. */
  | { readonly kind: 'unsure' }
  | { readonly kind: 'passed'; readonly ms: number }
  | {
      readonly kind: 'measured';
      /** What loading the file reaches. */
      readonly loading: Reached;
      readonly cases: readonly { readonly ms: number; readonly reached: Reached }[];
      /** Tests that fail where those before them did not run. */
      readonly dependent: readonly number[];
    };

let runs = 0;
let failedOutside = false;
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, () => (failedOutside = true));

/** Loads a test file anew and runs it. */
async function runFile(test: string, watch: Watch, loaded?: () => Promise<void>): Promise<void> {
  runs += 1;
  beginFile();
  await import(`${pathToFileURL(test).href}?run=${runs}`);
  const all = gathered();
  await loaded?.();
  await runGathered(all, watch);
}

/** What was reached since the last call. */
async function take(session: Session, under: string): Promise<Reached> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const reached: Record<string, readonly Interval[]> = {};
  for (const { url, functions } of result) {
    if (!url.startsWith(pathToFileURL(under).href)) continue;
    const intervals = coveredIn(functions.flatMap(({ ranges }) => ranges));
    if (intervals.length > 0) reached[fileURLToPath(url)] = intervals;
  }
  return reached;
}

async function failsAlone(test: string, index: number): Promise<boolean> {
  try {
    await runFile(test, { only: new Set([index]) });
    return false;
  } catch {
    return true;
  }
}

async function measure(test: string, under: string): Promise<Answer> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  let loading: Reached = {};
  const cases: { ms: number; reached: Reached }[] = [];
  const ran = async (_: number, ms: number): Promise<void> => {
    cases.push({ ms, reached: await take(session, under) });
  };
  await runFile(test, { only: undefined, ran }, async () => {
    loading = await take(session, under);
  });
  await session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
  const dependent: number[] = [];
  for (const index of cases.keys()) if (await failsAlone(test, index)) dependent.push(index);
  return { kind: 'measured', loading, cases, dependent };
}

function begin(fresh: readonly string[]): Answer {
  const data: HookData = {
    fresh: fresh.map((file) => pathToFileURL(file).href),
    testApi: new URL('./testApi.js', import.meta.url).href,
  };
  register('./hooks.js', import.meta.url, { data });
  return { kind: 'begun' };
}

async function answer(asked: Asked): Promise<Answer> {
  if (asked.kind === 'begin') return begin(asked.fresh);
  if (asked.kind === 'measure') return measure(asked.test, asked.under);
  const begunMs = performance.now();
  await runFile(asked.test, { only: asked.only && new Set(asked.only) });
  return { kind: 'passed', ms: performance.now() - begunMs };
}

/** A turn of the event loop, in which what nobody waited for may fail. */
function turn(): Promise<void> {
  return new Promise((settle) => {
    setImmediate(settle);
  });
}

process.on('message', (asked: Asked) => {
  failedOutside = false;
  void answer(asked)
    .catch((error: unknown): Answer => ({ kind: 'failed', why: String(error) }))
    .then(async (answered) => {
      await turn();
      process.send?.(failedOutside && answered.kind === 'passed' ? { kind: 'unsure' } : answered);
    });
});
