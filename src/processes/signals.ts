/** Signals: those of the operator, and those that Node.js would act on by itself. */
import { isatty } from 'node:tty';

/** Node.js opens its inspector, a shell to whoever reaches the port, unless somebody listens to these. */
export const noInspector = ['SIGUSR1'] as const;

/** Has the process take no notice of them. */
export function ignoreInspector(): void {
  for (const signal of noInspector) process.on(signal, () => undefined);
}

/** What the operator says by signals. */
export interface OperatorSignals {
  /** Resolves at the first signal to stop; later ones (npm forwards the terminal's) change nothing. */
  readonly stopped: Promise<void>;
  /** Has each SIGHUP call `action`; one that came before counts. */
  readonly onReload: (action: () => void) => void;
}

/**
 * Listens to the operator: SIGTERM and SIGINT stop; SIGHUP has the settings read again, and stops where it
 * says that the terminal has gone at which the server was started.
 */
export function operatorSignals(): OperatorSignals {
  const hadTerminal = isatty(0);
  let reload: (() => void) | undefined;
  let isOwed = false;
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve());
    process.on('SIGHUP', () => {
      if (hadTerminal && !isatty(0)) resolve();
      else if (reload === undefined) isOwed = true;
      else reload();
    });
  });
  return {
    stopped,
    onReload(action) {
      reload = action;
      if (isOwed) action();
      isOwed = false;
    },
  };
}
