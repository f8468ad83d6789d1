/** A server of the fragment door alone, on a store and previews of its own. */
import { join } from 'node:path';
import { after } from 'node:test';
import type { ValidationError } from '../../src/contract/schema/validation.js';
import { routeList, type RouteOf } from '../../src/contract/routes.js';
import { exploreHandlers } from '../../src/explore/handlers.js';
import { receiptHandlers } from '../../src/receipts/handlers.js';
import { textEmbedding } from '../../src/explore/embedding.js';
import { indexedFrom, startExploration, type ExplorationProcess } from '../../src/explore/exploration.js';
import { createPreviews } from '../../src/receipts/previews.js';
import { endlessRoom, type FragmentRoom } from '../../src/receipts/total.js';
import { servedRoute } from '../../src/http/pipeline.js';
import type { ServerLimits } from '../../src/http/server.js';
import { native } from '../../src/native/addon.js';
import { graphForAll } from '../../src/pages/graph.js';
import { logPage } from '../../src/pages/log.js';
import { pageFile } from '../../src/pages/page.js';
import { receiptForAll } from '../../src/pages/receipt.js';
import type { Store } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { openTiers, testAccess, type TestAccessParts } from './access.js';
import { startServer } from './http.js';
import { exchange, head, post, type RawResponse } from './raw.js';
import { memoryFolder } from './run.js';
import { staticMode, staticModel } from './embedding.js';
import { until } from './until.js';

/** What a test may set. */
export interface DoorOptions {
  readonly store: Store;
  /** Limits by address; none where absent. */
  readonly routeLimits?: TestAccessParts['routeLimits'];
  readonly limits?: Partial<ServerLimits>;
  /** Wall time (ms). */
  readonly wallMs?: () => number;
  /** The file of the previews, so that several servers share it. */
  readonly previewsFile?: string;
  /** Whether previews are kept in the store, too, for other machines. */
  readonly isStoreShared?: boolean;
  /** The exploration that answers; one of its own where absent. */
  readonly exploration?: ExplorationProcess;
  readonly isStorageReserved?: () => boolean;
  readonly room?: FragmentRoom;
}

/** What a test may set of an exploration. */
export interface ExplorationOptions {
  readonly store: Store;
  /** The file of the vectors, so that several share it. */
  readonly file?: string;
  /** Fragments from which on there is an index. */
  readonly indexedFrom?: number;
  /** What the log says, by its levels. */
  readonly told?: string[];
  /** The time that decides how old a list in the cache is. */
  readonly monotonicMs?: () => number;
}

/** What makes the vectors of fragments. */
export const embedding = textEmbedding([staticModel], staticMode().dense);

/** A file of vectors that is removed when the tests are over. */
export function vectorsFile(): string {
  const file = join(memoryFolder(), 'vectors');
  native.prepareVectors(file, embedding.method);
  return file;
}

/** Starts to explore a store; stopped when the tests are over. */
export function startTestExploration(options: ExplorationOptions): ExplorationProcess {
  const { store, file = vectorsFile(), told = [] } = options;
  const exploration = startExploration({
    store,
    vectors: new native.Vectors(file, embedding.method, options.indexedFrom ?? indexedFrom),
    textEmbedding: embedding,
    visitorId: native.visitorId,
    takeLock: () => native.lockFile(`${file}.lock`, 'test') === null,
    clock: { ...systemClock, monotonicMs: options.monotonicMs ?? systemClock.monotonicMs },
    randomness: systemRandomness,
    log: {
      info: (_, message) => void told.push(`info: ${message}`),
      warn: (_, message) => void told.push(`warn: ${message}`),
    },
  });
  after(() => exploration.stop());
  return exploration;
}

/** Waits until an exploration has all that is in the store's log. */
export async function explored({ explore }: ExplorationProcess): Promise<void> {
  const last = await explore.store.last('fragments');
  await until(() => explore.vectors.state().position >= last);
}

/** A file of previews that is removed when the tests are over. */
export function previewsFile(): string {
  const file = join(memoryFolder(), 'previews');
  native.createPreviews(file);
  return file;
}

