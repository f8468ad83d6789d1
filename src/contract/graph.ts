/** `GET /graph` and `GET /graph/fragments` on the wire (contract, Exploration). */
import typia, { type tags } from 'typia';
import { exampleCard, exampleEmbedding, exploration, exampleExploration } from './exploration.js';
import type { AsOfQuery, Embedding, Exploration, FragmentCard, FragmentNode } from './exploration.js';
import { fragment, receipt } from './fragment.js';
import { html, type ResourceRoutes } from './route.js';
import { get } from './schema/route.js';
import type { Integer, MaxCodePoints } from './schema/tags.js';
import { annotated, wireTypes } from './schema/wireType.js';

/** A page of the graph. */
export interface GraphQuery extends AsOfQuery {
  /** `next_cursor` of the previous page; it keeps the `as_of` of that page. */
  cursor?: string;
  /** Most nodes; 100 where absent. */
  limit?: number & Integer & tags.Minimum<1> & tags.Maximum<1000>;
}

/** Filter of fragments. */
export interface FragmentsQuery extends AsOfQuery {
  /** `next_cursor` of the previous page; it keeps the `as_of` of that page. */
  cursor?: string;
  /** Most fragments; 100 where absent. */
  limit?: number & Integer & tags.Minimum<1> & tags.Maximum<1000>;
  /** One of the eight kinds, in any case. */
  kind?: string & MaxCodePoints<32>;
  /** The visitor, compared exactly. */
  visitor?: string & MaxCodePoints<100>;
  /** RFC 3339: received then or later. */
  since?: string;
}

/** A link from a fragment to an earlier one that is near it. */
export interface GraphEdge {
  from: string;
  to: string;
  /** Cosine of the vectors, to six decimals. */
  similarity: number;
}

/** `GET /graph`: nodes in the order in which they were stored, and the links of each to earlier ones. */
export interface GraphResponse extends Exploration {
  embedding: Embedding;
  nodes: FragmentNode[];
  edges: GraphEdge[];
  /** Null on the last page. */
  next_cursor: string | null;
}

/** `GET /graph/fragments`, in the order in which they were stored. */
export interface FragmentsResponse extends Exploration {
  /** Number of fragments that match the filters. */
  matching: number & Integer;
  fragments: FragmentCard[];
  /** Null on the last page. */
  next_cursor: string | null;
}

/** Defaults of absent parameters. */
export const graphDefaults = { limit: 100 } as const satisfies GraphQuery;

const [graphQuery, fragmentsQuery, graphResponseType, fragmentsResponseType] = wireTypes(
  typia.json.schemas<[GraphQuery, FragmentsQuery, GraphResponse, FragmentsResponse]>(),
);
const graphQueryType = annotated(graphQuery, {
  defaults: graphDefaults,
  extensions: ['as_of', 'cursor', 'limit'],
});
const fragmentsQueryType = annotated(fragmentsQuery, {
  defaults: graphDefaults,
  extensions: ['as_of', 'cursor', 'limit', 'kind', 'visitor', 'since'],
});

/** The example's page of the graph. */
const graphResponse: GraphResponse = {
  ...exampleExploration,
  embedding: exampleEmbedding,
  nodes: [
    {
      receipt,
      title: fragment.title,
      kind: fragment.kind,
      visitor: fragment.visitor,
      received_at: exampleCard.received_at,
      withheld: null,
    },
  ],
  edges: [],
  next_cursor: null,
};

/** The example's fragments. */
const fragmentsResponse: FragmentsResponse = {
  ...exampleExploration,
  matching: 1,
  fragments: [exampleCard],
  next_cursor: null,
};

/** GET /graph and GET /graph/fragments. */
export const graphRoutes = {
  graph: {
    ...exploration,
    path: '/graph',
    summary: 'The graph of fragments, page by page',
    description:
      'Nodes in the order in which they were stored, each with edges to the nearest earlier ones, at most ' +
      'three. A browser gets a page that draws the graph.',
    parameters: { query: graphQueryType },
    reads: ['accept'],
    answers: { 200: { schema: graphResponseType, description: 'One page of the graph.', also: [html] } },
    example: get('/graph', graphResponse),
  },
  graphFragments: {
    ...exploration,
    path: '/graph/fragments',
    summary: 'Fragments with their content, page by page',
    description: 'In the order in which they were stored; `kind`, `visitor` and `since` filter them.',
    parameters: { query: fragmentsQueryType },
    answers: { 200: { schema: fragmentsResponseType, description: 'One page of them.' } },
    example: get('/graph/fragments?kind=bridge&since=2026-11-01T00:00:00Z', fragmentsResponse),
  },
} as const satisfies ResourceRoutes;
