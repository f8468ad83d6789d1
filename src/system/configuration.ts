/**
 * The environment variables that Fusegate reads: one table, checked at start, from which the page is made.
 */
import { dirname, resolve } from 'node:path';
import { logLevels, type LogLevel } from './log.js';
import { parseNetwork } from './network.js';

/** Everything that the operator can set, checked. */
export interface Configuration {
  /** TCP port that the workers share; 0 takes a free one. */
  readonly port: number;
  /** Address that the server listens on. */
  readonly host: string;
  /** Count of worker processes. */
  readonly workers: number;
  /** Absolute path of the folder that holds everything Fusegate keeps. */
  readonly dataFolder: string;
  /** Port of the summed metrics; 0 is off. */
  readonly metricsPort: number;
  readonly logLevel: LogLevel;
  /** What clients reach the server by: an origin without a path; null when not told. */
  readonly publicUrl: string | null;
  /** Addresses and networks (CIDR) whose word about a client's address is taken. */
  readonly trustedProxies: readonly string[];
  /** Absolute path of the file of tiers; null: the one that ships. */
  readonly tiersFile: string | null;
  /** Requests a minute without a key, by address; 0: no limit; null: as the file of tiers says. */
  readonly anonymousRequestsPerMinute: number | null;
  /** Characters a month without a key, by address; 0: no limit; null: as the file of tiers says. */
  readonly anonymousCharactersPerMonth: number | null;
  /** Leads and delivery interests a minute, by address; 0: no limit. */
  readonly leadsPerMinute: number;
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
  readonly parse: (text: string) => Parsed<Value>;
}

type Table = { readonly [Key in keyof Configuration]: Variable<Configuration[Key]> };

/** A parser of whole decimal numbers from `least` to `most`. */
function integer(least: number, most: number): (text: string) => Parsed<number> {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return { value };
    return { wrong: `must be a whole number from ${least} to ${most}` };
  };
}

/** The largest number of requests a minute that a limit counts exactly. */
export const MOST_REQUESTS_PER_MINUTE = 1_000_000;

/** The largest number of characters a month that a limit can hold. */
export const MOST_CHARACTERS_PER_MONTH = 1_000_000_000_000;

/** A parser of whole numbers up to `most`, in which no text is null. */
function integerOrNull(most: number): (text: string) => Parsed<number | null> {
  return (text) => {
    if (text === '') return { value: null };
    const value = /^\d{1,13}$/.test(text) ? Number(text) : Number.NaN;
    return value <= most ? { value } : { wrong: `must be a whole number from 0 to ${most}` };
  };
}

const loopback = ['localhost', '127.0.0.1', '[::1]'];

