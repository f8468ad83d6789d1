/** The OpenAPI documents of the gateway and of the fragment door, and the examples that they show. */
import typia from 'typia';
import { problemOf, type Problem, type ProblemCode } from './problem.js';
import { routeList, routes, type Part, type RouteOf } from './routes.js';
import { isServed, servedParts, type ServedPart } from './served.js';
import { documentOf, type DescribedProblem, type OpenApiDocument } from './schema/document.js';
import type { Example } from './schema/route.js';
import { wireTypes } from './schema/wireType.js';

const [problemType] = wireTypes(typia.json.schemas<[Problem]>());

const problem: DescribedProblem = {
  schema: problemType,
  // Every code of a route is in the closed list.
  example: (code, detail) => problemOf(code as ProblemCode, detail),
};

/** The examples of a part that take an argument. */
type Needy<Of extends Part> = Extract<(typeof routes)[RouteOf<Of>]['example'], (given: never) => Example>;

/** The arguments of those examples, by route: texts of other parts of the program. */
export type Given<Of extends Part> = Omit<
  [Needy<Of>] extends [(given: infer All) => Example] ? All : never,
  'routes'
>;

/** One full example of each route of a part: in its document, and as the files under `docs/examples`. */
export function examplesOf<Of extends Part>(
  part: Of,
  given: Given<Of>,
): { readonly [Id in RouteOf<Of>]: Example } {
  const all = { ...given, routes: routeList };
  const entries = routeList
    .filter((route) => route.part === part)
    .map(({ id, example }) => {
      const shown = typeof example === 'function' ? (example as (given: unknown) => Example)(all) : example;
      return [id, shown] as const;
    });
  return Object.fromEntries(entries) as { readonly [Id in RouteOf<Of>]: Example };
}

/** The routes of a part with their examples. */
function listed<Of extends Part>(part: Of, given: Given<Of>, serve: readonly ServedPart[]) {
  const examples: Readonly<Partial<Record<string, Example>>> = examplesOf(part, given);
  return routeList.flatMap((route) => {
    const example = examples[route.id];
    return example === undefined || !isServed(route, serve) ? [] : [{ ...route, example }];
  });
}

/** The OpenAPI document of the gateway (contract part A). */
export function gatewayDocument(
  given: Given<'gateway'>,
  serve: readonly ServedPart[] = servedParts,
  doorOrigin: string | null = '',
): OpenApiDocument {
  const served = listed('gateway', given, serve);
  const { path } = routes.doorOpenapi;
  const isLinked = doorOrigin !== null && isServed({ ...routes.doorOpenapi, id: 'doorOpenapi' }, serve);
  const externalDocs = {
    description: 'The OpenAPI document of the fragment door.',
    url: `${doorOrigin}${path}`,
  };
  return documentOf(served, {
    info: {
      title: 'Fusegate',
      version: '0.4.0',
      description: 'Re-ranks search candidates by fusing BM25 with dense similarity.',
    },
    serverUrl: '/',
    ...(isLinked ? { externalDocs } : {}),
    problem,
    tags: [
      { name: 'fuse', description: 'Re-ranking, also through the interfaces of other services.' },
      { name: 'normalize', description: 'Text made findable.' },
      { name: 'audit', description: 'What keeps plain words from finding records.' },
      { name: 'mcp', description: 'Tools for AI systems.' },
      { name: 'checkout', description: 'What keys cost, and the ways to pay for one.' },
      { name: 'outreach', description: 'Leads, delivery models, mail opt-out and counted links.' },
      { name: 'information', description: 'The service itself.' },
    ].filter(({ name }) => served.some(({ tag }) => tag === name)),
  });
}

/** The OpenAPI document of the fragment door (contract part B) at an address. */
export function doorDocument(
  serverUrl: string,
  given: Given<'door'>,
  serve: readonly ServedPart[] = servedParts,
): OpenApiDocument {
  return documentOf(listed('door', given, serve), {
    info: {
      title: 'Fusegate fragment door',
      version: '6.4',
      description:
        'Takes short abstractions written by AI systems and gives receipts whose every digest can be ' +
        'recomputed. A fragment is not captured until a receipt id exists; fragments carry no private data.',
    },
    serverUrl,
    problem,
    tags: [{ name: 'door', description: 'Fragments and their receipts.' }],
  });
}
