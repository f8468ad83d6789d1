/** The HTTP server of one worker: routes on uWebSockets.js, timeouts, drain, metrics. */
import { prefers } from '../contract/accept.js';
import type { Answer } from '../contract/exchange.js';
import type { RateLimit } from '../contract/limits.js';
import { notFoundPage } from '../pages/notFound.js';
import { unnamedPage, type PageMaker } from '../pages/page.js';
import { BufferPool } from '../system/bufferPool.js';
import type { Clock, Timer } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { single, type Metric } from '../system/metrics.js';
import type { Randomness } from '../system/randomness.js';
import { contains, parseNetwork } from '../system/network.js';
import type { Tracer } from '../telemetry/tracer.js';
import { affordable, Connections, descriptorLimit } from './connections.js';
import { answerOptions } from './cors.js';
import { Exchange } from './exchange.js';
import { LineExchange } from './lineExchange.js';
import { Listening, type LeftSockets } from './listening.js';
import type { MountedRoute } from './mounted.js';
import type { ConnectionLimits, ServerState } from './state.js';
import { methodNotAllowed, notFound, notFoundNear } from './failures.js';
import { createRequestIds } from './identifiers.js';
import { MemoryBudget, networkBytes } from './memory.js';
import { httpMetrics, RouteMeter } from './meters.js';
import type { ServerTiming } from './settings.js';
import { Turn } from './turn.js';
import { nearestRoute } from './nearest.js';
import type { Route, ServedRoute } from './routes.js';
import { loadUws, type HttpRequest, type HttpResponse, type TemplatedApp } from './uws.js';

/** Most memory for bodies that the pool holds for reuse (bytes). */
const pooledBytes = 32 << 20;

/** Limits of one worker. */
export interface ServerLimits extends ConnectionLimits {
  /** Memory for request bodies (bytes). */
  readonly bodyBytes: number;
  /** Memory for answers that wait for their clients (bytes). */
  readonly answerBytes: number;
  /** Each network's part of either memory, for callers without a key (bytes). */
  readonly networkBytes: number;
  /** Interval at which slow connections are searched for (ms). */
  readonly sweepMs: number;
  /** Most connections of this worker; fewer if the process may not open that many descriptors. */
  readonly maxConnections: number;
  /** Number of workers that share the port. */
  readonly workers: number;
  /** Interval at which answers of 501 and above are logged as a summary (ms). */
  readonly reportMs: number;
}

/**
 * The default limits. uWebSockets.js closes a connection without an answer if fewer than 160 KiB of its body
 * arrive in ten seconds, by a timer that may fire after eight seconds. Our limit is shorter, so that a 408 is
 * sent.
 */
const defaultLimits: ServerLimits = {
  bodyWindowMs: 5_000,
  bodyWindowBytes: 128 * 1024,
  sendWindowMs: 10_000,
  sendWindowBytes: 160 * 1024,
  bodyBytes: 512 * 1024 * 1024,
  answerBytes: 512 * 1024 * 1024,
  networkBytes,
  sweepMs: 1_000,
  reportMs: 60_000,
  maxConnections: 8_192,
  workers: 1,
};

/** The limits of a worker's connections and memory, as `GET /v1/limits` lists them. */
export function workerLimits(maxConnections: number): RateLimit[] {
  const { bodyBytes, answerBytes, networkBytes: ofNetwork } = defaultLimits;
  return [
    { name: 'connections', limit: maxConnections, unit: 'connections of a worker; an address has an eighth' },
    {
      name: 'body_bytes',
      limit: bodyBytes,
      unit: 'bytes of bodies that a worker receives; half without a key',
    },
    {
      name: 'answer_bytes',
      limit: answerBytes,
      unit: 'bytes of answers that wait in a worker for their readers; half without a key',
    },
    { name: 'network_bytes', limit: ofNetwork, unit: 'of either, for a /24 or a /48 without a key' },
  ];
}

