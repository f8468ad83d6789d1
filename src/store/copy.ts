/** Fills an empty engine with the records of another, or of a backup, and verifies them. */
import type { Engine } from './engine.js';
import { unfinishedCopyKey } from './open.js';
import { everything, walkOver, type Summary, type Visit, type Walk } from './records.js';
import { whenUnavailable, type Entry } from './store.js';

/** Outcome of a copy. `reason`s are sentences for the operator. */
export type CopyOutcome =
  | ({ readonly kind: 'copied' } & Summary)
  /** Nothing was written. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The target is marked as unfinished: no server opens it. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Receives a pass's progress: `count` of about `total`, in records unless `unit` names another unit. */
export type Progress = (pass: string, count: number, total: number, unit?: string) => void;

const unfinished =
  'The store to write to holds an unfinished copy. ' +
  'Empty it (remove the folder, or drop the tables) and try again.';

const occupied = 'The store to write to holds records already. It must be empty.';

const halfSource = 'The store to copy from is itself an unfinished copy.';

const changed = 'The store to copy from changed meanwhile. Stop the servers that use it and try again.';

/** A copy overwrites without reading. */
const noKeys = (): readonly Uint8Array[] => [];

/** Why this engine's records are not a whole store, if so. */
export async function unfinishedSource(from: Engine): Promise<string | undefined> {
  return (await from.get(unfinishedCopyKey)) === undefined ? undefined : halfSource;
}

/**
 * The number of records, to show progress; 0 if it is not known: a large store may take too long to count.
 */
export function aboutRecords(engine: Pick<Engine, 'count'>): Promise<number> {
  return whenUnavailable(engine.count(), () => 0);
}

/** Copies `from`, which must not change meanwhile, to `to`, which must be empty. */
export async function copyStore(from: Engine, to: Engine, progress: Progress): Promise<CopyOutcome> {
  const reason = await whenUnavailable(unfinishedSource(from), ({ message }) => message);
  if (reason !== undefined) return { kind: 'refused', reason };
  const about = await aboutRecords(from);
  const walk = walkOver((range) => from.scan(range));
  const source = { name: 'copy', walk, about };
  return fillStore(source, to, progress, async ({ digest, records }) => {
    const again = await walk(reporting(progress, 'verify source', records));
    return again.digest === digest ? undefined : changed;
  });
}

/** A source of records. */
export interface Source {
  /** The name of the pass that writes them. */
  readonly name: string;
  readonly walk: Walk;
  /** Estimated number of records. */
  readonly about: number;
}

/**
 * Writes the records of a source to `to`, which must be empty. A marker makes the target unfinished until
 * three checks have passed: `wrong` accepts what was read, a walk over the target finds the same records, and
 * `finish`, which may change them, succeeds.
 */
export async function fillStore(
  source: Source,
  to: Engine,
  progress: Progress,
  wrong: (written: Summary) => Promise<string | undefined>,
  finish: () => Promise<string | undefined> = () => Promise.resolve(undefined),
): Promise<CopyOutcome> {
  const reason = await whenUnavailable(obstacle(to), ({ message }) => message);
  if (reason !== undefined) return { kind: 'refused', reason };
  const filled = fill(source, to, progress, wrong, finish);
  const outcome = await whenUnavailable(filled, ({ message }) => message);
  return typeof outcome === 'string' ? { kind: 'failed', reason: outcome } : { kind: 'copied', ...outcome };
}

/** Most records and bytes in one transaction: over a slow link an engine has only seconds for each. */
const stepRecords = 1_000;
const stepBytes = 512 * 1024;

/** Splits a page into transactions; a record that is larger than one is alone. */
function* stepsOf(entries: readonly Entry[]): Generator<readonly Entry[], void> {
  let step: Entry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const more = entry.key.byteLength + entry.value.byteLength;
    if (step.length > 0 && (step.length === stepRecords || bytes + more > stepBytes)) {
      yield step;
      [step, bytes] = [[], 0];
    }
    step.push(entry);
    bytes += more;
  }
  if (step.length > 0) yield step;
}

/** Writes the records and verifies them; a sentence if they are incomplete. */
async function fill(
  { name, walk, about }: Source,
  to: Engine,
  progress: Progress,
  wrong: (written: Summary) => Promise<string | undefined>,
  finish: () => Promise<string | undefined>,
): Promise<Summary | string> {
  await to.transact(noKeys, () => [{ key: unfinishedCopyKey, value: Buffer.from('1') }]);
  const written = await walk(async ({ entries, records }) => {
    progress(name, records, about);
    for (const step of stepsOf(entries)) await to.transact(noKeys, () => step);
  });
  const { digest, records } = written;
  const against = await wrong(written);
  if (against !== undefined) return against;
  const target = await walkOver((range) => to.scan(range))(reporting(progress, 'verify target', records));
  if (target.digest !== digest) {
    return `The target holds other records than the source (${target.records}, ${records}).`;
  }
  const hindrance = await finish();
  if (hindrance !== undefined) return hindrance;
  await to.transact(noKeys, () => [{ key: unfinishedCopyKey, value: undefined }]);
  return written;
}

/** Why nothing can be written to an engine, if so. */
async function obstacle(to: Engine): Promise<string | undefined> {
  if ((await to.get(unfinishedCopyKey)) !== undefined) return unfinished;
  const present = await to.scan({ ...everything, limit: 1 });
  return present.length > 0 ? occupied : undefined;
}

/** A visit that only reports progress. */
function reporting(progress: Progress, pass: string, total: number): Visit {
  return ({ records }) => progress(pass, records, total);
}
