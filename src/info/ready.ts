/** `GET /ready`: reports if requests can be served, and if not, why. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jsonAnswer } from '../contract/answer.js';
import type { Handler } from '../contract/exchange.js';
import { unfinished, type ReadyCheck, type ReadyResponse } from '../contract/info.js';
import { whenUnavailable, type Store } from '../store/store.js';
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { shortReasonOf } from '../system/reason.js';

/** Why a check fails. */
export interface CheckFailure {
  /** Stable code, for programs. */
  readonly code: string;
  /** A sentence for the public: it reveals no address and no path. */
  readonly reason: string;
  /** More for the operator's log. */
  readonly detail?: string;
}

/** One thing that readiness depends on. */
export interface ReadinessCheck {
  readonly name: string;
  /** The failure; null if the check passes. */
  readonly run: () => Promise<CheckFailure | null> | CheckFailure | null;
}

/** A file can be written in the data folder: a full or read-only disk fails the check, too. */
export function dataFolderCheck(folder: string): ReadinessCheck {
  const probe = join(folder, `.ready-${process.pid}`);
  const run = async () => {
    try {
      await writeFile(probe, 'ready\n');
      await rm(probe);
      return null;
    } catch (error) {
      return {
        code: 'data_folder_unwritable',
        reason: `The data folder cannot be written (${shortReasonOf(error)}).`,
      };
    }
  };
  return { name: 'data_folder', run };
}

/** A record can be written to the store and synced. */
export function storeCheck(store: Pick<Store, 'probe'>): ReadinessCheck {
  const run = async () => {
    const written = store.probe().then(() => null);
    const reason = 'The store cannot be written; the log of the server says why.';
    return whenUnavailable(written, ({ message }) => ({ code: 'store_unwritable', reason, detail: message }));
  };
  return { name: 'store', run };
}

/** The native module runs and is the one built from this version. */
export function nativeModuleCheck(nativeVersion: () => string, expected: string): ReadinessCheck {
  const run = () => {
    const found = nativeVersion();
    if (found === expected) return null;
    const reason = `The native module is version ${found}, not ${expected}; build again.`;
    return { code: 'native_module_version', reason };
  };
  return { name: 'native_module', run };
}

/** Dependencies of readiness. */
export interface ReadyParts {
  readonly checks: readonly ReadinessCheck[];
  /** Further sentences for the operator. */
  readonly warn: () => Promise<readonly string[]>;
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  readonly log: Pick<Log, 'warn' | 'info'>;
}

/** Time for which an outcome is cached (ms): a check costs a synced write. */
const freshMs = 1_000;

/** Longest time that a request waits for a running check, from its start (ms). */
const answerMs = 250;

/** Time for which the last outcome stands in for a slow check (ms): a busy disk is not a failure. */
const patienceMs = 10_000;

/** One outcome of all checks. */
interface Look {
  readonly body: ReadyResponse;
  readonly atMs: number;
}

/**
 * Runs the checks once at a time: all requests share the run in progress. The start and the end of a failure
 * are logged, with details that the public does not get.
 */
class Looks {
  private last: Look | undefined;
  private current: Promise<Look> | undefined;
  private currentMs = 0;
  private failing = '';

  constructor(private readonly parts: ReadyParts) {}

  /** The outcome that is known within {@link answerMs}. */
  async outcome(): Promise<ReadyResponse> {
    const { clock, checks } = this.parts;
    if (this.last !== undefined && clock.monotonicMs() - this.last.atMs < freshMs) return this.last.body;
    if (this.current === undefined) {
      this.currentMs = clock.monotonicMs();
      this.current = this.look();
    }
    const leftMs = this.currentMs + answerMs - clock.monotonicMs();
    // Once a run has taken that long, requests no longer wait for it.
    const look = (leftMs > 0 ? await this.within(this.current, leftMs) : undefined) ?? this.last;
    if (look !== undefined && clock.monotonicMs() - look.atMs < patienceMs) return look.body;
    const failure = { code: unfinished, reason: 'The check did not finish.' };
    return bodyOf(
      checks.map(({ name }) => ({ check: name, ok: false, ...failure })),
      [],
    );
  }

  private within(look: Promise<Look>, timeMs: number): Promise<Look | undefined> {
    return new Promise((resolve, reject) => {
      const timer = this.parts.clock.after(timeMs, () => resolve(undefined));
      look.then(resolve, reject).finally(() => timer.stop());
    });
  }

  private async look(): Promise<Look> {
    const { checks, warn, clock } = this.parts;
    try {
      const [failures, warnings] = await Promise.all([
        Promise.all(checks.map(async ({ run }) => run())),
        warn(),
      ]);
      this.report(failures);
      this.last = { body: bodyOf(checks.map(outcomeOf(failures)), warnings), atMs: clock.monotonicMs() };
      return this.last;
    } finally {
      this.current = undefined;
    }
  }

  private report(failures: readonly (CheckFailure | null)[]): void {
    const { log } = this.parts;
    const failed = failures.flatMap((failure) => failure ?? []);
    const codes = failed.map(({ code }) => code).join(', ');
    if (codes === this.failing) return;
    this.failing = codes;
    if (codes === '') log.info({}, 'ready again');
    else
      log.warn({ failed: failed.map(({ code, reason, detail }) => ({ code, reason, detail })) }, 'not ready');
  }
}

function outcomeOf(failures: readonly (CheckFailure | null)[]) {
  return ({ name }: ReadinessCheck, at: number): ReadyCheck => {
    const failure = failures[at] ?? null;
    return {
      check: name,
      ok: failure === null,
      code: failure?.code ?? null,
      reason: failure?.reason ?? null,
    };
  };
}

function bodyOf(checks: ReadyCheck[], warnings: readonly string[]): ReadyResponse {
  return { ready: checks.every(({ ok }) => ok), checks, warnings: [...warnings] };
}

/** Answers within 300 ms, whatever the store does: 200 if every check passes, else 503 with the reasons. */
export function ready(parts: ReadyParts): Handler {
  const looks = new Looks(parts);
  return async () => {
    const body = await looks.outcome();
    return jsonAnswer(body.ready ? 200 : 503, body);
  };
}
