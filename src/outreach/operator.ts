/**
 * The operator of this server, from the file that OPERATOR_FILE names: the seller, the terms, and how the
 * delivery models are offered. Without the file no page names anyone, and no model has a price.
 */
import { deliveryModelIds, type DeliveryModel, type DeliveryModelId } from '../contract/delivery.js';
import { isJsonObject, type JsonObject } from '../system/json.js';
import { reasonOf } from '../system/reason.js';

/** Statements that the operator may make about a delivery model. */
export type ModelWords = Pick<
  DeliveryModel,
  'name' | 'summary' | 'suited_for' | 'what_you_get' | 'price_indicative'
>;

/** The operator for pages and answers: plain values, so that a parent can send them to its workers. */
export interface Operator {
  /** Who is responsible for the server and sells its keys. */
  readonly name: string | null;
  /** A mail address, a web address, or another way to reach the operator. */
  readonly contact: string | null;
  /** URL of the terms of sale. */
  readonly terms: string | null;
  /** URL of the privacy notice. */
  readonly privacy: string | null;
  /** A sentence appended to the answer to every interest in a delivery model. */
  readonly next_step: string | null;
  readonly delivery_models: Readonly<Partial<Record<DeliveryModelId, Partial<ModelWords>>>>;
}

/** The values if no operator is named. */
export const noOperator: Operator = {
  name: null,
  contact: null,
  terms: null,
  privacy: null,
  next_step: null,
  delivery_models: {},
};

/** Longest text of a field, and most entries of a list. */
const longestText = 1000;
const mostEntries = 20;

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= longestText;
}

function isWebAddress(value: unknown): boolean {
  return isText(value) && /^https?:\/\//.test(value) && URL.canParse(value);
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.length <= mostEntries && value.every(isText);
}

const text = { fits: isText, must: `must be a text of at most ${longestText} characters` };
const address = { fits: isWebAddress, must: 'must be an address that begins with https:// or http://' };
const list = { fits: isList, must: `must be a list of at most ${mostEntries} texts` };

interface FieldRule {
  readonly fits: (value: unknown) => boolean;
  readonly must: string;
}

const ownRules = { name: text, contact: text, terms: address, privacy: address, next_step: text };
const modelRules: Readonly<Record<keyof ModelWords, FieldRule>> = {
  name: text,
  summary: text,
  suited_for: list,
  what_you_get: list,
  price_indicative: text,
};

/** The errors of an object's fields; each field is optional. */
function wrongFields(value: JsonObject, place: string, rules: Readonly<Record<string, FieldRule>>): string[] {
  return Object.entries(value).flatMap(([name, given]) => {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) {
      return [`${place}${name} is not known; known are ${Object.keys(rules).join(', ')}`];
    }
    return rule.fits(given) ? [] : [`${place}${name} ${rule.must}`];
  });
}

function wrongModels(models: unknown): string[] {
  if (!isJsonObject(models)) return ['delivery_models must be an object'];
  return Object.entries(models).flatMap(([id, words]) => {
    if (!deliveryModelIds.some((known) => known === id)) {
      return [`delivery_models.${id} is not known; known are ${deliveryModelIds.join(', ')}`];
    }
    if (!isJsonObject(words)) return [`delivery_models.${id} must be an object`];
    return wrongFields(words, `delivery_models.${id}.`, modelRules);
  });
}

/** Parses an operator's file; `wrong`: every error in one sentence. */
export function parseOperator(written: string): { readonly operator: Operator } | { readonly wrong: string } {
  let value: unknown;
  try {
    value = JSON.parse(written);
  } catch (error) {
    return { wrong: `which is not JSON: ${reasonOf(error)}` };
  }
  if (!isJsonObject(value)) return { wrong: 'which must hold a JSON object' };
  const { delivery_models: models = {}, ...own } = value;
  const wrong = [...wrongFields(own, '', ownRules), ...wrongModels(models)];
  if (wrong.length > 0) return { wrong: `in which ${wrong.join('; ')}` };
  return { operator: { ...noOperator, ...value } };
}
