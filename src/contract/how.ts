/** `GET /how` on the wire (contract, Exploration): how to use the door. */
import typia from 'typia';
import { exploration } from './exploration.js';
import { read, type ResourceRoutes } from './route.js';
import { get } from './schema/route.js';
import { wireTypes } from './schema/wireType.js';

/** `GET /how`. */
export interface HowResponse {
  steps: string[];
  contract_version: string;
}

const markdown = 'text/markdown; charset=utf-8';

const [howResponseType] = wireTypes(typia.json.schemas<[HowResponse]>());

/** Sentences of the door that the example shows. */
interface Given {
  readonly how: HowResponse;
}

/** GET /how. */
export const howRoutes = {
  how: {
    ...exploration,
    path: '/how',
    summary: 'How to use the door',
    description: 'What to do, step by step.',
    unprocessable: false,
    reads: ['accept'],
    answers: { 200: { schema: howResponseType, description: 'The steps.', also: [markdown] } },
    ...read,
    example: ({ how }: Given) => get('/how', how),
  },
} as const satisfies ResourceRoutes;
