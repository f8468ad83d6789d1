/** Signals: the operator's, and those that Node.js would handle by itself. */
import { isatty } from 'node:tty';

/** Without a listener, Node.js answers these by opening its inspector, a shell for all who reach the port. */
export const noInspector = ['SIGUSR1'] as const;

/** Makes the process ignore those signals. */
export function ignoreInspector(): void {
  for (const signal of noInspector) process.on(signal, () => undefined);
}

/** The operator's commands by signal. */
export interface OperatorSignals {
  /** Resolves at the first stop signal; later ones (npm forwards the terminal's) change nothing. */
  readonly stopped: Promise<void>;
  /** Calls `action` at each SIGHUP; an earlier one counts, too. */
  readonly onReload: (action: () => void) => void;
}

/**
 * Listens to the operator. SIGTERM and SIGINT stop. SIGHUP reloads the settings, but stops if it means that
 * the terminal that started the server has gone.
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
