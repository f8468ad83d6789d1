/** `GET /openapi.json`: the OpenAPI 3.1.0 document of the gateway. */
import type { Handler } from '../contract/exchange.js';
import { gatewayDocument } from '../contract/openapi.js';
import { deliveryCatalogue } from '../outreach/catalogue.js';
import { auditStacksResponse } from '../text/stacks.js';

/** What the document's examples show that other parts say. */
export const gatewaySays = { auditStacks: auditStacksResponse, deliveryModels: deliveryCatalogue };

/** Answers with the document, generated once. */
export function openapi(): Handler {
  const bytes = JSON.stringify(gatewayDocument(gatewaySays));
  return () => ({ status: 200, body: { bytes, type: 'application/json' }, charge: 0 });
}
