/**
 * The file of settings (`fusegate.json`, FUSEGATE_CONFIG): the same names as the environment, which takes
 * precedence.
 */
import { readFileSync, statSync } from 'node:fs';
import { isJsonObject } from './json.js';
import { nearestName } from './lookalikes.js';
import { reasonOf, shortReasonOf } from './reason.js';

/** The process' environment. */
type Environment = Readonly<Record<string, string | undefined>>;

/** The variable that names the file. */
export const settingsFileVariable = 'FUSEGATE_CONFIG';

/** The file of the working directory that is read by default. */
export const usualSettingsFile = 'fusegate.json';

/** The environment with the file's additions. */
export interface WithFile {
  readonly environment: Environment;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/** The names that a file may hold. */
export interface KnownNames {
  /** All names, including `NAME_FILE` of secrets. */
  readonly all: readonly string[];
  /** Names whose values are never shown. */
  readonly secret: readonly string[];
}

/** A value as an environment variable's text; undefined if it cannot be one. */
function asText(value: unknown): string | undefined {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (!Array.isArray(value)) return undefined;
  const parts = value.map((part) => (typeof part === 'object' ? undefined : asText(part)));
  return parts.includes(undefined) ? undefined : parts.join(',');
}

/**
 * The reason in a message of `JSON.parse`, and its place. Instead of a position some messages quote the text
 * around the place, where a file of settings may have a secret.
 */
function faultOf(text: string, message: string): string {
  const [reason = ''] = message.split(/, (?:\.\.\.)?"| (?:in JSON )?at position /);
  const [, offset] = /at position (\d+)/.exec(message) ?? [];
  const [, quoted] = /, (?:\.\.\.)?"([^]*)"(?:\.\.\.)? is not valid JSON$/.exec(message) ?? [];
  const linesBefore = (end: number): string[] => text.slice(0, end).split('\n');
  if (offset !== undefined) {
    const before = linesBefore(Number(offset));
    return `${reason} (line ${before.length}, column ${(before.at(-1) ?? '').length + 1})`;
  }
  const at = quoted === undefined ? -1 : text.indexOf(quoted);
  if (quoted === undefined || at === -1 || at !== text.lastIndexOf(quoted)) return reason;
  return `${reason} (line ${linesBefore(at + quoted.length / 2).length})`;
}

/** A file's values by name, or a sentence about its error. */
function readFile(path: string): { readonly values: object } | { readonly wrong: string } {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return { wrong: `The file of settings ${path} cannot be read (${shortReasonOf(error)}).` };
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return { values: value };
    return { wrong: `The file of settings ${path} must hold a JSON object, such as {"PORT": 8080}.` };
  } catch (error) {
    return { wrong: `The file of settings ${path} is not JSON: ${faultOf(text, reasonOf(error))}.` };
  }
}

/** True if a variable, or the file for its value, is set. */
function isSet(environment: Environment, name: string): boolean {
  const bare = name.replace(/_FILE$/, '');
  return [name, bare, `${bare}_FILE`].some((each) => (environment[each] ?? '') !== '');
}

function readableByOthers(path: string): boolean {
  return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o004) !== 0;
}

/** Adds the settings of the file that the environment names, if it names one. */
export function withSettingsFile(environment: Environment, known: KnownNames): WithFile {
  const path = environment[settingsFileVariable] ?? '';
  if (path === '') return { environment, errors: [], warnings: [] };
  const read = readFile(path);
  if ('wrong' in read) return { environment, errors: [read.wrong], warnings: [] };
  const added: Record<string, string> = {};
  const errors: string[] = [];
  for (const [name, value] of Object.entries(read.values) as [string, unknown][]) {
    const text = asText(value);
    if (!known.all.includes(name)) {
      errors.push(`${path}: ${name} is no setting; did you mean ${nearestName(name, known.all)}?`);
    } else if (text === undefined) {
      errors.push(`${path}: ${name} must be a text, a number, true, false, or a list of these.`);
    } else if (!isSet(environment, name)) added[name] = text;
  }
  const secrets = known.secret.filter((name) => (added[name] ?? '') !== '');
  const warnings =
    secrets.length > 0 && readableByOthers(path)
      ? [`${path} holds ${secrets.join(', ')}, and everybody on this machine can read it: chmod 600 ${path}`]
      : [];
  return { environment: { ...added, ...withoutEmpty(environment) }, errors, warnings };
}

/** An empty variable counts as not set. */
function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
}
