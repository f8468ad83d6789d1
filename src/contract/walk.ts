/** `GET /walk` on the wire (contract, Exploration). */
import typia, { type tags } from 'typia';
import { exampleCard, exampleEmbedding, exploration, exampleExploration } from './exploration.js';
import type { AsOfQuery, Embedding, Exploration, NearFragment } from './exploration.js';
import type { ResourceRoutes } from './route.js';
import { get } from './schema/route.js';
import type { Integer, MaxCodePoints } from './schema/tags.js';
import { annotated, wireTypes } from './schema/wireType.js';

/** A walk from neighbour to neighbour, the same for the same `from`, `steps`, `seed` and `as_of`. */
export interface WalkQuery extends AsOfQuery {
  /** The receipt that it begins at; absent: the seed chooses. */
  from?: string;
  /** Most fragments of the walk, its first one included; 10 where absent. */
  steps?: number & Integer & tags.Minimum<1> & tags.Maximum<100>;
  /** Seed of the choices; absent: a new one, which the answer names. */
  seed?: string & MaxCodePoints<64>;
}

/** `GET /walk`. */
export interface WalkResponse extends Exploration {
  embedding: Embedding;
  seed: string;
  steps: NearFragment[];
}

/** Defaults of absent parameters. */
export const walkDefaults = { steps: 10 } as const satisfies WalkQuery;

const [query, walkResponseType] = wireTypes(typia.json.schemas<[WalkQuery, WalkResponse]>());
const walkQueryType = annotated(query, {
  defaults: walkDefaults,
  extensions: ['as_of', 'from', 'steps', 'seed'],
});

/** The example's walk, of one fragment. */
const walkResponse: WalkResponse = {
  ...exampleExploration,
  embedding: exampleEmbedding,
  seed: 'autumn',
  steps: [{ ...exampleCard, similarity: 1 }],
};

/** GET /walk. */
export const walkRoutes = {
  walk: {
    ...exploration,
    path: '/walk',
    summary: 'A walk from neighbour to neighbour',
    description:
      'Each step goes to one of the five nearest fragments that the walk has not visited. The seed decides ' +
      'which: the same `from`, `steps`, `seed` and `as_of` give the same walk. It ends early if nothing ' +
      'near is left.',
    parameters: { query: walkQueryType },
    answers: { 200: { schema: walkResponseType, description: 'The walk.' } },
    problems: { ...exploration.problems, 404: ['receipt_not_found'] },
    example: get('/walk?seed=autumn&steps=5&as_of=1', walkResponse),
  },
} as const satisfies ResourceRoutes;
