/**
 * The environment variables that Fusegate reads: one table, checked at start, from which the page is made.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { logLevels, type LogLevel } from './log.js';

/** Everything that the operator can set, checked. */
export interface Configuration {
  /** TCP port that the workers share; 0 takes a free one. */
  readonly port: number;
  /** Address that the server listens on. */
  readonly host: string;
  /** Count of worker processes. */
  readonly workers: number;
  /** Where the store is: `lmdb:` and an absolute folder, or a `postgres://` URL. May hold a password. */
  readonly storeUrl: string;
  /** Absolute path of the folder for everything Fusegate keeps outside the store. */
  readonly dataFolder: string;
  /** Port of the summed metrics; 0 is off. */
  readonly metricsPort: number;
  readonly logLevel: LogLevel;
}

/** Facts about the machine that defaults depend on. */
export interface Machine {
  /** `process.platform`. */
  readonly platform: NodeJS.Platform;
  /** Cores that this process may use. */
  readonly cores: number;
}

/** A value, or the sentence that says what is wrong with it and what to set. */
type Parsed<Value> = { readonly value: Value } | { readonly wrong: string };

/** One variable: how the page describes it and how its text becomes a value. */
interface Variable<Value> {
  readonly name: string;
  /** The kind of value, as the page shows it. */
  readonly type: string;
  /** The default as the operator would write it, given the machine. */
  readonly fallback: (machine: Machine) => string;
  /** The default as the page shows it; {@link Variable.fallback}'s value where absent. */
  readonly fallbackShown?: string;
  readonly meaning: string;
  /** Its value is never shown, and NAME_FILE may name a file that holds it. */
  readonly secret?: true;
  readonly parse: (text: string) => Parsed<Value>;
}

type Table = { readonly [Key in Exclude<keyof Configuration, 'dataFolder'>]: Variable<Configuration[Key]> };

/** A parser of whole decimal numbers from `least` to `most`. */
function integer(least: number, most: number): (text: string) => Parsed<number> {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return { value };
    return { wrong: `must be a whole number from ${least} to ${most}` };
  };
}

function parseHost(text: string): Parsed<string> {
  if (/^[A-Za-z0-9.:_%-]+$/.test(text)) return { value: text };
  return {
    wrong: 'must be an IP address or host name without scheme, port or brackets, such as 0.0.0.0 or ::',
  };
}

function parseStoreUrl(text: string): Parsed<string> {
  const folder = /^lmdb:([^\0]+)$/.exec(text)?.[1];
  if (folder !== undefined) return { value: `lmdb:${resolve(folder)}` };
  if (/^postgres(ql)?:\/\/./.test(text) && URL.canParse(text)) return { value: text };
  return {
    wrong:
      'must be lmdb:<folder>, such as lmdb:./data/store, or postgres://user:password@host:port/database ' +
      'with %-escapes for special characters',
  };
}

/** The folder that holds an LMDB store's, and `./data` with any other store. */
function dataFolderOf(storeUrl: string): string {
  return storeUrl.startsWith('lmdb:') ? dirname(storeUrl.slice('lmdb:'.length)) : resolve('data');
}

function parseLogLevel(text: string): Parsed<LogLevel> {
  const value = logLevels.find((level) => level === text);
  return value === undefined ? { wrong: `must be one of ${logLevels.join(', ')}` } : { value };
}

const table: Table = {
  port: {
    name: 'PORT',
    type: 'port, 0 to 65535',
    fallback: () => '8080',
    meaning: 'TCP port that Fusegate listens on; 0 takes a free one and prints it.',
    parse: integer(0, 65_535),
  },
  host: {
    name: 'HOST',
    type: 'IP address or host name',
    fallback: () => '127.0.0.1',
    meaning: 'Address that Fusegate listens on. `0.0.0.0` and `::` are every address of the machine.',
    parse: parseHost,
  },
  workers: {
    name: 'WORKERS',
    type: 'whole number, 1 to 256',
    fallback: ({ platform, cores }) => (platform === 'darwin' ? '1' : String(Math.min(cores, 256))),
    fallbackShown: 'the machine’s cores; 1 on macOS',
    meaning: 'Worker processes that share the port.',
    parse: integer(1, 256),
  },
  storeUrl: {
    name: 'STORE_URL',
    type: '`lmdb:<folder>` or `postgres://…`',
    fallback: () => 'lmdb:./data/store',
    meaning:
      'Where the store is ([store.md](store.md)). The folder that holds an LMDB store, and `./data` with ' +
      'PostgreSQL, is the data folder: what Fusegate keeps besides the store lies there, and one server ' +
      'at a time may use it.',
    secret: true,
    parse: parseStoreUrl,
  },
  metricsPort: {
    name: 'METRICS_PORT',
    type: 'port, 0 to 65535',
    fallback: () => '0',
    meaning: 'Port, on HOST, of `GET /metrics` (Prometheus text, summed over the workers); 0 is off.',
    parse: integer(0, 65_535),
  },
  logLevel: {
    name: 'LOG_LEVEL',
    type: logLevels.join(', '),
    fallback: () => 'info',
    meaning: 'The least serious events that are logged. `debug` adds a line for each request.',
    parse: parseLogLevel,
  },
};

