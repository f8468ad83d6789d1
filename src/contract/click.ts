/** `GET /c/{token}` on the wire (contract, click redirect). */
import typia from 'typia';
import { information, plainText, type ResourceRoutes } from './route.js';
import { getOther } from './schema/route.js';
import { annotated, wireTypes } from './schema/wireType.js';

/** Path of a click link. */
export interface ClickPath {
  token: string;
}

/** Where the click goes. */
export interface ClickQuery {
  /** Destination. */
  d?: string;
}

/** Defaults of absent parameters. */
export const clickDefaults = { d: '/' } as const satisfies ClickQuery;

const [clickPathType, query] = wireTypes(typia.json.schemas<[ClickPath, ClickQuery]>());
const clickQueryType = annotated(query, { defaults: clickDefaults });

/** GET /c/{token}. */
export const clickRoutes = {
  click: {
    ...information,
    tag: 'outreach',
    path: '/c/{token}',
    summary: 'Follow a counted link',
    description:
      'Logs the click, and redirects to `d` if the token was made for it, if it is a path of this site, or ' +
      'if its host is one of the operator’s; else to `/`.',
    parameters: { path: clickPathType, query: clickQueryType },
    answers: { 302: { type: plainText, description: 'Redirect to the destination.' } },
    unprocessable: true,
    limit: 'clicks',
    problems: { 429: ['rate_limited'] },
    headers: ['location', 'ratelimit', 'ratelimit-policy'],
    reads: ['user-agent', 'sec-purpose', 'purpose', 'x-moz'],
    cors: false,
    acts: true,
    example: getOther(
      '/c/YXV0dW1u.IPJQl2EL-exm8iFaYmQPOw?d=https%3A%2F%2Fexample.com%2Foffer',
      plainText,
      302,
    ),
  },
} as const satisfies ResourceRoutes;
