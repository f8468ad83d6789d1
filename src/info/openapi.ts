/** `GET /openapi.json`: the OpenAPI 3.1.0 document of the gateway. */
import type { Handler } from '../contract/exchange.js';
import { gatewayDocument } from '../contract/openapi.js';
import type { OpenApiDocument } from '../contract/schema/document.js';
import { deliveryCatalogue } from '../outreach/catalogue.js';
import { auditStacksResponse } from '../text/stacks.js';

/** What the document's examples show that other parts say. */
export const gatewaySays = { auditStacks: auditStacksResponse, deliveryModels: deliveryCatalogue };

/** The document of the gateway, as this server says it. */
export function describedGateway(): OpenApiDocument {
  return gatewayDocument(gatewaySays);
}

/** Answers with the document, generated once. */
export function openapi(): Handler {
  const bytes = JSON.stringify(describedGateway());
  return () => ({ status: 200, body: { bytes, type: 'application/json' }, charge: 0 });
}
