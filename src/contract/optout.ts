/** `/unsubscribe` on the wire (contract, mail opt-out; RFC 8058 one-click). */
import typia from 'typia';
import { html, information, mebibyte, read, stored, type ResourceRoutes } from './route.js';
import { getOther } from './schema/route.js';
import { annotated, wireTypes } from './schema/wireType.js';

/** The person who opts out, and the proof that the link was made by the operator. */
export interface UnsubscribeQuery {
  /** Email address. */
  e?: string;
  /** Token of the link. */
  t?: string;
}

/** Defaults of absent parameters. */
export const unsubscribeDefaults = { e: '', t: '' } as const satisfies UnsubscribeQuery;

/** Always 200: a bad token says `unsubscribed: false`. */
export interface UnsubscribeResponse {
  ok: true;
  unsubscribed: boolean;
}

const [query, unsubscribeResponseType] = wireTypes(
  typia.json.schemas<[UnsubscribeQuery, UnsubscribeResponse]>(),
);
const unsubscribeQueryType = annotated(query, { defaults: unsubscribeDefaults });

// Tokens under the secret of the example in docs/outreach.md.
const unsubscribeQuery = 'e=ada%2Bnews%40example.com&t=20tyMpLC-2W9jIOCY-JjGt';
const unsubscribed: UnsubscribeResponse = { ok: true, unsubscribed: true };

/** The opt-out page and its button. */
export const optoutRoutes = {
  unsubscribePage: {
    ...information,
    tag: 'outreach',
    path: '/unsubscribe',
    summary: 'The opt-out page',
    description: 'Shows a button that opts out; opening the page changes nothing.',
    parameters: { query: unsubscribeQueryType },
    answers: { 200: { type: html, description: 'The page.' } },
    unprocessable: true,
    cors: false,
    ...read,
    example: getOther(`/unsubscribe?${unsubscribeQuery}`, html),
  },
  unsubscribe: {
    ...stored,
    path: '/unsubscribe',
    summary: 'Opt out with one click',
    description:
      'The target of RFC 8058 one-click links. Only the link counts; the body is ignored. A token that is ' +
      'not valid changes nothing; the answer then has `unsubscribed: false` and status 200. A client that ' +
      'prefers text/html gets a page that says the same.',
    reads: ['accept'],
    body: { kind: 'any', limit: mebibyte },
    parameters: { query: unsubscribeQueryType },
    answers: {
      200: {
        schema: unsubscribeResponseType,
        description: 'Whether the address is opted out.',
        also: [html],
      },
    },
    cors: false,
    example: {
      request: {
        method: 'POST',
        path: `/unsubscribe?${unsubscribeQuery}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'List-Unsubscribe=One-Click',
      },
      response: { status: 200, type: 'application/json', body: unsubscribed },
    },
  },
} as const satisfies ResourceRoutes;
