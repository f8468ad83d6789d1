/** Destinations that try to lead away from the site, unsigned, and the path that each becomes. */
import { readFileSync } from 'node:fs';

export interface EvilDestination {
  /** The value of `d` after percent-decoding. */
  readonly d: string;
  /** Where a site at https://fuse.example sends it. */
  readonly path: string;
}

/** Those of the file, and two too long to stand in it. */
export const evilDestinations: readonly EvilDestination[] = [
  ...(JSON.parse(
    readFileSync(new URL('../../../test/vectors/destinations.json', import.meta.url), 'utf8'),
  ) as EvilDestination[]),
  { d: `https://evil.example/${'a'.repeat(60_000)}`, path: '/' },
  { d: `${'/'.repeat(60_000)}evil.example`, path: '/' },
];
