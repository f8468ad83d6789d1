/** `GET /openapi.json`: the OpenAPI 3.1.0 document of the gateway. */
import type { Handler } from '../contract/exchange.js';
import { gatewayDocument } from '../contract/openapi.js';
import type { ServedPart } from '../contract/served.js';
import { deliveryCatalogue } from '../outreach/catalogue.js';
import { auditStacksResponse } from '../text/stacks.js';

/** What the document's examples show that other parts say. */
export const gatewaySays = { auditStacks: auditStacksResponse, deliveryModels: deliveryCatalogue };

/** Answers with the document of what is served, generated once. */
export function openapi(serve?: readonly ServedPart[]): Handler {
  const bytes = JSON.stringify(gatewayDocument(gatewaySays, serve));
  return () => ({ status: 200, body: { bytes, type: 'application/json' }, charge: 0 });
}