/** An answer's status, header fields and JSON. */
export interface DoorAnswer<Body = Record<string, unknown>> {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Body;
}

/** A client of a door. */
export interface DoorClient {
  readonly port: number;
  /** Problem codes that came, by route and status. */
  readonly sent: Map<string, Set<string>>;
  /** Posts JSON (or bytes as they are) to a path. */
  readonly post: <Body = Record<string, unknown>>(
    path: string,
    body: unknown,
    fields?: Readonly<Record<string, string>>,
  ) => Promise<DoorAnswer<Body>>;
  /** Asks for a target; `query` is encoded. */
  readonly get: <Body = Record<string, unknown>>(
    path: string,
    query?: Readonly<Record<string, string>>,
    fields?: Readonly<Record<string, string>>,
  ) => Promise<DoorAnswer<Body>>;
}

/** The template of the route that a path is of, itself where it has none. */
function templateOf(path: string): string {
  const fits = (template: string): boolean =>
    new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path);
  const templates = routeList.map((route) => route.path);
  return templates.find((template) => template === path) ?? templates.find(fits) ?? path;
}

/** A client of the door at a port. */
export function doorClient(port: number): DoorClient {
  const sent = new Map<string, Set<string>>();
  const read = <Body>(method: string, path: string, response: RawResponse): DoorAnswer<Body> => {
    const body = JSON.parse(response.body.toString()) as { code?: string };
    if (body.code !== undefined) {
      const key = `${method} ${templateOf(path)} ${response.status}`;
      sent.set(key, (sent.get(key) ?? new Set()).add(body.code));
    }
    return { status: response.status, headers: response.headers, body: body as Body };
  };
  return {
    port,
    sent,
    async post(path, body, fields = {}) {
      const bytes = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
      const given = { 'Content-Type': 'application/json', ...fields };
      return read('POST', path, await exchange(port, post(path, bytes, given)));
    },
    async get(path, query = {}, fields = {}) {
      const search = new URLSearchParams(query).toString();
      const target = search === '' ? path : `${path}?${search}`;
      return read('GET', path, await exchange(port, head('GET', target, fields)));
    },
  };
}

/** Starts a door; it is drained when the tests are over. */
export async function startDoor({ store, routeLimits, limits, ...rest }: DoorOptions): Promise<DoorClient> {
  const clock = { ...systemClock, wallMs: rest.wallMs ?? systemClock.wallMs };
  const { explore } = rest.exploration ?? startTestExploration({ store });
  const receipts = receiptHandlers({
    store,
    clock,
    sealFragment: native.sealFragment,
    room: rest.room ?? endlessRoom,
    findShards: native.findShards,
    previews: createPreviews({
      native: new native.Previews(rest.previewsFile ?? previewsFile()),
      ...(rest.isStoreShared === true ? { shared: store } : {}),
      clock,
    }),
    address: { publicUrl: null, trustedProxies: [] },
    tree: native,
  });
  const handlers = { ...receipts, ...exploreHandlers(explore) };
  const pages = {
    pageFile: pageFile(),
    graph: graphForAll(explore, handlers.graph),
    receipt: receiptForAll({ store }, handlers.receipt),
    logPage: logPage({ store }, []),
  };
  const none = { submissions: 0, markers: 0, previews: 0, explorations: 0, pages: 0 };
  const access = testAccess({ tiers: openTiers(), routeLimits: { ...none, ...routeLimits } });
  const parts = {
    ...native,
    access,
    isStorageReserved: rest.isStorageReserved ?? (() => false),
  };
  const routes = routeList
    .filter((route) => route.part === 'door' || route.everywhere === true)
    .map((route) => {
      const id = route.id as RouteOf<'door'> | 'pageFile';
      return servedRoute(route, { ...handlers, ...pages }[id], parts);
    });
  const { port } = await startServer({ routes, ...(limits === undefined ? {} : { limits }) });
  return doorClient(port);
}

/** Types and places of a 422's errors. */
export function placesOf({ body }: DoorAnswer): string[] {
  const errors = body['detail'] as ValidationError[];
  return errors.map(({ type, loc }) => `${type} ${loc.join('.')}`);
}
