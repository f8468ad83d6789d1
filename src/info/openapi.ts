/** `GET /openapi.json`: the OpenAPI 3.1.0 document of the gateway. */
import type { Handler } from '../contract/exchange.js';
import { gatewayDocument } from '../contract/openapi.js';

/** Answers with the document, generated once. */
export function openapi(): Handler {
  const bytes = JSON.stringify(gatewayDocument());
  return () => ({ status: 200, body: { bytes, type: 'application/json' }, charge: 0 });
}
