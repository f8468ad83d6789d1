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

/** Number of names, and the bytes under them. */
interface Sum {
  readonly names: number;
  readonly bytes: number;
}

/** Bytes under each stored name, summed by owner: a limit is checked without a look at every name. */
export class HeldNames {
  private readonly byName = new Map<string, number>();
  /** Under undefined: of all names. */
  private readonly byOwner = new Map<string | undefined, Sum>();

  /** The bytes under a name; undefined: it is not there. */
  of(name: string): number | undefined {
    return this.byName.get(name);
  }

  /** Sets the bytes under a name; undefined: it is not there. */
  set(name: string, bytes: number | undefined): void {
    const had = this.byName.get(name);
    if (bytes === undefined) this.byName.delete(name);
    else this.byName.set(name, bytes);
    const names = Number(bytes !== undefined) - Number(had !== undefined);
    const added = (bytes ?? 0) - (had ?? 0);
    for (const owner of new Set([undefined, ownerOf(name)])) {
      const before = this.sumOf(owner);
      const sum = { names: before.names + names, bytes: before.bytes + added };
      if (sum.names > 0) this.byOwner.set(owner, sum);
      else this.byOwner.delete(owner);
    }
  }

  /** The sum of an owner's names; undefined: of all names. */
  sumOf(owner: string | undefined): Sum {
    return this.byOwner.get(owner) ?? { names: 0, bytes: 0 };
  }
}

/** Words of the sentence about an exceeded limit, such as `profile`, `profiles` and `settings`. */
export interface NameWords {
  readonly one: string;
  readonly many: string;
  readonly content: string;
}

function overOne(
  held: Sum,
  isNew: boolean,
  added: number,
  limits: NameLimits,
  { one, many, content }: NameWords,
): string | undefined {
  if (isNew && held.names >= limits.names) {
    return `There are ${limits.names} ${many}, and there may be no more. Remove one first.`;
  }
  if (held.bytes + added <= limits.bytes) return undefined;
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
  const isNew = held.of(name) === undefined;
  const all = (): string | undefined => overOne(held.sumOf(undefined), isNew, added, limits.all, words);
  if (owner === undefined) return all();
  return overOne(held.sumOf(owner), isNew, added, limits.owned, words) ?? all();
}
