/** Risks in a server's environment: reported at start and by doctor. */
import type { Configuration } from '../configuration.js';
import { isLoopback } from '../system/network.js';

/** One or two sentences for each risk. `isRoot`: the process is root. */
export function exposures(
  { host, metricsPort }: Pick<Configuration, 'host' | 'metricsPort'>,
  isRoot: boolean,
): string[] {
  const isOutside = !isLoopback(host.includes(':') ? `[${host}]` : host);
  return [
    ...(isRoot
      ? [
          'It runs as root: a vulnerability in it would affect the whole machine. Run it as a user of its ' +
            'own.',
        ]
      : []),
    ...(metricsPort !== 0 && isOutside
      ? [`Anyone who reaches ${host}:${metricsPort} reads the metrics: let only your monitoring reach it.`]
      : []),
  ];
}
