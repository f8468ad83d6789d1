/** A mounted route: what an exchange needs of it, made once. */
import type { RouteMeter } from './meters.js';
import type { ServedRoute } from './routes.js';

/** A route as an exchange needs it. */
export interface MountedRoute extends ServedRoute {
  readonly meter: RouteMeter;
  /** Names of the path's parameters in order. */
  readonly parameters: readonly string[];
  /** True if this is HEAD on a GET route. */
  readonly head: boolean;
  /** Header lines of every answer of the route, starting after another line's value. */
  readonly lines: string;
}
