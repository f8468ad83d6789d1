/** The file of tiers (TIERS_FILE): limits of callers and prices of keys. Money is in satoshi. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { tiers as tierNames, type Tier, type TierLimits } from '../contract/pricing.js';
import { isJsonObject, type JsonObject } from '../system/json.js';
import { reasonOf } from '../system/reason.js';
import { mostCharactersPerMonth, mostRequestsPerMinute } from '../system/settingValues.js';

/** A tier for sale. */
export interface SoldTier extends TierLimits {
  /** Whole satoshi; small enough for a JSON number to be exact. */
  readonly price_sat: number;
}

/** The current tiers: plain values, so that a parent can send them to its workers. */
export interface Tiers extends Readonly<Record<Tier, SoldTier>> {
  /** Callers without a key; the limits apply to each address. */
  readonly anonymous: TierLimits;
  /** Surcharge of a card payment, in basis points. */
  readonly surcharge_bps: number;
  /** Days a key lasts; 0: no expiry. */
  readonly term_days: number;
}

/** The tiers, or every error of their file, each a sentence. */
export type TiersResult = { readonly tiers: Tiers } | { readonly errors: readonly string[] };

/** The shipped file; the build copies it there from this folder. */
export const shippedTiersFile = fileURLToPath(new URL('../../tiers.json', import.meta.url));

/** All bitcoin there will ever be, in satoshi. */
const mostSat = 2_100_000_000_000_000;
const mostBasisPoints = 1_000_000;
const mostDays = 36_500;

/** Largest value by name; each is a whole number from 0, a price from 1. */
const limitFields = {
  requests_per_minute: mostRequestsPerMinute,
  characters_per_month: mostCharactersPerMonth,
};
const soldFields = { ...limitFields, price_sat: mostSat };
const ownFields = { surcharge_bps: mostBasisPoints, term_days: mostDays };

/** Errors of an object whose fields are whole numbers; the caller checks other fields. */
function numberErrors(value: JsonObject, place: string, most: Readonly<Record<string, number>>): string[] {
  return Object.entries(most).flatMap(([name, largest]) => {
    const given = value[name];
    const least = name === 'price_sat' ? 1 : 0;
    const fits = typeof given === 'number' && Number.isInteger(given) && given >= least && given <= largest;
    if (fits) return [];
    const shown = given === undefined ? 'missing' : JSON.stringify(given);
    return [`${place}${name} must be a whole number from ${least} to ${largest}; it is ${shown}.`];
  });
}

function strangers(value: object, place: string, known: readonly string[]): string[] {
  const names = Object.keys(value).filter((name) => !known.includes(name));
  return names.map((name) => `${place}${name} is not known; known are ${known.join(', ')}.`);
}

function tierErrors(name: string, value: unknown): string[] {
  if (!isJsonObject(value)) return [`${name} must be an object with the tier's limits.`];
  const fields = name === 'anonymous' ? limitFields : soldFields;
  const place = `${name}.`;
  return [...numberErrors(value, place, fields), ...strangers(value, place, Object.keys(fields))];
}

/** Every error of a file's content. */
function errorsOf(value: unknown): string[] {
  if (!isJsonObject(value)) return ['It must be a JSON object.'];
  const names = ['anonymous', ...tierNames];
  return [
    ...names.flatMap((name) => tierErrors(name, value[name])),
    ...numberErrors(value, '', ownFields),
    ...strangers(value, '', [...names, ...Object.keys(ownFields)]),
  ];
}

/** Parses the text of a file of tiers; `name` is its name in errors. */
export function parseTiers(text: string, name: string): TiersResult {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { errors: [`${name} is not JSON: ${reasonOf(error)}.`] };
  }
  const errors = errorsOf(value);
  return errors.length === 0
    ? { tiers: value as Tiers }
    : { errors: errors.map((error) => `${name}: ${error}`) };
}

/** The environment's limits for callers without a key; null: those of the file. */
export interface AnonymousLimits {
  readonly anonymousRequestsPerMinute: number | null;
  readonly anonymousCharactersPerMonth: number | null;
}

/** Reads the file of tiers (null: the shipped one); the environment's limits take precedence. */
export function readTiers(file: string | null, given: AnonymousLimits): TiersResult {
  const path = file ?? shippedTiersFile;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const reason = reasonOf(error);
    return { errors: [`TIERS_FILE ${path} cannot be read: ${reason}.`] };
  }
  const result = parseTiers(text, `TIERS_FILE ${path}`);
  if ('errors' in result) return result;
  const { tiers } = result;
  const anonymous = {
    requests_per_minute: given.anonymousRequestsPerMinute ?? tiers.anonymous.requests_per_minute,
    characters_per_month: given.anonymousCharactersPerMonth ?? tiers.anonymous.characters_per_month,
  };
  return { tiers: { ...tiers, anonymous } };
}

/** Limits of each tier's keys, by the tier's index in the native table. */
export function keyTiers(tiers: Tiers): { requestsPerMinute: number; charactersPerMonth: number }[] {
  return tierNames.map((name) => ({
    requestsPerMinute: tiers[name].requests_per_minute,
    charactersPerMonth: tiers[name].characters_per_month,
  }));
}