/** Parts of a server. */
export interface ServerParts {
  readonly routes: readonly ServedRoute[];
  /** Routes with a port of their own; served only if {@link Server.listen} is given that port. */
  readonly doorRoutes?: readonly ServedRoute[];
  readonly clock: Clock;
  readonly log: Log;
  readonly randomness: Randomness;
  readonly limits?: Partial<ServerLimits>;
  /** Starts the spans of requests. */
  readonly tracer?: Tracer;
  /** Times that answers show; default: the total. */
  readonly timing?: ServerTiming;
  /** Addresses and networks of proxies, each with many clients behind it. */
  readonly trustedProxies?: readonly string[];
  /** Writes the page that a browser gets for an unknown path. */
  readonly page?: PageMaker;
}

/** A server that is not listening yet. */
export interface Server {
  /**
   * Listens on a port that other processes may share, and on `doorPort` if it is given. Resolves to the port,
   * or to undefined if it cannot listen. Uses the listening sockets of the previous process if there are any.
   */
  readonly listen: (
    host: string,
    port: number,
    doorPort?: number,
    left?: LeftSockets,
  ) => Promise<number | undefined>;
  /**
   * Accepts no new connections, answers the requests in flight (each answer ends its connection) and closes
   * the other connections. `untilClosed`: idle connections may send one more request and are waited for,
   * until their clients or the idle timeout close them. Resolves to true if all was answered within
   * `timeoutMs`. A second call can only make it faster.
   */
  readonly drain: (timeoutMs: number, untilClosed?: boolean) => Promise<boolean>;
  /** The current values of the server's metrics. */
  readonly metrics: () => Metric[];
}

/** Header lines on every answer. */
const constantLines = '\r\nx-content-type-options: nosniff';

function createState(parts: ServerParts, limits: ServerLimits): ServerState {
  return {
    clock: parts.clock,
    log: parts.log,
    requestIds: createRequestIds(parts.randomness),
    turn: new Turn(),
    tracer: parts.tracer,
    timing: parts.timing ?? 'total',
    limits,
    bodies: {
      memory: new MemoryBudget(limits.bodyBytes, limits.networkBytes),
      pool: new BufferPool(pooledBytes),
    },
    answers: new MemoryBudget(limits.answerBytes, limits.networkBytes),
    failures: new Map(),
    receiving: new Set(),
    sending: new Set(),
    inFlight: 0,
    draining: false,
  };
}

/** The limit of connections that this process can keep open. */
function boundConnections(parts: ServerParts, limits: ServerLimits): Connections {
  const proxies = (parts.trustedProxies ?? []).flatMap((text) => parseNetwork(text) ?? []);
  const descriptors = descriptorLimit();
  const most = affordable(limits.maxConnections, descriptors);
  if (most < limits.maxConnections) {
    const { maxConnections } = limits;
    parts.log.warn({ descriptors, most, maxConnections }, 'fewer connections than set: too few descriptors');
  }
  const isProxy = (address: Uint8Array): boolean => proxies.some((network) => contains(network, address));
  return new Connections({ most, workers: limits.workers, isProxy }, parts.log);
}

/**
 * Builds a server that does not listen yet. @throws Error if no build of uWebSockets.js fits this machine.
 */
