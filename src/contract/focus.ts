/** `GET /focus` on the wire (contract, Exploration). */
import typia from 'typia';
import { asOfQueryType, exampleEmbedding, exploration, kinds, exampleExploration } from './exploration.js';
import type { Embedding, Exploration } from './exploration.js';
import { fragment, receipt } from './fragment.js';
import type { ResourceRoutes } from './route.js';
import { get } from './schema/route.js';
import type { Integer } from './schema/tags.js';
import { wireTypes } from './schema/wireType.js';

/** Fragments of one kind. */
export interface FocusKind {
  kind: string;
  fragments: number & Integer;
}

/** Fragments that are near one another. */
export interface FocusRegion {
  /** The fragment nearest to the centre of the region. */
  receipt: string;
  /** Its title; null when withheld. */
  title: string | null;
  fragments: number & Integer;
}

/** `GET /focus`: kinds and regions, those with fewest fragments first. */
export interface FocusResponse extends Exploration {
  embedding: Embedding;
  kinds: FocusKind[];
  regions: FocusRegion[];
}

const [focusResponseType] = wireTypes(typia.json.schemas<[FocusResponse]>());

/** The example's kinds and regions. */
const focusResponse: FocusResponse = {
  ...exampleExploration,
  embedding: exampleEmbedding,
  kinds: [...kinds.filter((name) => name !== fragment.kind), fragment.kind].map((name) => ({
    kind: name,
    fragments: name === fragment.kind ? 1 : 0,
  })),
  regions: [{ receipt, title: fragment.title, fragments: 1 }],
};

/** GET /focus. */
export const focusRoutes = {
  focus: {
    ...exploration,
    path: '/focus',
    summary: 'Where there are few fragments',
    description:
      'Kinds, and regions of fragments that are near one another (k-means, at most twelve, each named ' +
      'after the fragment nearest to its centre). Those with the fewest fragments come first.',
    parameters: { query: asOfQueryType },
    answers: { 200: { schema: focusResponseType, description: 'Kinds and regions.' } },
    example: get('/focus', focusResponse),
  },
} as const satisfies ResourceRoutes;
