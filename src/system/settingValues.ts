/** Kinds of values that settings of several parts have: numbers, choices, paths, limits. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseNetwork } from './network.js';
import { shortReasonOf } from './reason.js';
import type { Parsed, Setting } from './settings.js';

/** The largest number of requests a minute that a limit counts exactly. */
export const mostRequestsPerMinute = 1_000_000;

/** The largest number of characters a month that a limit can hold. */
export const mostCharactersPerMonth = 1_000_000_000_000;

/** A parser of whole decimal numbers from `least` to `most`. */
export function integer(least: number, most: number): (text: string) => Parsed<number> {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return { value };
    return { wrong: `must be a whole number from ${least} to ${most}` };
  };
}

/** A parser of whole numbers up to `most`; an empty text is null. */
export function integerOrNull(most: number): (text: string) => Parsed<number | null> {
  return orNull((text) => {
    const value = /^\d{1,13}$/.test(text) ? Number(text) : Number.NaN;
    return value <= most ? { value } : { wrong: `must be a whole number from 0 to ${most}` };
  });
}

/** A parser for one of several words. */
export function oneOf<Word extends string>(words: readonly Word[]): (text: string) => Parsed<Word> {
  return (text) => {
    const value = words.find((word) => word === text);
    return value === undefined ? { wrong: `must be one of ${words.join(', ')}` } : { value };
  };
}

/** The same parser, for which an empty text is null. */
export function orNull<Value>(
  parse: (text: string) => Parsed<Value>,
): (text: string) => Parsed<Value | null> {
  return (text) => (text === '' ? { value: null } : parse(text));
}

/** A parser of origins: `http` or `https`, and a host. `wrong`: what is said of others. */
export function originOf(isAllowed: (url: URL) => boolean, wrong: string): (text: string) => Parsed<string> {
  return (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isOrigin = url?.href === `${url?.origin}/` && /^https?:$/.test(url.protocol);
    return isOrigin && isAllowed(url) ? { value: url.origin } : { wrong };
  };
}

/** Parses `no` or `yes`. */
export function parseYes(text: string): Parsed<boolean> {
  return text === 'no' || text === 'yes' ? { value: text === 'yes' } : { wrong: 'must be no or yes' };
}

/** Accepts any text; an empty one is null. */
export function parseText(text: string): Parsed<string | null> {
  return { value: text === '' ? null : text };
}

/** Makes a path absolute; an empty text is null. */
export function parsePath(text: string): Parsed<string | null> {
  return { value: text === '' ? null : resolve(text) };
}

/** A parser of paths whose file is read; `take` converts its bytes, undefined: the file is invalid. */
export function fileOrNull<Value>(
  what: string,
  take: (bytes: Buffer) => Value | undefined,
): (text: string) => Parsed<Value | null> {
  return orNull((text) => {
    try {
      const value = take(readFileSync(text));
      return value === undefined ? { wrong: `must be the path of ${what}` } : { value };
    } catch (error) {
      return { wrong: `must be the path of ${what}, which cannot be read (${shortReasonOf(error)})` };
    }
  });
}

/** A limit per minute and address; 0: no limit. */
export function perMinute(name: string, fallback: number, meaning: string): Setting<number> {
  return {
    name,
    type: `whole number, 0 to ${mostRequestsPerMinute}`,
    fallback: String(fallback),
    meaning,
    parse: integer(0, mostRequestsPerMinute),
  };
}

/** Addresses and networks (CIDR) separated by commas, as text. */
export function parseNetworks(text: string): Parsed<readonly string[]> {
  const value = text === '' ? [] : text.split(',').map((network) => network.trim());
  if (value.every((network) => parseNetwork(network) !== undefined)) return { value };
  return {
    wrong:
      'must be IP addresses and networks separated by commas, such as 10.0.0.0/8,2001:db8::/32, with no ' +
      'bit set after the prefix',
  };
}