export function createServer(parts: ServerParts): Server {
  const uws = loadUws();
  const limits = { ...defaultLimits, ...parts.limits };
  const state = createState(parts, limits);
  const meters: Meters = new Map();
  const connections = boundConnections(parts, limits);
  const [app, doorApp] = [parts.routes, parts.doorRoutes ?? []].map((routes) => {
    const made = uws.App();
    const paths = new Set(routes.map(({ route }) => route.path));
    mount(made, state, routes, meters, notFoundPage(parts.page ?? unnamedPage, paths));
    connections.watch(made);
    return made;
  }) as [TemplatedApp, TemplatedApp];
  const listening = new Listening(uws);
  let sweep: Timer | undefined;
  const report = parts.clock.every(limits.reportMs, () => reportFailures(state));
  const drain = drainer(state, connections, () => listening.close());
  return {
    async listen(host, port, doorPort, left) {
      const found = await listening.on(app, host, port, left?.port ?? []);
      if (found === undefined) return undefined;
      connections.listensOn(found);
      if (doorPort !== undefined) {
        const door = await listening.on(doorApp, host, doorPort, left?.door ?? []);
        if (door === undefined) return undefined;
        connections.listensOn(door);
      }
      sweep = parts.clock.every(limits.sweepMs, () => {
        sweepSlow(state);
        void connections.look();
      });
      return found;
    },
    async drain(timeoutMs, untilClosed = false) {
      const drained = await drain(timeoutMs, untilClosed);
      sweep?.stop();
      report.stop();
      reportFailures(state);
      app.close();
      doorApp.close();
      return drained;
    },
    metrics: () => [
      ...httpMetrics([...meters.values()], state.bodies.memory.held, state.inFlight),
      single(
        'gauge',
        'fusegate_http_answer_bytes',
        'Memory of answers that wait for their clients.',
        state.answers.held,
      ),
      ...connections.metrics(),
    ],
  };
}

function sweepSlow(state: ServerState): void {
  const nowMs = state.clock.monotonicMs();
  for (const body of state.receiving) body.check(nowMs);
  for (const answer of state.sending) answer.check(nowMs);
}

/** Logs how many requests were answered with 501 and above since the last report, by route and status. */
function reportFailures({ failures, log }: ServerState): void {
  if (failures.size === 0) return;
  log.warn({ answers: Object.fromEntries(failures) }, 'requests could not be served');
  failures.clear();
}

/** Interval at which a drain checks if everything is answered (ms). */
const drainLookMs = 20;

/**
 * Starts a drain: the first call runs `begin`, later ones can only make it faster. Resolves to true if all
 * was answered. Two checks in a row must find nothing, so that a request in transit is still answered.
 */
function drainer(state: ServerState, connections: Connections, begin: () => void): Server['drain'] {
  const { clock } = state;
  let endMs = Infinity;
  let forClosed = true;
  const drained = async (): Promise<boolean> => {
    state.draining = true;
    begin();
    for (let looksIdle = 0; looksIdle < 2 && clock.monotonicMs() < endMs;) {
      await clock.sleep(drainLookMs);
      const isIdle = state.inFlight === 0 && (!forClosed || connections.count === 0);
      looksIdle = isIdle ? looksIdle + 1 : 0;
    }
    return state.inFlight === 0;
  };
  let draining: Promise<boolean> | undefined;
  return (timeoutMs, untilClosed = false) => {
    endMs = Math.min(endMs, clock.monotonicMs() + timeoutMs);
    forClosed &&= untilClosed;
    draining ??= drained();
    return draining;
  };
}

/** The routes with the same path template. */
interface Place {
  readonly pattern: string;
  readonly parameters: readonly string[];
  readonly routes: ServedRoute[];
}

/** Groups routes by path; templates become uWebSockets.js patterns (`{id}`: `:id`). */
function places(routes: readonly ServedRoute[]): Place[] {
  const byPath = new Map<string, Place>();
  for (const served of routes) {
    const { path } = served.route;
    const parameters = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
    const place = byPath.get(path) ?? {
      pattern: path.replaceAll(/\{(\w+)\}/g, ':$1'),
      parameters,
      routes: [],
    };
    place.routes.push(served);
    byPath.set(path, place);
  }
  return [...byPath.values()];
}

/** A route that http answers itself, for its counters and log lines. */
function ownRoute(id: string, open: boolean, given: Pick<Partial<Route>, 'headers' | 'fields'> = {}): Route {
  const none = { method: 'GET', path: '', body: false, bodyLimit: 0, acts: false, timed: false } as const;
  return { ...none, id, cors: open, headers: [], keylessAnswerLimit: Infinity, ...given };
}

/** Counters by route id; both ports count together. */
type Meters = Map<string, RouteMeter>;

