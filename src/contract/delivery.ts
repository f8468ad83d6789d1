/** Delivery models and interest in them on the wire (contract, DeliveryInterestRequest). */
import type { MaxCodePoints } from './tags.js';

/** How an enterprise may run the service. */
export const deliveryModelIds = ['dedicated_byoc', 'self_hosted_appliance', 'oem_embedded'] as const;

/** How an enterprise may run the service. */
export type DeliveryModelId = (typeof deliveryModelIds)[number];

/** Interest in a delivery model; a human replies. */
export interface DeliveryInterestRequest {
  /** Kept as it came; nothing is sent to it. */
  email: string & MaxCodePoints<320>;
  delivery_model: DeliveryModelId;
  company?: (string & MaxCodePoints<200>) | null;
  /** aws, gcp, azure, on_prem, other; any value is kept. */
  cloud?: (string & MaxCodePoints<80>) | null;
  /** Rough monthly character volume. */
  monthly_chars?: (string & MaxCodePoints<80>) | null;
  /** evaluating, this_quarter, next_quarter, urgent; any value is kept. */
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
