/** Signals that Node.js would act on by itself. */

/** Node.js opens its inspector, a shell to whoever reaches the port, unless somebody listens to these. */
export const noInspector = ['SIGUSR1'] as const;

/** Has the process take no notice of them. */
export function ignoreInspector(): void {
  for (const signal of noInspector) process.on(signal, () => undefined);
}
