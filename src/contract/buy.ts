/** The pages that sell keys: `/buy` and a page for each order. */
import typia from 'typia';
import { paymentHash } from './lightning.js';
import { claimQueryType, claimToken, ordered } from './orders.js';
import {
  html,
  information,
  kibibyte,
  plainText,
  privateFields,
  read,
  stored,
  tooManyPage,
  type ResourceRoutes,
} from './route.js';
import { getOther } from './schema/route.js';
import { annotated, wireTypes } from './schema/wireType.js';

/** Path of an order's page. */
export interface BuyOrderPath {
  rail: string;
  /** Id of the order on that rail. */
  order: string;
}

/** Query of the page that sells keys. */
export interface BuyQuery {
  /** The tier that is selected at first. */
  tier?: string;
}

const [buyOrderPathType, query] = wireTypes(typia.json.schemas<[BuyOrderPath, BuyQuery]>());
const buyQueryType = annotated(query, { extensions: ['tier'] });

/** The pages that sell keys. */
export const buyRoutes = {
  buyPage: {
    ...information,
    tag: 'checkout',
    fields: privateFields,
    path: '/buy',
    summary: 'A page that sells keys',
    description: 'For people: tiers, prices and the ways to pay that are ready.',
    parameters: { query: buyQueryType },
    answers: { 200: { type: html, description: 'The page.' } },
    unprocessable: true,
    cors: false,
    ...read,
    example: getOther('/buy?tier=growth', html),
  },
  buy: {
    ...ordered,
    path: '/buy',
    summary: 'Order with the form of /buy',
    description:
      'Redirects to the page of the order, or shows it if the order is paid by card. If a choice is ' +
      'missing, the form is shown again.',
    body: { kind: 'any', limit: 16 * kibibyte },
    answers: {
      200: { type: html, description: 'A card order with the way to pay, or the form and what is missing.' },
      303: { type: plainText, description: 'Redirect to the page of the order.' },
      429: tooManyPage('orders'),
    },
    problems: { ...stored.problems, 503: ordered.problems[503] },
    headers: [...ordered.headers, 'location'],
    unprocessable: true,
    cors: false,
    example: {
      request: {
        method: 'POST',
        path: '/buy',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'tier=growth&rail=lightning&email=',
      },
      response: { status: 303, type: plainText },
    },
  },
  buyOrder: {
    ...information,
    tag: 'checkout',
    fields: privateFields,
    path: '/buy/{rail}/{order}',
    summary: 'The page of an order',
    description: 'How to pay, and the state of the order. Showing it changes nothing.',
    parameters: { path: buyOrderPathType, query: claimQueryType },
    answers: {
      200: { type: html, description: 'The page.' },
      404: { type: html, description: 'There is no such order.' },
    },
    unprocessable: true,
    cors: false,
    ...read,
    limit: 'polls',
    example: getOther(`/buy/lightning/${paymentHash}?claim=${claimToken}`, html),
  },
  buyReveal: {
    ...stored,
    tag: 'checkout',
    fields: privateFields,
    path: '/buy/{rail}/{order}',
    summary: 'Show an order’s key',
    description: 'The action of the page’s button: reveals the key, once, to whoever has the claim token.',
    body: { kind: 'any', limit: 1_024 },
    parameters: { path: buyOrderPathType, query: claimQueryType },
    answers: {
      200: { type: html, description: 'The page, with the key.' },
      404: { type: html, description: 'There is no such order.' },
    },
    cors: false,
    limit: 'polls',
    problems: { ...stored.problems, 429: ['rate_limited'] },
    headers: ['ratelimit', 'ratelimit-policy'],
    example: {
      request: { method: 'POST', path: `/buy/lightning/${paymentHash}?claim=${claimToken}` },
      response: { status: 200, type: html },
    },
  },
} as const satisfies ResourceRoutes;
