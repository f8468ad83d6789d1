/** `fusegate serve`: reads the configuration and runs the server until a signal stops it. */
import { accessSentence, chooseAccess } from '../access/mode.js';
import type { Tiers, TiersResult } from '../access/tiers.js';
import { readConfiguration, type Configuration } from '../configuration.js';
import { servedParts } from '../contract/served.js';
import type { Machine } from '../system/settings.js';
import { settingsFileVariable } from '../system/settingsFile.js';
import {
  createLog,
  logSink,
  type LineFormat,
  type Log,
  type LogFields,
  type LogFormat,
} from '../system/log.js';
import type { Ports } from '../system/ports.js';
import { logUncaught } from '../system/uncaught.js';
import { exposures } from './exposure.js';
import type { Notices } from './notices.js';

/** Outcome of serving. */
export type ServeOutcome =
  | { readonly kind: 'stopped' }
  /** Requests were still pending when the drain time was over. */
  | { readonly kind: 'killed' }
  /** It did not start; `reason` is a sentence that says what to do. */
  | { readonly kind: 'refused'; readonly reason: string };

/** Settings to serve with. */
export interface ServedSettings {
  readonly configuration: Configuration;
  readonly tiers: Tiers;
}

/** The routes to serve, and the callbacks. */
export interface ServeOrder extends ServedSettings {
  readonly log: Log;
  /** Format of the log's lines. */
  readonly logFormat: LineFormat;
  /** Reads the settings again; returns every error, a sentence each, if there are any. */
  readonly reread: () => Promise<ServedSettings | { readonly errors: readonly string[] }>;
  /** Called with settings that were read again, once they are in force. */
  readonly onRenewed: (configuration: Configuration) => void;
  /** Called once, when requests are answered, with the ports. */
  readonly onListening: (ports: Ports) => void;
}

/** The settings that the tiers depend on. */
export type TiersConfiguration = Pick<
  Configuration,
  'tiersFile' | 'anonymousRequestsPerMinute' | 'anonymousCharactersPerMonth' | 'access'
>;

/** Dependencies of the command. */
export interface ServeParts {
  /** Reads the configured file of tiers. */
  readonly readTiers: (configuration: TiersConfiguration) => TiersResult;
  /** Further errors of the configuration, a sentence each. */
  readonly wrongSettings: (partial: Partial<Configuration>) => Promise<readonly string[]>;
  /** Serves until a signal stops it. */
  readonly run: (order: ServeOrder) => Promise<ServeOutcome>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly machine: Machine;
  /** True if this process is root. */
  readonly isRoot: boolean;
  readonly version: string;
  /** The notices in a format; they do not depend on the log's level. */
  readonly notices: (format: LogFormat) => Notices;
  /** Called once it listens, with the home page's address. */
  readonly onReady?: (origin: string, warn: Notices['warn']) => void;
}

/** Serves until stopped; resolves to the exit code: 0 stopped, 1 not started or requests were cut off. */
export async function serve(parts: ServeParts): Promise<number> {
  const warnings: string[] = [];
  const read = await readAll(parts, (warning) => warnings.push(warning));
  const format = 'errors' in read ? read.logFormat : read.configuration.logFormat;
  const { say, warn, fail } = parts.notices(format);
  for (const warning of warnings) warn(warning);
  if ('errors' in read) {
    fail('Fusegate cannot start with this configuration', read.errors);
    return 1;
  }
  const { configuration, tiers } = read;
  const onListening = (ports: Ports): void => {
    for (const [line, fields] of greeting(parts, configuration, tiers, ports)) say(line, fields);
    parts.onReady?.(address(reachable(configuration.host), ports.port), warn);
  };
  const sink = logSink(2, format);
  const log = createLog(configuration.logLevel, sink);
  logUncaught((status) => process.exit(status), sink, log);
  const warnOfExposures = (exposed: Configuration): void => {
    for (const warning of exposures(exposed, parts.isRoot)) log.warn({}, warning);
  };
  warnOfExposures(configuration);
  const outcome = await parts.run({
    ...read,
    log,
    logFormat: sink.format,
    onListening,
    reread: () => readAll(parts, (warning) => log.warn({}, warning)),
    onRenewed(renewed) {
      log.setLevel(renewed.logLevel);
      warnOfExposures(renewed);
    },
  });
  if (outcome.kind === 'refused') fail(outcome.reason);
  if (outcome.kind === 'killed') fail('Requests were still in flight and have been cut off.');
  return outcome.kind === 'stopped' ? 0 : 1;
}

/** Reads every setting and the tiers; returns all of their errors together. */
async function readAll(
  parts: ServeParts,
  warn: (warning: string) => void,
): Promise<ServedSettings | { readonly errors: readonly string[]; readonly logFormat: LogFormat }> {
  const read = readConfiguration(parts.environment, parts.machine);
  for (const warning of read.warnings) warn(warning);
  const partial = 'errors' in read ? read.partial : read.configuration;
  const readTiers = tiersOf(parts, partial);
  const errors = [
    ...('errors' in read ? read.errors : []),
    ...(readTiers !== undefined && 'errors' in readTiers ? readTiers.errors : []),
    ...(await parts.wrongSettings(partial)),
  ];
  const isWrong = errors.length > 0 || 'errors' in read;
  if (isWrong || readTiers === undefined || 'errors' in readTiers) {
    return { errors, logFormat: partial.logFormat ?? 'auto' };
  }
  return { configuration: read.configuration, tiers: readTiers.tiers };
}

/** The tiers, if the settings that name them are valid. */
function tiersOf({ readTiers }: ServeParts, partial: Partial<Configuration>): TiersResult | undefined {
  const { tiersFile, anonymousRequestsPerMinute = null, anonymousCharactersPerMonth = null } = partial;
  const { access = chooseAccess('metered', []) } = partial;
  if (tiersFile === undefined) return undefined;
  return readTiers({ tiersFile, anonymousRequestsPerMinute, anonymousCharactersPerMonth, access });
}

/** A host that this machine can connect to; replaces one that means every address. */
function reachable(host: string): string {
  return { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
}

function address(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The lines of a server that listens, with their facts. */
function greeting(
  { version, environment }: ServeParts,
  configuration: Configuration,
  tiers: Tiers,
  ports: Ports,
): (readonly [line: string, fields: LogFields])[] {
  const settingsFile = environment[settingsFileVariable] ?? '';
  const { port, doorPort, metricsPort } = ports;
  const { host, workers, dataFolder, serve } = configuration;
  const count = workers === 1 ? '1 worker' : `${workers} workers`;
  const at = address(host, port);
  const facts = { version, address: at, workers };
  const lines = [
    ...(doorPort === undefined ? [] : [`Fragment door on ${address(host, doorPort)}`]),
    ...(metricsPort === 0 ? [] : [`Metrics on ${address(host, metricsPort)}/metrics`]),
    ...(serve.length === servedParts.length ? [] : [`Serves ${serve.join(', ')} (SERVE)`]),
    ...(settingsFile === '' ? [] : [`Settings from ${settingsFile} and the environment`]),
    `Access ${accessSentence(configuration.access, tiers.anonymous)}`,
  ];
  return [
    [`Fusegate ${version} listens on ${at} (${count}, data in ${dataFolder})`, facts],
    ...lines.map((line) => [line, {}] as const),
  ];
}
