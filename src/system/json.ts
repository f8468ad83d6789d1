/** Values that were parsed from the JSON of others, of any shape. */

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** True if a value is a JSON object. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The objects in a list; none if it is not a list. */
export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
