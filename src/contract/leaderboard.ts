/** `GET /leaderboard` on the wire (contract, Exploration). */
import typia from 'typia';
import { asOfQueryType, exploration, exampleExploration, type Exploration } from './exploration.js';
import { fragment } from './fragment.js';
import type { ResourceRoutes } from './route.js';
import { get } from './schema/route.js';
import type { Integer } from './schema/tags.js';
import { wireTypes } from './schema/wireType.js';

/** One visitor's standing. */
export interface LeaderboardEntry {
  rank: number & Integer;
  visitor: string;
  /** Number of fragments with distinct content. */
  fragments: number & Integer;
}

/** `GET /leaderboard`: the first hundred. */
export interface LeaderboardResponse extends Exploration {
  visitors: LeaderboardEntry[];
}

const [leaderboardResponseType] = wireTypes(typia.json.schemas<[LeaderboardResponse]>());

/** The example's visitors. */
const leaderboardResponse: LeaderboardResponse = {
  ...exampleExploration,
  visitors: [{ rank: 1, visitor: fragment.visitor, fragments: 1 }],
};

/** GET /leaderboard. */
export const leaderboardRoutes = {
  leaderboard: {
    ...exploration,
    path: '/leaderboard',
    summary: 'Visitors by their fragments',
    description:
      'Counts fragments of different content; probes and fragments without a visitor are left out.',
    parameters: { query: asOfQueryType },
    answers: { 200: { schema: leaderboardResponseType, description: 'The first hundred.' } },
    example: get('/leaderboard', leaderboardResponse),
  },
} as const satisfies ResourceRoutes;
