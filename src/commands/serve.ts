/** `fusegate serve`: reads the configuration and runs the server until it is told to stop. */
import { runParent, type ParentParts } from '../processes/parent.js';
import { readConfiguration, type Configuration, type Machine } from '../system/configuration.js';
import type { Clock } from '../system/clock.js';
import { createLog } from '../system/log.js';

/** What the command needs from the outside. */
export interface ServeParts extends Pick<ParentParts, 'program' | 'programArguments' | 'lockFile'> {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly machine: Machine;
  readonly clock: Clock;
  readonly version: string;
  /** Prints one line for the operator. */
  readonly print: (line: string) => void;
  /** Prints one line about what is wrong. */
  readonly printError: (line: string) => void;
}

/** How long requests in flight are waited for when told to stop (ms). */
const drainMs = 10_000;

/** Serves until stopped; resolves to the exit code: 0 stopped, 1 not started or requests were cut off. */
export async function serve(parts: ServeParts): Promise<number> {
  const read = readConfiguration(parts.environment, parts.machine);
  for (const warning of read.warnings) parts.printError(`Warning: ${warning}`);
  if ('errors' in read) {
    parts.printError('Fusegate cannot start with this configuration:');
    for (const error of read.errors) parts.printError(`  ${error}`);
    return 1;
  }
  const { configuration } = read;
  const onListening = (port: number, metricsPort: number): void => {
    for (const line of greeting(parts.version, configuration, port, metricsPort)) parts.print(line);
  };
  const log = createLog(configuration.logLevel);
  const outcome = await runParent({ ...parts, configuration, log, onListening, drainMs });
  if (outcome.kind === 'refused') parts.printError(outcome.reason);
  if (outcome.kind === 'killed') parts.printError('Requests were still in flight and have been cut off.');
  return outcome.kind === 'stopped' ? 0 : 1;
}

function address(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function greeting(
  version: string,
  configuration: Configuration,
  port: number,
  metricsPort: number,
): string[] {
  const { host, workers, dataFolder } = configuration;
  const count = workers === 1 ? '1 worker' : `${workers} workers`;
  const line = `Fusegate ${version} listens on ${address(host, port)} (${count}, data in ${dataFolder})`;
  return metricsPort === 0 ? [line] : [line, `Metrics on ${address(host, metricsPort)}/metrics`];
}