/** Registers every path with its methods, then the answers to other methods and other paths. */
function mount(
  app: TemplatedApp,
  state: ServerState,
  routes: readonly ServedRoute[],
  meters: Meters,
  missing: Answer,
): void {
  const mounted = (served: ServedRoute, parameters: readonly string[], head = false): MountedRoute => {
    const { id } = served.route;
    const meter = meters.get(id) ?? new RouteMeter(id);
    meters.set(id, meter);
    return { ...served, meter, parameters, head, lines: routeLines(served.route) };
  };
  const none = { route: ownRoute('not_found', true), handler: () => notFound };
  const docs = referencePath(routes);
  for (const place of places(routes)) mountPlace(app, state, place, mounted, docs);
  const nearest = nearestRoute(routes.map(({ route }) => route));
  const refuse =
    (unserved: MountedRoute): Serve =>
    (response, request) => {
      const isPage = prefers(request.getHeader('accept'), 'text/html');
      const answer = isPage
        ? missing
        : notFoundNear(nearest(request.getMethod().toUpperCase(), request.getUrl()), docs);
      new Exchange(state, unserved, response, request).refuse(answer);
    };
  app.head('/*', refuse(mounted(none, [], true)));
  app.any('/*', refuse(mounted(none, [])));
}

/** The path of the reference among these routes, or of their OpenAPI document. */
function referencePath(routes: readonly ServedRoute[]): string | undefined {
  const paths = new Set(routes.map(({ route }) => route.path));
  return ['/docs', '/api/agent/openapi'].find((path) => paths.has(path));
}

type Mounting = (served: ServedRoute, parameters: readonly string[], head?: boolean) => MountedRoute;

/** The functions of uWebSockets.js that register each method. */
const registered = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'del' } as const;

function mountPlace(
  app: TemplatedApp,
  state: ServerState,
  place: Place,
  mounted: Mounting,
  docs: string | undefined,
): void {
  const { pattern, parameters } = place;
  for (const served of place.routes) {
    const { method } = served.route;
    app[registered[method]](pattern, serve(state, mounted(served, parameters)));
    if (method === 'GET') {
      app.head(pattern, serve(state, mounted(served, parameters, true)));
    }
  }
  const methods = place.routes.flatMap(({ route: { method } }) =>
    method === 'GET' ? ['GET', 'HEAD'] : [method],
  );
  const allow = [...methods, 'OPTIONS'].join(', ');
  const open = place.routes.some(({ route }) => route.cors);
  const options = mounted(
    {
      route: ownRoute('options', open, { headers: ['access-control-request-method'] }),
      handler: (request) => answerOptions(allow, open, request.header('access-control-request-method')),
    },
    [],
  );
  app.options(pattern, serve(state, options));
  const refusal = methodNotAllowed(methods, docs);
  const writeFailure = place.routes[0]?.writeFailure;
  const fields = place.routes[0]?.route.fields;
  const wrong = {
    route: ownRoute('method_not_allowed', open, fields === undefined ? {} : { fields }),
    handler: () => refusal,
    ...(writeFailure === undefined ? {} : { writeFailure }),
  };
  const refuse =
    (unserved: MountedRoute): Serve =>
    (response, request) =>
      new Exchange(state, unserved, response, request).refuse(refusal);
  // The answer to HEAD has no body on any path: a client takes what follows for the next answer.
  if (!methods.includes('HEAD')) app.head(pattern, refuse(mounted(wrong, [], true)));
  app.any(pattern, refuse(mounted(wrong, [])));
}

/** A callback of uWebSockets.js for requests. */
type Serve = (response: HttpResponse, request: HttpRequest) => void;

/** The callback for the requests of a route. */
function serve(state: ServerState, mounted: MountedRoute): Serve {
  const Kind = mounted.route.lineLimit === undefined ? Exchange : LineExchange;
  return (response, request) => new Kind(state, mounted, response, request).begin(request);
}

/**
 * Header lines of all answers of a route. A GET that is open to other origins varies by Origin and may be
 * cached.
 */
function routeLines(route: Route): string {
  return route.cors && route.method === 'GET' ? `${constantLines}\r\nvary: Origin` : constantLines;
}
