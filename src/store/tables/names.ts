/**
 * Names of statistics and profiles in the store. A name with an owner is stored as the owner, `/` and the
 * name; a name without one belongs to everybody.
 */

const ownerPattern = /^[0-9a-f]{32}$/;
const namePattern = /^[A-Za-z0-9._-]{1,64}$/;

/** True if a name (without its owner) is valid. */
export function isName(name: string): boolean {
  return namePattern.test(name);
}

/** The name as it is stored. `owner`: undefined for everybody. */
export function storedName(owner: string | undefined, name: string): string {
  return owner === undefined ? name : `${owner}/${name}`;
}

/** True if a stored name is valid. */
export function isStoredName(full: string): boolean {
  const [first = '', second, ...rest] = full.split('/');
  if (second === undefined) return isName(first);
  return rest.length === 0 && ownerPattern.test(first) && isName(second);
}

/** The owner of a stored name; undefined: everybody. */
export function ownerOf(full: string): string | undefined {
  const end = full.indexOf('/');
  return end < 0 ? undefined : full.slice(0, end);
}

/** Limits of names: their number, and the bytes under all of them. */
export interface NameLimits {
  readonly names: number;
  readonly bytes: number;
}

/** Bytes under each stored name. */
export type HeldNames = readonly (readonly [name: string, bytes: number])[];

/** Words of the sentence about an exceeded limit, such as `profile`, `profiles` and `settings`. */
interface NameWords {
  readonly one: string;
  readonly many: string;
  readonly content: string;
}

function overOne(
  held: HeldNames,
  isNew: boolean,
  added: number,
  limits: NameLimits,
  { one, many, content }: NameWords,
): string | undefined {
  if (isNew && held.length >= limits.names) {
    return `There are ${limits.names} ${many}, and there may be no more. Remove one first.`;
  }
  if (held.reduce((sum, [, bytes]) => sum + bytes, 0) + added <= limits.bytes) return undefined;
  return `The ${content} of all ${many} would have more than ${limits.bytes} bytes. Remove a ${one} first.`;
}

/**
 * A sentence about the limit, the owner's or that of all names, that `added` bytes under a name would exceed;
 * undefined: none. Concurrent calls may exceed it together.
 */
export function overNames(
  held: HeldNames,
  name: string,
  added: number,
  limits: { readonly owned: NameLimits; readonly all: NameLimits },
  words: NameWords,
): string | undefined {
  const owner = ownerOf(name);
  const isNew = !held.some(([each]) => each === name);
  const all = (): string | undefined => overOne(held, isNew, added, limits.all, words);
  if (owner === undefined) return all();
  const own = held.filter(([each]) => ownerOf(each) === owner);
  return overOne(own, isNew, added, limits.owned, words) ?? all();
}