/** What reading the environment came to: a configuration with warnings, or every error at once. */
export type ConfigurationResult =
  | { readonly configuration: Configuration; readonly warnings: readonly string[] }
  | { readonly errors: readonly string[]; readonly warnings: readonly string[] };

/**
 * Reads and checks the environment. An empty variable counts as one not set. Every error is listed, each a
 * sentence that names the variable and what to set; so is a name that looks like ours but is not.
 */
export function readConfiguration(
  environment: Readonly<Record<string, string | undefined>>,
  machine: Machine,
): ConfigurationResult {
  const errors: string[] = [];
  const warnings = lookalikes(Object.keys(environment));
  function read<Value>(variable: Variable<Value>): Value | undefined {
    const found = given(variable, environment);
    if ('wrong' in found) {
      errors.push(`${variable.name}_FILE ${found.wrong}.`);
      return undefined;
    }
    const text = found.value === '' ? variable.fallback(machine) : found.value;
    const parsed = variable.parse(text);
    if ('value' in parsed) return parsed.value;
    const shown = variable.secret === true ? '' : `; it is ${JSON.stringify(text)}`;
    errors.push(`${variable.name} ${parsed.wrong}${shown}.`);
    return undefined;
  }
  const port = read(table.port);
  const host = read(table.host);
  const workers = read(table.workers);
  const storeUrl = read(table.storeUrl);
  const metricsPort = read(table.metricsPort);
  const logLevel = read(table.logLevel);
  if (port !== undefined && port !== 0 && port === metricsPort) {
    errors.push(`METRICS_PORT must differ from PORT; both are ${port}.`);
  }
  if (
    errors.length > 0 ||
    port === undefined ||
    host === undefined ||
    workers === undefined ||
    storeUrl === undefined ||
    metricsPort === undefined ||
    logLevel === undefined
  ) {
    return { errors, warnings };
  }
  const dataFolder = dataFolderOf(storeUrl);
  return { configuration: { port, host, workers, storeUrl, dataFolder, metricsPort, logLevel }, warnings };
}

/** A variable's text, empty where it is not set; a secret's from the file that NAME_FILE names. */
function given(
  { name, secret }: Pick<Variable<unknown>, 'name' | 'secret'>,
  environment: Readonly<Record<string, string | undefined>>,
): Parsed<string> {
  const text = environment[name] ?? '';
  const file = secret === true ? (environment[`${name}_FILE`] ?? '') : '';
  if (file === '') return { value: text };
  if (text !== '') return { wrong: `and ${name} are both set: set one of them` };
  try {
    return { value: readFileSync(file, 'utf8').replace(/\r?\n$/, '') };
  } catch (error) {
    return {
      wrong: `names a file that cannot be read (${error instanceof Error ? error.message : String(error)})`,
    };
  }
}

/** Number of single-character edits between two strings (Levenshtein distance). */
function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}

/** A sentence for each name that is not ours but nearly so, or begins with the product's name. */
function lookalikes(names: readonly string[]): string[] {
  const ours = Object.values(table).map((variable) => variable.name);
  const files = Object.values(table).flatMap(({ name, secret }) => (secret === true ? [`${name}_FILE`] : []));
  return names.flatMap((name) => {
    if (ours.includes(name) || files.includes(name)) return [];
    const near = ours.find((known) => {
      const plain = name
        .toUpperCase()
        .replace(/^FUSEGATE_?/, '')
        .replaceAll('_', '');
      return editDistance(plain, known.replaceAll('_', '')) <= (known.length > 6 ? 2 : 1);
    });
    if (near !== undefined) return [`${name} is not read; did you mean ${near}?`];
    if (/^FUSEGATE/i.test(name)) return [`${name} is not read; the variables are ${ours.join(', ')}.`];
    return [];
  });
}

/** The page `docs/configuration.md`, made from the table. */
export function renderConfiguration(): string {
  const rows = Object.values(table).map((variable) => {
    const fallback = variable.fallbackShown ?? `\`${variable.fallback({ platform: 'linux', cores: 1 })}\``;
    return `| \`${variable.name}\` | ${variable.type} | ${fallback} | ${variable.meaning} |`;
  });
  return [
    '# Configuration',
    '',
    'Fusegate is configured by environment variables, all optional. They are checked at start; every',
    'error is listed at once. An empty variable counts as one that is not set. A variable whose name is',
    'nearly one of these is not read, and a warning says so. STORE_URL may hold a password:',
    '`STORE_URL_FILE` may name a file that holds it instead.',
    '',
    '| variable | type | default | meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
