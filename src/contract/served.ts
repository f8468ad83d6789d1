/** The parts that an operator may serve (SERVE), and the routes of each. */
import type { ResourceRoute } from './route.js';

/** Every part; information about the service is served with any of them. */
export const servedParts = [
  'fuse',
  'normalize',
  'audit',
  'checkout',
  'outreach',
  'door',
  'explore',
  'mcp',
] as const;

/** Names that SERVE takes: the parts, and `mcp-write`, the tools that store, which is off by default. */
export const servableParts = [...servedParts, 'mcp-write'] as const;

/** A name that SERVE takes. */
export type ServedPart = (typeof servableParts)[number];

/** The door's routes that explore fragments. */
const exploring: ReadonlySet<string> = new Set([
  'near',
  'walk',
  'graph',
  'graphFragments',
  'focus',
  'leaderboard',
]);

/** Routes that describe the door and its exploration. */
const describing: ReadonlySet<string> = new Set(['how', 'doorOpenapi']);

/** True if a route is served when these parts are. */
export function isServed(
  { id, tag }: Pick<ResourceRoute, 'tag'> & { readonly id: string },
  parts: readonly ServedPart[],
): boolean {
  if (tag === 'information') return true;
  if (tag !== 'door') return parts.includes(tag);
  if (describing.has(id)) return parts.includes('door') || parts.includes('explore');
  return parts.includes(exploring.has(id) ? 'explore' : 'door');
}
