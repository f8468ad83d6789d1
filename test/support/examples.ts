/** One example for each route, and the documents that show them, as the server makes them. */
import { doorDocument, examplesOf, gatewayDocument } from '../../src/contract/openapi.js';
import type { RouteId } from '../../src/contract/routes.js';
import type { OpenApiDocument } from '../../src/contract/schema/document.js';
import type { Example } from '../../src/contract/schema/route.js';
import { how } from '../../src/receipts/how.js';
import { gatewaySays } from '../../src/info/openapi.js';

/** Every route's example. */
export const examples: Readonly<Record<RouteId, Example>> = {
  ...examplesOf('gateway', gatewaySays),
  ...examplesOf('door', { how }),
};

/** The document of the gateway. */
export function gateway(): OpenApiDocument {
  return gatewayDocument(gatewaySays);
}

/** The document of the fragment door at an address. */
export function door(serverUrl: string): OpenApiDocument {
  return doorDocument(serverUrl, { how });
}
