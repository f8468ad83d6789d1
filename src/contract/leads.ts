/** `POST /v1/leads` on the wire (contract, LeadRequest). */
import typia from 'typia';
import { kibibyte, storedFromStrangers, type ResourceRoutes } from './route.js';
import { post } from './schema/route.js';
import type { MaxCodePoints } from './schema/tags.js';
import { bodyType, wireTypes } from './schema/wireType.js';

/** Someone who wants to hear from the operator. */
export interface LeadRequest {
  /** Stored as sent; nothing is mailed to it. */
  email: string & MaxCodePoints<320>;
  tier?: string | null;
  message?: (string & MaxCodePoints<2000>) | null;
  source?: (string & MaxCodePoints<32>) | null;
  segment?: (string & MaxCodePoints<64>) | null;
  campaign?: (string & MaxCodePoints<64>) | null;
  event_id?: (string & MaxCodePoints<64>) | null;
}

/** The lead is on disk. */
export interface LeadResponse {
  ok: true;
  id: string;
  /** RFC 3339 UTC. */
  received_at: string;
}

const [requestType, leadResponseType] = wireTypes(typia.json.schemas<[LeadRequest, LeadResponse]>());

/** The body of POST /v1/leads. */
const leadRequestType = bodyType(requestType, typia.createIs<LeadRequest>());

const leadRequest: LeadRequest = {
  email: 'ada@example.com',
  tier: 'growth',
  message: 'We re-rank product search in three languages.',
  source: 'docs',
  segment: null,
  campaign: 'autumn',
  event_id: 'e-1842',
};

const leadResponse: LeadResponse = {
  ok: true,
  id: 'lead_019aa4e2c0007d1f2b6c9a40e15f3d88',
  received_at: '2026-11-21T09:30:00.000Z',
};

/** POST /v1/leads. */
export const leadRoutes = {
  leads: {
    ...storedFromStrangers,
    path: '/v1/leads',
    summary: 'Leave an address for the operator',
    description:
      'Appends the lead to durable storage: it is on disk before the answer is sent. No email is sent and ' +
      'nothing is provisioned.',
    body: { kind: 'json', schema: leadRequestType, other: 'none', limit: 64 * kibibyte },
    answers: { 200: { schema: leadResponseType, description: 'The lead is on disk.' } },
    example: post('/v1/leads', leadRequest, leadResponse),
  },
} as const satisfies ResourceRoutes;
