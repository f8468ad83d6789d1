/** A served route at its place: what an exchange needs of it, made once. */
import type { RouteMeter } from './meters.js';
import type { ServedRoute } from './routes.js';

/** A route as an exchange needs it. */
export interface MountedRoute extends ServedRoute {
  readonly meter: RouteMeter;
  /** Names of the path's parameters in order. */
  readonly parameters: readonly string[];
  /** True if this is HEAD on a GET route. */
  readonly head: boolean;
  /** Header lines that every answer of the route carries, as they follow another line's value. */
  readonly lines: string;
}
