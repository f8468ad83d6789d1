/**
 * The list of resources: every route that has a handler, with everything that http and the documents need to
 * know about it.
 */
import { auditRoutes } from './audit.js';
import { bitcoinRoutes } from './bitcoin.js';
import { buyRoutes } from './buy.js';
import { cardRoutes } from './card.js';
import { clickRoutes } from './click.js';
import { corporaRoutes } from './corpora.js';
import { deliveryRoutes } from './delivery.js';
import { descriptionRoutes } from './description.js';
import { dreamRoutes } from './dream.js';
import type { Handler } from './exchange.js';
import { focusRoutes } from './focus.js';
import { fuseRoutes } from './fuse.js';
import { graphRoutes } from './graph.js';
import { harvestRoutes } from './harvest.js';
import { howRoutes } from './how.js';
import { infoRoutes } from './info.js';
import { leaderboardRoutes } from './leaderboard.js';
import { leadRoutes } from './leads.js';
import { lightningRoutes } from './lightning.js';
import { limitsRoutes } from './limits.js';
import { logRoutes } from './log.js';
import { mcpRoutes } from './mcp.js';
import { nearRoutes } from './near.js';
import { normalizeRoutes } from './normalize.js';
import { optoutRoutes } from './optout.js';
import { pageRoutes } from './pages.js';
import { pricingRoutes } from './pricing.js';
import { profileRoutes } from './profiles.js';
import { receiptRoutes } from './receipt.js';
import { rerankRoutes } from './rerank.js';
import type { ResourceRoute, ResourceRoutes } from './route.js';
import type { BodyType } from './schema/wireType.js';
import { rotateRoutes } from './rotate.js';
import { usageRoutes } from './usage.js';
import { walkRoutes } from './walk.js';

/** Every route, by id, in the order of the documents. */
export const routes = {
  ...fuseRoutes,
  ...corporaRoutes,
  ...profileRoutes,
  ...rerankRoutes,
  ...normalizeRoutes,
  ...auditRoutes,
  ...mcpRoutes,
  ...pricingRoutes,
  ...bitcoinRoutes,
  ...lightningRoutes,
  ...cardRoutes,
  ...buyRoutes,
  ...leadRoutes,
  ...deliveryRoutes,
  ...optoutRoutes,
  ...clickRoutes,
  ...dreamRoutes,
  ...harvestRoutes,
  ...receiptRoutes,
  ...logRoutes,
  ...nearRoutes,
  ...walkRoutes,
  ...graphRoutes,
  ...focusRoutes,
  ...leaderboardRoutes,
  ...howRoutes,
  ...infoRoutes,
  ...limitsRoutes,
  ...usageRoutes,
  ...rotateRoutes,
  ...descriptionRoutes,
  ...pageRoutes,
} as const satisfies ResourceRoutes;

/** Every route's id. */
export type RouteId = keyof typeof routes;

/** An address that serves routes. */
export type Part = (typeof routes)[RouteId]['part'];

/** Ids of a part's routes. */
export type RouteOf<Of extends Part> = {
  readonly [Id in RouteId]: (typeof routes)[Id]['part'] extends Of ? Id : never;
}[RouteId];

/** A limit by address that some routes have, in addition to a key's or instead of it. */
export type RouteLimit =
  | Extract<(typeof routes)[RouteId], { readonly limit: string }>['limit']
  | Extract<(typeof routes)[RouteId], { readonly counts: string }>['counts'];

/** One route. */
export interface Route extends ResourceRoute {
  readonly limit?: RouteLimit;
  readonly counts?: RouteLimit;
}

/** Type of a handler's `input`. */
export type RouteInput<Id extends RouteId> = (typeof routes)[Id]['body'] extends {
  readonly kind: 'json';
  readonly schema: BodyType<infer Value>;
}
  ? Value
  : undefined;

/** A handler for every route: a missing one does not compile. */
export type Handlers = { readonly [Id in RouteId]: Handler<RouteInput<Id>> };

/** Every route with its id, in the order of the table. */
export const routeList: readonly (Route & { readonly id: RouteId })[] = (
  Object.entries(routes) as [RouteId, Route][]
).map(([id, route]) => ({ ...route, id }));