function parsePublicUrl(text: string): Parsed<string | null> {
  if (text === '') return { value: null };
  const url = /^https?:\/\/[^/?#@\s]+\/?$/.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  const secure = url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.includes(url.hostname));
  if (url !== undefined && secure) return { value: url.origin };
  return {
    wrong:
      'must be https://<host>, with a port where it needs one and without a path, such as ' +
      'https://api.example.com; http only for localhost, 127.0.0.1 and [::1]',
  };
}

function parseProxies(text: string): Parsed<readonly string[]> {
  const value = text === '' ? [] : text.split(',').map((network) => network.trim());
  if (value.every((network) => parseNetwork(network) !== undefined)) return { value };
  return {
    wrong:
      'must be IP addresses and networks separated by commas, such as 10.0.0.0/8,2001:db8::/32, ' +
      'with no bit set behind the prefix',
  };
}

function parseHost(text: string): Parsed<string> {
  if (/^[A-Za-z0-9.:_%-]+$/.test(text)) return { value: text };
  return {
    wrong: 'must be an IP address or host name without scheme, port or brackets, such as 0.0.0.0 or ::',
  };
}

function parseDataFolder(text: string): Parsed<string> {
  const folder = /^lmdb:(.+)$/s.exec(text)?.[1];
  if (folder === undefined || folder.includes('\0')) {
    return { wrong: 'must be lmdb:<folder>, such as lmdb:./data/store' };
  }
  return { value: dirname(resolve(folder)) };
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
  dataFolder: {
    name: 'STORE_URL',
    type: '`lmdb:<folder>`',
    fallback: () => 'lmdb:./data/store',
    meaning:
      'Where the store lies. The folder that holds it is the data folder: everything that Fusegate ' +
      'keeps lies there, and one server at a time may use it.',
    parse: parseDataFolder,
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
  publicUrl: {
    name: 'PUBLIC_URL',
    type: '`https://<host>`',
    fallback: () => '',
    fallbackShown: 'none',
    meaning: 'What clients reach the server by, for links that leave it. Plain http is for loopback only.',
    parse: parsePublicUrl,
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    type: 'addresses and networks, by commas',
    fallback: () => '',
    fallbackShown: 'none',
    meaning:
      'Proxies whose `X-Forwarded-For` or `Forwarded` tells the client’s address, as in ' +
      '`10.0.0.0/8,2001:db8::/32`. Of all others these fields are not read.',
    parse: parseProxies,
  },
  tiersFile: {
    name: 'TIERS_FILE',
    type: 'path',
    fallback: () => '',
    fallbackShown: 'the file that ships',
    meaning: 'JSON file of the tiers: their limits and prices. [keys.md](keys.md) shows it.',
    parse: (text) => ({ value: text === '' ? null : resolve(text) }),
  },
  anonymousRequestsPerMinute: {
    name: 'ANONYMOUS_REQUESTS_PER_MINUTE',
    type: `whole number, 0 to ${MOST_REQUESTS_PER_MINUTE}`,
    fallback: () => '',
    fallbackShown: 'the tiers’ (60)',
    meaning: 'Requests a minute that an address has without a key; 0 is no limit.',
    parse: integerOrNull(MOST_REQUESTS_PER_MINUTE),
  },
  anonymousCharactersPerMonth: {
    name: 'ANONYMOUS_CHARACTERS_PER_MONTH',
    type: `whole number, 0 to ${MOST_CHARACTERS_PER_MONTH}`,
    fallback: () => '',
    fallbackShown: 'the tiers’ (1000000)',
    meaning: 'Characters a month (30 days) that an address has without a key; 0 is no limit.',
    parse: integerOrNull(MOST_CHARACTERS_PER_MONTH),
  },
  leadsPerMinute: {
    name: 'LEADS_PER_MINUTE',
    type: `whole number, 0 to ${MOST_REQUESTS_PER_MINUTE}`,
    fallback: () => '10',
    meaning: 'Leads and delivery interests a minute that an address may send; 0 is no limit.',
    parse: integer(0, MOST_REQUESTS_PER_MINUTE),
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
    const given = environment[variable.name];
    const text = given === undefined || given === '' ? variable.fallback(machine) : given;
    const parsed = variable.parse(text);
    if ('value' in parsed) return parsed.value;
    errors.push(`${variable.name} ${parsed.wrong}; it is ${JSON.stringify(text)}.`);
    return undefined;
  }
  const entries = Object.entries<Variable<unknown>>(table).map(([key, variable]) => [key, read(variable)]);
  const values = Object.fromEntries(entries) as Partial<Configuration>;
  const { port, metricsPort } = values;
  if (port !== undefined && port !== 0 && port === metricsPort) {
    errors.push(`METRICS_PORT must differ from PORT; both are ${port}.`);
  }
  // Without an error every variable has been read.
  return errors.length > 0 ? { errors, warnings } : { configuration: values as Configuration, warnings };
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
  return names.flatMap((name) => {
    if (ours.includes(name)) return [];
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
    'nearly one of these is not read, and a warning says so.',
    '',
    '| variable | type | default | meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
