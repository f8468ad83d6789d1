/**
 * Names of things in the store that requests use. What an owner has is stored as the owner, `/` and the name;
 * the others are everybody's.
 */

const ownerPattern = /^[0-9a-f]{32}$/;
const namePattern = /^[A-Za-z0-9._-]{1,64}$/;

/** True if a thing may have this name. */
export function isName(name: string): boolean {
  return namePattern.test(name);
}

/** The name as it is stored. `owner`: undefined for everybody. */
export function storedName(owner: string | undefined, name: string): string {
  return owner === undefined ? name : `${owner}/${name}`;
}

/** True if a thing may be stored so. */
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
