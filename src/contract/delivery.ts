/** Delivery models and interest in them on the wire (contract, DeliveryInterestRequest). */
import typia from 'typia';
import { information, kibibyte, storedFromStrangers, type ResourceRoutes } from './route.js';
import { get, post } from './schema/route.js';
import type { MaxCodePoints } from './schema/tags.js';
import { bodyType, wireTypes } from './schema/wireType.js';

/** Delivery models for enterprises. */
export const deliveryModelIds = ['dedicated_byoc', 'self_hosted_appliance', 'oem_embedded'] as const;

/** Delivery models for enterprises. */
export type DeliveryModelId = (typeof deliveryModelIds)[number];

/** Interest in a delivery model; a human replies. */
export interface DeliveryInterestRequest {
  /** Stored as sent; nothing is mailed to it. */
  email: string & MaxCodePoints<320>;
  delivery_model: DeliveryModelId;
  company?: (string & MaxCodePoints<200>) | null;
  /** aws, gcp, azure, on_prem, other; any value is stored. */
  cloud?: (string & MaxCodePoints<80>) | null;
  /** Rough monthly character volume. */
  monthly_chars?: (string & MaxCodePoints<80>) | null;
  /** evaluating, this_quarter, next_quarter, urgent; any value is stored. */
  timeline?: (string & MaxCodePoints<80>) | null;
  /** Compliance needs in free text. */
  compliance?: (string & MaxCodePoints<300>) | null;
  message?: (string & MaxCodePoints<2000>) | null;
  source?: (string & MaxCodePoints<32>) | null;
  segment?: (string & MaxCodePoints<64>) | null;
  campaign?: (string & MaxCodePoints<64>) | null;
  event_id?: (string & MaxCodePoints<64>) | null;
}

/** The interest is on disk. */
export interface DeliveryInterestResponse {
  ok: true;
  id: string;
  /** RFC 3339 UTC. */
  received_at: string;
  delivery_model: DeliveryModelId;
  /** Says that a human will reply. */
  next_step: string;
}

/** One entry of the catalogue; it cannot be bought here. */
export interface DeliveryModel {
  delivery_model: DeliveryModelId;
  name: string;
  summary: string;
  suited_for: string[];
  what_you_get: string[];
  price_indicative: string;
  availability: 'by_agreement_scoped';
  self_service: false;
  price_is_indicative: true;
}

/** The catalogue. */
export interface DeliveryModelsResponse {
  models: DeliveryModel[];
}

const [requestType, deliveryInterestResponseType, deliveryModelsResponseType] = wireTypes(
  typia.json.schemas<[DeliveryInterestRequest, DeliveryInterestResponse, DeliveryModelsResponse]>(),
  { delivery_model: deliveryModelIds },
);

const deliveryInterestRequestType = bodyType(requestType, typia.createIs<DeliveryInterestRequest>());

const interestRequest: DeliveryInterestRequest = {
  email: 'ada@example.com',
  delivery_model: 'dedicated_byoc',
  company: 'Example Ltd',
  cloud: 'aws',
  monthly_chars: 'about 2 billion',
  timeline: 'next_quarter',
  compliance: 'ISO 27001; data stays in the EU',
  message: null,
  source: null,
  segment: null,
  campaign: null,
  event_id: null,
};

const interestResponse: DeliveryInterestResponse = {
  ok: true,
  id: 'interest_019aa4e2c3e87a904d5e6f708192a3b4',
  received_at: '2026-11-21T09:30:01.000Z',
  delivery_model: 'dedicated_byoc',
  next_step:
    'A human reads this and replies to the address you gave. Nothing has been provisioned, billed or ' +
    'emailed.',
};

/** Sentences of the operator's catalogue that the examples show. */
interface Given {
  readonly deliveryModels: DeliveryModelsResponse;
}

/** GET /v1/delivery-models and POST /v1/delivery-interest. */
export const deliveryRoutes = {
  deliveryModels: {
    ...information,
    tag: 'outreach',
    path: '/v1/delivery-models',
    summary: 'How an enterprise may run the service',
    description:
      'Three models, each by agreement: none can be bought here, and every price is an indication.',
    answers: { 200: { schema: deliveryModelsResponseType, description: 'The models.' } },
    example: ({ deliveryModels }: Given) => get('/v1/delivery-models', deliveryModels),
  },
  deliveryInterest: {
    ...storedFromStrangers,
    path: '/v1/delivery-interest',
    summary: 'Express interest in a delivery model',
    description:
      'Appends the interest to durable storage: it is on disk before the answer is sent. A human replies; ' +
      'no key, order or invoice results from it.',
    body: { kind: 'json', schema: deliveryInterestRequestType, other: 'none', limit: 64 * kibibyte },
    answers: { 200: { schema: deliveryInterestResponseType, description: 'The interest is on disk.' } },
    example: post('/v1/delivery-interest', interestRequest, interestResponse),
  },
} as const satisfies ResourceRoutes;
