/** The handlers of the fragment door's routes (contract, part B), bound to their parts. */
import type { Handlers, RouteOf } from '../contract/routes.js';
import { logHandlers } from '../log/handlers.js';
import type { TreeParts } from '../log/tree.js';
import { confirm, confirmState } from './confirm.js';
import { dream } from './dream.js';
import type { ExploreParts } from './explore.js';
import { graph, graphFragments } from './graph.js';
import { harvest, type HarvestParts } from './harvest.js';
import { tellHow } from './how.js';
import { near } from './near.js';
import { doorOpenapi, type DoorAddress } from './openapi.js';
import { focus, leaderboard } from './overview.js';
import { preview } from './preview.js';
import type { Previews } from './previews.js';
import { receipt } from './receipt.js';
import { walk } from './walk.js';

/** Parts of the fragment door. */
export interface DoorParts extends HarvestParts {
  readonly previews: Previews;
  readonly address: DoorAddress;
  readonly explore: ExploreParts;
  /** The native module's part in the log of receipts. */
  readonly tree: TreeParts;
}

/** The handlers of all the door's routes, except the page of the log. */
export function doorHandlers(parts: DoorParts): Pick<Handlers, Exclude<RouteOf<'door'>, 'logPage'>> {
  return {
    dream: dream(parts),
    dreamPreview: preview(parts),
    dreamConfirmState: confirmState(parts),
    dreamConfirm: confirm(parts),
    harvest: harvest(parts),
    receipt: receipt(parts),
    ...logHandlers(parts),
    near: near(parts.explore),
    walk: walk(parts.explore),
    graph: graph(parts.explore),
    graphFragments: graphFragments(parts.explore),
    focus: focus(parts.explore),
    leaderboard: leaderboard(parts.explore),
    how: tellHow(),
    doorOpenapi: doorOpenapi(parts.address),
  };
}
