/** Settings: environment variables that parts declare; read and validated at start. */
import { readFileSync } from 'node:fs';
import { lookalikes } from './lookalikes.js';
import { shortReasonOf } from './reason.js';
import { settingsFileVariable, withSettingsFile } from './settingsFile.js';

/** Facts about the machine that defaults depend on. */
export interface Machine {
  /** `process.platform`. */
  readonly platform: NodeJS.Platform;
  /** Cores that this process may use. */
  readonly cores: number;
}

/** A value, or a sentence that says why it is invalid and what to set. */
export type Parsed<Value> = { readonly value: Value } | { readonly wrong: string };

/** One variable: its description on the page, and the parser of its text. */
export interface Setting<Value> {
  readonly name: string;
  /** The kind of value, as the page shows it. */
  readonly type: string;
  /** The default as an operator would write it; it may depend on the machine. */
  readonly fallback: string | ((machine: Machine) => string);
  /** The default as the page shows it; absent: {@link Setting.fallback}. */
  readonly fallbackShown?: string;
  readonly meaning: string;
  readonly parse: (text: string) => Parsed<Value>;
  /** True if its value is never shown, and may be in the file that `NAME_FILE` names. */
  readonly secret?: true;
}

/** The settings of a part, by name. */
export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** The validated values of settings. */
export type ValuesOf<Of extends Settings> = {
  readonly [Key in keyof Of]: Of[Key] extends Setting<infer Value> ? Value : never;
};

/** The process' environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Outcome of reading settings. */
export interface ReadSettings<Of extends Settings> {
  /** Every value if there are no errors, else those that could be read. */
  readonly values: Partial<ValuesOf<Of>>;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

function fallbackOf({ fallback }: Setting<unknown>, machine: Machine): string {
  return typeof fallback === 'string' ? fallback : fallback(machine);
}

/** A variable's text, `''` if it is not set; a secret's may be in the file that `NAME_FILE` names. */
function givenText({ name, secret }: Setting<unknown>, environment: Environment): Parsed<string> {
  const value = environment[name] ?? '';
  const file = secret === true ? (environment[`${name}_FILE`] ?? '') : '';
  if (file === '') return { value };
  if (value !== '') return { wrong: `Set ${name} or ${name}_FILE, not both.` };
  try {
    return { value: readFileSync(file, 'utf8').trim() || ' ' };
  } catch (error) {
    return { wrong: `${name}_FILE ${JSON.stringify(file)} cannot be read (${shortReasonOf(error)}).` };
  }
}

/** A password may stand before an @: in an address, also where it is mistyped, and in a list of addresses. */
function told(text: string): string {
  const colon = text.indexOf(':');
  const mayHoldOne = colon !== -1 && text.includes('@', colon);
  return mayHoldOne ? 'it is not shown, as it may hold a password' : `it is ${JSON.stringify(text)}`;
}

/** The value of one setting, or a complete sentence about its error. */
function readSetting(setting: Setting<unknown>, environment: Environment, machine: Machine): Parsed<unknown> {
  const given = givenText(setting, environment);
  if ('wrong' in given) return given;
  const text = given.value === '' ? fallbackOf(setting, machine) : given.value;
  const parsed = setting.parse(text);
  if ('value' in parsed) return parsed;
  const shown = setting.secret === true ? '' : `; ${told(text)}`;
  return { wrong: `${setting.name} ${parsed.wrong}${shown}.` };
}

/** Every name that is read for settings. */
function namesOf(settings: Settings): string[] {
  return Object.values(settings).flatMap(({ name, secret }) =>
    secret === true ? [name, `${name}_FILE`] : [name],
  );
}

/**
 * Reads and validates settings. An empty variable counts as not set. Lists every error, each a sentence that
 * names the variable and what to set. Warns of each name that resembles one of ours.
 */
export function readSettings<Of extends Settings>(
  settings: Of,
  environment: Environment,
  machine: Machine,
): ReadSettings<Of> {
  const all = namesOf(settings);
  const secret = Object.values(settings).flatMap((each) => (each.secret === true ? [each.name] : []));
  const file = withSettingsFile(environment, { all, secret });
  const errors: string[] = [...file.errors];
  const values: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(settings)) {
    const read = readSetting(setting, file.environment, machine);
    if ('wrong' in read) errors.push(read.wrong);
    else values[key] = read.value;
  }
  const names = Object.keys(environment).filter((name) => name !== settingsFileVariable);
  const warnings = [...file.warnings, ...lookalikes(names, all)];
  return { values: values as Partial<ValuesOf<Of>>, errors, warnings };
}

/** The page `docs/configuration.md`, generated from settings. */
export function renderSettings(settings: Settings): string {
  const rows = Object.values(settings).map((setting) => {
    const { name, type, meaning } = setting;
    const fallback = setting.fallbackShown ?? `\`${fallbackOf(setting, { platform: 'linux', cores: 1 })}\``;
    return `| \`${name}\` | ${type} | ${fallback} | ${meaning} |`;
  });
  const secretNames = Object.values(settings)
    .filter(({ secret }) => secret === true)
    .map(({ name }) => `\`${name}_FILE\``);
  return [
    '# Configuration',
    '',
    'Fusegate is configured by environment variables, all optional. They are checked at start; every',
    'error is listed at once. On SIGHUP they are read again ([operating.md](operating.md)). An empty',
    'variable counts as one that is not set. A variable with nearly the name of one of these is ignored,',
    'and a warning says so. Secrets are never shown, nor is a value that may hold a password.',
    '',
    'The same settings may be in a file: the one that `--config FILE` or `FUSEGATE_CONFIG` names, or else',
    '`fusegate.json` in the working directory. It is a JSON object of these names; a value is a text, a',
    'number, `true` (yes), `false` (no), or a list of them. A variable takes precedence over the file. The',
    'server and every command read the same file. An unknown name is an error.',
    '',
    '```json',
    '{ "PORT": 8080, "ACCESS": "open", "TRUSTED_PROXIES": ["10.0.0.0/8"] }',
    '```',
    '',
    'A secret may be in a file instead: set one of these to its path.',
    `${secretNames.join(', ')}.`,
    '',
    '| variable | type | default | meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
