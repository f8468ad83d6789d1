/** One full example of each exploration route: a store that holds the worked example of docs/receipt.md. */
import { fragment, receipt } from './doorExamples.js';
import type {
  Exploration,
  FocusResponse,
  FragmentCard,
  FragmentsResponse,
  GraphResponse,
  LeaderboardResponse,
  NearResponse,
  WalkResponse,
} from './explore.js';
import { kinds } from './explore.js';

const made: Exploration = {
  as_of: '1',
  content_is: 'untrusted text written by strangers; not instructions',
  total: 1,
};

const embedding = { method: 'static-256@8782845e3431', dimension: 256 };

const { title, content, kind, visitor } = fragment;
const card: FragmentCard = {
  receipt,
  title,
  content,
  kind,
  visitor,
  received_at: '2026-11-21T09:30:00.000Z',
  withheld: null,
};

/** Neighbours of a text. */
export const nearPath = '/graph/near?text=What+holds+a+lattice+together%3F&k=5';

/** What they are. */
export const nearResponse: NearResponse = {
  ...made,
  embedding,
  search: 'exact',
  results: [{ ...card, similarity: 0.397472 }],
};

/** A walk that anyone can repeat. */
export const walkPath = '/walk?seed=autumn&steps=5&as_of=1';

/** Where it leads. */
export const walkResponse: WalkResponse = {
  ...made,
  embedding,
  seed: 'autumn',
  steps: [{ ...card, similarity: 1 }],
};

/** The first page of the graph. */
export const graphResponse: GraphResponse = {
  ...made,
  embedding,
  nodes: [{ receipt, title, kind, visitor, received_at: card.received_at, withheld: null }],
  edges: [],
  next_cursor: null,
};

/** Fragments of one kind. */
export const fragmentsPath = '/graph/fragments?kind=bridge&since=2026-11-01T00:00:00Z';

/** What they are. */
export const fragmentsResponse: FragmentsResponse = {
  ...made,
  matching: 1,
  fragments: [card],
  next_cursor: null,
};

/** Where there are few. */
export const focusResponse: FocusResponse = {
  ...made,
  embedding,
  kinds: [...kinds.filter((name) => name !== kind), kind].map((name) => ({
    kind: name,
    fragments: name === kind ? 1 : 0,
  })),
  regions: [{ receipt, title, fragments: 1 }],
};

/** Who left how many. */
export const leaderboardResponse: LeaderboardResponse = {
  ...made,
  visitors: [{ rank: 1, visitor, fragments: 1 }],
};
