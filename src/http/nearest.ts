/** The route that a request to a wrong path probably meant. */
import { editDistance } from '../system/lookalikes.js';
import type { Route } from './routes.js';

/** A route as answers name it. */
export type NamedRoute = Pick<Route, 'method' | 'path'>;

/** Longer paths than this are not compared: a typing error is short. */
const longestPath = 128;

/** Most edits over all segments with which a path counts as near. */
const mostEdits = 3;

/** The segments that distinguish paths: in lower case, without the version and empty segments. */
function segments(path: string): string[] {
  const named = path.toLowerCase().replace(/^\/*(api|v\d+)(?=\/|$)/, '');
  return named.split('/').filter((segment) => segment !== '');
}

/** Edits between a path and a template; Infinity if they are too far apart. */
function distance(path: readonly string[], template: readonly string[]): number {
  if (path.length !== template.length) return Infinity;
  let edits = 0;
  for (const [at, wanted] of template.entries()) {
    const given = path[at] ?? '';
    if (wanted.startsWith('{') || wanted === given) continue;
    if (Math.abs(wanted.length - given.length) > mostEdits) return Infinity;
    edits += editDistance(given, wanted);
    // Edits in half of a name make another name.
    if (edits > Math.min(mostEdits, wanted.length / 2)) return Infinity;
  }
  return edits;
}

/** Makes the function that finds the nearest of some routes; it prefers the request's method among equals. */
export function nearestRoute(
  routes: readonly NamedRoute[],
): (method: string, path: string) => NamedRoute | undefined {
  const known = routes.map(({ method, path }) => ({ route: { method, path }, template: segments(path) }));
  return (method, path) => {
    if (path.length > longestPath) return undefined;
    const given = segments(path);
    let best: { readonly route: NamedRoute; readonly rank: number } | undefined;
    for (const { route, template } of known) {
      // The empty path belongs to the home page alone, and a single parameter would match any word.
      if (template.every((segment) => segment.startsWith('{'))) continue;
      const rank = distance(given, template) + (route.method === method ? 0 : 0.5);
      if (rank < (best?.rank ?? Infinity)) best = { route, rank };
    }
    return best?.route;
  };
}
