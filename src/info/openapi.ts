/** `GET /openapi.json`: the OpenAPI 3.1.0 document of the gateway. */
import type { Handler } from '../contract/exchange.js';
import { gatewayDocument } from '../contract/openapi.js';
import type { ServedPart } from '../contract/served.js';
import type { OpenApiDocument } from '../contract/schema/document.js';
import { deliveryCatalogue } from '../outreach/catalogue.js';
import { auditStacksResponse } from '../text/stacks.js';

/** Sentences of other parts that the document's examples show. */
export const gatewaySays = { auditStacks: auditStacksResponse, deliveryModels: deliveryCatalogue };

/**
 * The document of the gateway as this server serves it. `door`: origin of the fragment door, "" for the same
 * address, null if unknown.
 */
export function describedGateway(serve?: readonly ServedPart[], door: string | null = ''): OpenApiDocument {
  return gatewayDocument(gatewaySays, serve, door);
}

/** Answers with the document. */
export function openapi(document: OpenApiDocument): Handler {
  const bytes = JSON.stringify(document);
  return () => ({ status: 200, body: { bytes, type: 'application/json' }, charge: 0 });
}
