/** The route that a request to a wrong path was probably meant for. */
import { editDistance } from '../system/lookalikes.js';
import type { Route } from './routes.js';

/** A route as answers name it. */
export type NamedRoute = Pick<Route, 'method' | 'path'>;

/** Paths longer than this are not compared: a slip is short. */
const longestPath = 128;

/** Edits in all segments together, up to which a path is near. */
const mostEdits = 3;

/** The segments that tell paths apart: without the version, the case, and empty ones. */
function segments(path: string): string[] {
  const named = path
    .toLowerCase()
    .split('/')
    .filter((segment) => segment !== '');
  return /^(api|v\d+)$/.test(named[0] ?? '') ? named.slice(1) : named;
}

/** Edits between a path and a template; Infinity where they are too far apart. */
function distance(path: readonly string[], template: readonly string[]): number {
  if (path.length !== template.length) return Infinity;
  let edits = 0;
  for (const [at, wanted] of template.entries()) {
    const given = path[at] ?? '';
    if (wanted.startsWith('{') || wanted === given) continue;
    if (Math.abs(wanted.length - given.length) > mostEdits) return Infinity;
    edits += editDistance(given, wanted);
    // Half of a name in edits makes another name of it.
    if (edits > Math.min(mostEdits, wanted.length / 2)) return Infinity;
  }
  return edits;
}

/** Makes the function that finds the nearest of some routes; of equally near ones it prefers the method's. */
export function nearestRoute(
  routes: readonly NamedRoute[],
): (method: string, path: string) => NamedRoute | undefined {
  const known = routes.map(({ method, path }) => ({ route: { method, path }, template: segments(path) }));
  return (method, path) => {
    if (path.length > longestPath) return undefined;
    const given = segments(path);
    // An empty path is the home page's alone, and a parameter alone would fit any word.
    if (given.length === 0) return undefined;
    let best: { readonly route: NamedRoute; readonly rank: number } | undefined;
    for (const { route, template } of known) {
      if (template.every((segment) => segment.startsWith('{'))) continue;
      const rank = distance(given, template) + (route.method === method ? 0 : 0.5);
      if (rank < (best?.rank ?? Infinity)) best = { route, rank };
    }
    return best?.route;
  };
}
