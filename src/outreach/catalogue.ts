/**
 * The catalogue of delivery models (contract, What the service does, 7): by agreement, not for direct sale.
 */
import { deliveryModelIds, type DeliveryModelId, type DeliveryModelsResponse } from '../contract/delivery.js';
import { noOperator, type ModelWords, type Operator } from './operator.js';

/** Members of every entry: a human agrees the scope, and no price is final. */
const byAgreement = {
  availability: 'by_agreement_scoped',
  self_service: false,
  price_is_indicative: true,
} as const;

const unpriced = 'No price is published on this server: it is agreed with its operator.';

/** The models if the operator says nothing about them: no price, and no promise in the operator's name. */
const defaults: Readonly<Record<DeliveryModelId, ModelWords>> = {
  dedicated_byoc: {
    name: 'Dedicated, in your cloud account',
    summary: 'A Fusegate of your own that the operator runs inside your cloud account.',
    suited_for: ['Teams whose search traffic may not leave their own cloud account.'],
    what_you_get: ['What is agreed with the operator.'],
    price_indicative: unpriced,
  },
  self_hosted_appliance: {
    name: 'Self-hosted appliance',
    summary: 'A Fusegate that you run on your own machines, also without a connection to the internet.',
    suited_for: ['On-premises and air-gapped sites.'],
    what_you_get: ['What is agreed with the operator.'],
    price_indicative: unpriced,
  },
  oem_embedded: {
    name: 'Embedded in your product',
    summary: 'The re-ranking engine inside a product that you sell.',
    suited_for: ['Makers of search, support, commerce and retrieval products.'],
    what_you_get: ['What is agreed with the operator.'],
    price_indicative: unpriced,
  },
};

/** The three entries in an operator's words, in the contract's order. */
export function catalogueOf({ delivery_models: words }: Operator): DeliveryModelsResponse {
  return {
    models: deliveryModelIds.map((id) => {
      return { delivery_model: id, ...defaults[id], ...words[id], ...byAgreement };
    }),
  };
}

/** The catalogue of a server without an operator's file. */
export const deliveryCatalogue = catalogueOf(noOperator);
