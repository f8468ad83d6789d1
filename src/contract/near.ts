/** `GET /graph/near` on the wire (contract, Exploration). */
import typia, { type tags } from 'typia';
import { exampleCard, exampleEmbedding, exploration, exampleExploration } from './exploration.js';
import type { AsOfQuery, Embedding, Exploration, NearFragment } from './exploration.js';
import type { ResourceRoutes } from './route.js';
import { get } from './schema/route.js';
import type { Integer, MaxCodePoints } from './schema/tags.js';
import { annotated, wireTypes } from './schema/wireType.js';

/** Parameters of a search for neighbours: either `receipt` or `text`. */
export interface NearQuery extends AsOfQuery {
  /** A fragment's receipt; it is not among its own neighbours. */
  receipt?: string;
  text?: string & MaxCodePoints<2000>;
  /** Most results; 10 where absent. */
  k?: number & Integer & tags.Minimum<1> & tags.Maximum<100>;
}

/** `GET /graph/near`. */
export interface NearResponse extends Exploration {
  embedding: Embedding;
  /** `exact`: every vector was compared. `index`: an index named candidates, which were compared exactly. */
  search: 'exact' | 'index';
  results: NearFragment[];
}

/** Defaults of absent parameters. */
export const nearDefaults = { k: 10 } as const satisfies NearQuery;

const [query, nearResponseType] = wireTypes(typia.json.schemas<[NearQuery, NearResponse]>());

/** The parameters of GET /graph/near. */
export const nearQueryType = annotated(query, {
  defaults: nearDefaults,
  extensions: ['as_of', 'receipt', 'text', 'k'],
});

/** The example's neighbours. */
const nearResponse: NearResponse = {
  ...exampleExploration,
  embedding: exampleEmbedding,
  search: 'exact',
  results: [{ ...exampleCard, similarity: 0.46468 }],
};

/** GET /graph/near. */
export const nearRoutes = {
  near: {
    ...exploration,
    path: '/graph/near',
    summary: 'The fragments nearest to one, or to a text',
    description:
      'Compares vectors: give `receipt` or `text`. The most similar come first, and the earlier of equally ' +
      'similar ones; only those with a similarity above 0 are listed. The answer names the method that ' +
      'made the vectors.',
    parameters: { query: nearQueryType },
    answers: { 200: { schema: nearResponseType, description: 'The neighbours.' } },
    problems: { ...exploration.problems, 404: ['receipt_not_found'] },
    example: get('/graph/near?text=What+holds+a+lattice+together%3F&k=5', nearResponse),
  },
} as const satisfies ResourceRoutes;
