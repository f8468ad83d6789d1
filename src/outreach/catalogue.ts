/** The catalogue of delivery models (contract, What the service does, 7): by agreement, not for sale. */
import {
  deliveryModelIds,
  type DeliveryModel,
  type DeliveryModelId,
  type DeliveryModelsResponse,
} from '../contract/delivery.js';

/** What every entry says alike: a human scopes it, and no price is final. */
const byAgreement = {
  availability: 'by_agreement_scoped',
  self_service: false,
  price_is_indicative: true,
} as const;

type Entry = Omit<DeliveryModel, 'delivery_model' | keyof typeof byAgreement>;

const entries: Readonly<Record<DeliveryModelId, Entry>> = {
  dedicated_byoc: {
    name: 'Dedicated, in your cloud account',
    summary:
      'We install and run a Fusegate of your own inside your cloud account. Queries and documents stay ' +
      'there; you own the account, the network and the keys.',
    suited_for: [
      'Teams whose search traffic may not leave their own cloud account.',
      'Steady volume beyond the enterprise tier, or latency that needs the same region and network.',
      'Those who want it run for them, and audited by their own security team.',
    ],
    what_you_get: [
      'An installation sized for your traffic, after a measurement with your queries and documents.',
      'Upgrades and monitoring by us through access that you grant, log and can withdraw at any time.',
      'A written agreement on response times, maintenance windows and data handling.',
      'Export of everything that is stored, and a handover if you go on by yourself.',
    ],
    price_indicative:
      'From about US$2,500 a month for each environment, besides what your cloud charges you. Indicative: ' +
      'the price is agreed in writing once size and response times are known.',
  },
  self_hosted_appliance: {
    name: 'Self-hosted appliance',
    summary:
      'A tested release as container image and packages, with support, that you run on your own machines, ' +
      'also without any connection to the internet.',
    suited_for: [
      'On-premises and air-gapped sites.',
      'Organisations with their own operations team and change process.',
      'Public sector and regulated industries that must keep every byte on their own hardware.',
    ],
    what_you_get: [
      'Releases with checksums, a list of every component and its licence, and upgrade notes.',
      'Nothing that calls home: it needs no licence server and sends no telemetry.',
      'Help with sizing, installation, backup and restore, written down for your team.',
      'Support by email on working days; longer hours by agreement.',
    ],
    price_indicative:
      'From about US$18,000 a year for each production site. Indicative: the price is agreed in writing ' +
      'and depends on sites and support hours.',
  },
  oem_embedded: {
    name: 'Embedded in your product',
    summary:
      'The re-ranking engine inside a product that you sell, as a library or beside it as a service, with ' +
      'the terms that redistribution needs.',
    suited_for: [
      'Makers of search, support, commerce and retrieval products.',
      'Vendors who ship software to their own customers, on servers or appliances.',
    ],
    what_you_get: [
      'Terms for redistribution and a named engineer for the integration.',
      'The native core and its interface, kept stable over an agreed period.',
      'Early notice of changes, and fixes to security faults before they are published.',
      'Test vectors, so that your own tests can prove equal results after every upgrade.',
    ],
    price_indicative:
      'From about US$30,000 a year, or a share for each unit sold. Indicative: the price is agreed in ' +
      'writing once volume and support are known.',
  },
};

/** The three entries, in the contract's order. */
export const deliveryCatalogue: DeliveryModelsResponse = {
  models: deliveryModelIds.map((id) => ({ delivery_model: id, ...entries[id], ...byAgreement })),
};
