/** A server with the pages that need no store, and POST /v1/fuse with the static model. */
import { routes, type RouteId } from '../../src/contract/routes.js';
import type { Handler } from '../../src/contract/exchange.js';
import { servedRoute } from '../../src/http/pipeline.js';
import { banner } from '../../src/info/banner.js';
import { describedGateway, openapi } from '../../src/info/openapi.js';
import { native } from '../../src/native/addon.js';
import { docsHandlers } from '../../src/pages/docs.js';
import { homeForAll } from '../../src/pages/home.js';
import { pageFile } from '../../src/pages/page.js';
import { fuseHandler } from '../../src/search/fuse.js';
import { openTiers, testAccess } from '../support/access.js';
import { door, gateway } from '../support/examples.js';
import { startServer } from '../support/http.js';
import { staticMode } from '../support/embedding.js';

/** Starts it; the origin of its pages. `doorAddress`: where the door is, if elsewhere. */
export async function startSite(doorAddress: string | null = null): Promise<string> {
  const handlers: readonly (readonly [RouteId, Handler<never>])[] = [
    ['banner', homeForAll([{ id: 'static-256', immediate: true }], banner)],
    ['openapi', openapi(describedGateway())],
    ['fuse', fuseHandler({ ...native, embedMode: staticMode() })],
    ['pageFile', pageFile()],
    ...Object.entries(docsHandlers({ gateway: gateway(), door: door('/'), doorAddress })).map(
      ([id, handler]) => [id as RouteId, handler as Handler<never>] as const,
    ),
  ];
  const parts = { ...native, access: testAccess({ tiers: openTiers() }) };
  const served = handlers.map(([id, handler]) => servedRoute({ ...routes[id], id }, handler, parts));
  const { port } = await startServer({ routes: served });
  return `http://127.0.0.1:${port}`;
}
