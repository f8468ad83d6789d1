/** The OpenAPI documents as routes (contract, information endpoints and fragment door). */
import { information, type ResourceRoutes } from './route.js';
import { getOther } from './schema/route.js';

/** The OpenAPI documents. */
export const descriptionRoutes = {
  doorOpenapi: {
    ...information,
    part: 'door',
    tag: 'door',
    path: '/api/agent/openapi',
    summary: 'This description',
    description: 'The OpenAPI 3.1 description of the fragment door, for platforms that call tools.',
    answers: { 200: { type: 'application/json', description: 'An OpenAPI 3.1.0 document.' } },
    reads: ['host', 'x-forwarded-host', 'x-forwarded-proto'],
    example: getOther('/api/agent/openapi', 'application/json'),
  },
  openapi: {
    ...information,
    path: '/openapi.json',
    summary: 'This description',
    description: 'The OpenAPI 3.1.0 description of the gateway.',
    answers: { 200: { type: 'application/json', description: 'An OpenAPI 3.1.0 document.' } },
    example: getOther('/openapi.json', 'application/json'),
  },
} as const satisfies ResourceRoutes;
