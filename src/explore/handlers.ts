/** The handlers of the routes that explore fragments (contract, Exploration), bound to their parts. */
import type { Handlers } from '../contract/routes.js';
import type { ExploreParts } from './explore.js';
import { graph, graphFragments } from './graph.js';
import { near } from './near.js';
import { focus, leaderboard } from './overview.js';
import { walk } from './walk.js';

/** The handlers of all routes of exploration. */
export function exploreHandlers(parts: ExploreParts) {
  return {
    near: near(parts),
    walk: walk(parts),
    graph: graph(parts),
    graphFragments: graphFragments(parts),
    focus: focus(parts),
    leaderboard: leaderboard(parts),
  } satisfies Partial<Handlers>;
}
