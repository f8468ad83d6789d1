/** A worker: its parts, the handlers bound to them, and its server. */
import { hostname } from 'node:os';
import type { Head } from '../access/address.js';
import { Access } from '../access/admission.js';
import type { UsageSource } from '../access/keyring.js';
import { keyUsage, usageReader } from '../access/keyUsage.js';
import { rotateKeys } from '../access/rotate.js';
import { KeyChanges, storedKeys, storedUsage, usageSubject } from '../access/stored.js';
import { keyTiers, type Tiers } from '../access/tiers.js';
import { startCheckout, type Checkout } from '../checkout/checkout.js';
import type { OpenedStore } from '../commands/withStore.js';
import type { Configuration } from '../configuration.js';
import type { Handler } from '../contract/exchange.js';
import { routes, type Handlers, type RouteLimit } from '../contract/routes.js';
import { ownerRequired } from '../search/corpora.js';
import { textEmbedding, type TextEmbedding } from '../explore/embedding.js';
import { indexedFrom, startExploration, type ExplorationProcess } from '../explore/exploration.js';
import { graph } from '../explore/graph.js';
import { exploreHandlers } from '../explore/handlers.js';
import { receiptHandlers } from '../receipts/handlers.js';
import { createPreviews } from '../receipts/previews.js';
import type { SubmitParts } from '../receipts/submit.js';
import { followTotal } from '../receipts/total.js';
import { admission, servedRoutes, type PipelineParts } from '../http/pipeline.js';
import type { ServedRoute } from '../http/routes.js';
import { createServer, workerLimits, type Server } from '../http/server.js';
import { banner, health } from '../info/banner.js';
import { limits, rateLimits, waitingLimits } from '../info/limits.js';
import { privacy } from '../info/privacy.js';
import { dataFolderCheck, nativeModuleCheck, ready, storeCheck } from '../info/ready.js';
import { SERVICE_VERSION, version } from '../info/version.js';
import { mcpHandler } from '../mcp/mcp.js';
import { toolRoutes, type AdmitTool } from '../mcp/tools.js';
import { isImmediate, type Embedder } from '../models/embedder.js';
import { storedEmbedder } from '../models/storedEmbeddings.js';
import { native } from '../native/addon.js';
import { click } from '../outreach/click.js';
import { ClickLog } from '../outreach/clickLog.js';
import { deliveryInterest, deliveryModels } from '../outreach/delivery.js';
import { leads } from '../outreach/leads.js';
import { optOut, optoutState, unsubscribe } from '../outreach/optout.js';
import { audit, auditStacks } from '../pages/audit.js';
import { buyPages } from '../pages/buy.js';
import { graphForAll } from '../pages/graph.js';
import { homeForAll } from '../pages/home.js';
import { logPage } from '../pages/log.js';
import { pageFile, type PageMaker } from '../pages/page.js';
import { receiptForAll } from '../pages/receipt.js';
import { unsubscribeForAll, unsubscribePage } from '../pages/unsubscribe.js';
import { usagePages } from '../pages/usage.js';
import { keylessEmbedDocs } from '../search/embedMode.js';
import type { WorkerServer } from '../processes/worker.js';
import { storedData } from '../store/retention.js';
import { isShared } from '../store/settings.js';
import type { Store } from '../store/store.js';
import { systemClock } from '../system/clock.js';
import { DiskReserve } from '../system/diskReserve.js';
import type { Log } from '../system/log.js';
import { systemRandomness } from '../system/randomness.js';
import { sendsTraces } from '../telemetry/settings.js';
import { openTracing } from '../telemetry/tracing.js';
import { auditOffLoop } from '../text/auditOffLoop.js';
import { normalizeHandler } from '../text/normalize.js';
import { searchParts, type SearchParts } from './embedMode.js';
import { rankingHandlers } from './ranking.js';
import { startBackground } from './background.js';
import { limitsFile, previewsFile, vectorsFile, withFile } from './folder.js';
import { getPage } from './outbound.js';
import { doorGuides, doorPage, gatewayPage, referencePages } from './pages.js';
import { openStoreAndSecrets } from './stores.js';
import { warmUp } from './warmUp.js';

/** Requests a minute per address, for each route with such a limit. */
function routeLimits(configuration: Configuration): Readonly<Record<RouteLimit, number>> {
  return {
    audits: configuration.auditsPerMinute,
    leads: configuration.leadsPerMinute,
    checkout: configuration.checkoutRequestsPerMinute,
    submissions: configuration.doorSubmissionsPerMinute,
    previews: configuration.previewsPerMinute,
    markers: configuration.harvestMarkersPerMinute,
    clicks: configuration.clicksPerMinute,
    explorations: configuration.explorationsPerMinute,
    polls: configuration.pollsPerMinute,
    pages: configuration.pagesPerMinute,
    cardEvents: configuration.cardEventsPerMinute,
  };
}

/** Usage in the store. */
function usageOf({ store, secrets }: OpenedStore): UsageSource {
  return storedUsage(store, (subject) => usageSubject(secrets, subject));
}

function buildAccess(configuration: Configuration, tiers: Tiers, opened: OpenedStore, log: Log): Access {
  return new Access({
    native: withFile(
      limitsFile(configuration.dataFolder),
      (path) => native.createLimits(path, systemRandomness(16)),
      (path) => new native.Access(path, keyTiers(tiers)),
      log,
    ),
    hashKey: native.hashKey,
    tiers,
    mode: configuration.access.mode,
    routeLimits: routeLimits(configuration),
    storedKbPerMinute: configuration.storedKbPerMinute,
    trustedProxies: configuration.trustedProxies,
    keys: storedKeys(opened.store),
    usage: usageOf(opened),
    clock: systemClock,
    log,
  });
}

/** Threads of one audit in a worker: an audit is free, and must not delay other requests. */
const auditThreads = 2;

/** Follows the fragments of the store, so that they can be explored. */
function exploration(
  { dataFolder, serve }: Configuration,
  { store }: OpenedStore,
  embedding: TextEmbedding,
  log: Log,
): ExplorationProcess {
  const { file, vectors } = withFile(
    vectorsFile(dataFolder),
    (path) => native.prepareVectors(path, embedding.method),
    (path) => ({ file: path, vectors: new native.Vectors(path, embedding.method, indexedFrom) }),
    log,
  );
  return startExploration({
    store,
    vectors,
    textEmbedding: embedding,
    visitorId: native.visitorId,
    isServed: serve.includes('explore'),
    takeLock: () => native.lockFile(`${file}.lock`, String(process.pid)) === null,
    clock: systemClock,
    randomness: systemRandomness,
    log,
  });
}

/** The fragment door's handlers. */
function door(
  configuration: Configuration,
  opened: OpenedStore & Pick<SubmitParts, 'room'>,
  { explore }: ExplorationProcess,
  log: Log,
) {
  const { dataFolder, doorPort, publicUrl, publicDoorUrl, trustedProxies, serve } = configuration;
  const kept = withFile(
    previewsFile(dataFolder),
    native.createPreviews,
    (path) => new native.Previews(path),
    log,
  );
  const shared = isShared(configuration) ? { shared: opened.store } : {};
  const previews = createPreviews({ native: kept, ...shared, clock: systemClock });
  const address = publicDoorUrl ?? (doorPort === null ? publicUrl : null);
  const receipts = receiptHandlers({
    ...opened,
    clock: systemClock,
    sealFragment: native.sealFragment,
    findShards: native.findShards,
    previews,
    address: { publicUrl: address, trustedProxies, serve },
    tree: native,
  });
  return { ...receipts, ...exploreHandlers(explore) };
}

/** The current limits of this installation. */
function limitsInForce(configuration: Configuration, tiers: Tiers): Handler {
  const { access, maxConnections, serve } = configuration;
  const byTime = rateLimits(tiers, routeLimits(configuration), keylessEmbedDocs(access.mode));
  const all = [...byTime, ...waitingLimits(configuration), ...workerLimits(maxConnections)];
  return limits(all, access, serve);
}

/**
 * Counts a tool's call as its route counts a request; on a route for keys the MCP call has counted already.
 */
function toolAdmission(pipeline: PipelineParts): AdmitTool {
  const free = { refusal: undefined, charge: () => undefined };
  const limited = new Map(
    toolRoutes.map((id) => [
      id,
      routes[id].access === 'key' ? undefined : admission({ ...routes[id] }, pipeline),
    ]),
  );
  return (id, request) => {
    const head: Head = {
      field: (name) => request.header(name),
      allOf: (name) => request.header(name),
      peer: () => request.peer(),
      isHead: () => false,
    };
    const admitted = limited.get(id)?.(head) ?? free;
    if (admitted instanceof Promise) throw new Error(`The limit of ${id} needs a store`);
    return admitted;
  };
}

/** The handler of the tools, over those of the routes. */
function toolsHandler(
  { serve, publicUrl }: Configuration,
  bound: Omit<Handlers, 'mcp'>,
  pipeline: PipelineParts,
): Handlers['mcp'] {
  const admit = toolAdmission(pipeline);
  return mcpHandler({ ...native, handlers: bound, admit, serve, publicUrl, version: SERVICE_VERSION });
}

/** The routes for holders of keys. */
type HolderRoute = 'usage' | 'usagePage' | 'usageShown' | 'rotateKey';

/** Their handlers. */
function holderHandlers(
  tiers: Tiers,
  opened: OpenedStore,
  access: Access,
  page: PageMaker,
  log: Log,
): Pick<Handlers, HolderRoute> {
  const holder = { access, keys: storedKeys(opened.store), hashKey: native.hashKey };
  const { store, secrets } = opened;
  const making = { store, secret: secrets[0], randomness: systemRandomness, format: native };
  const usage = { ...holder, usage: usageOf(opened), tiers, clock: systemClock };
  return {
    usage: keyUsage(usage),
    ...usagePages(usageReader(usage), page),
    rotateKey: rotateKeys({ ...holder, issue: { ...making, clock: systemClock }, log }),
  };
}

/** The door's handlers, with its pages for browsers. */
function doorForAll(
  configuration: Configuration,
  opened: OpenedStore & Pick<SubmitParts, 'room'>,
  explorer: ExplorationProcess,
  page: PageMaker,
  log: Log,
) {
  const bound = door(configuration, opened, explorer, log);
  const ofDoor = doorPage(configuration, page);
  const witnesses = (configuration.witnesses?.witnesses ?? []).map(({ key }) => key);
  return {
    ...bound,
    receipt: receiptForAll(opened, bound.receipt, ofDoor),
    logPage: logPage(opened, witnesses, ofDoor),
    graph: graphForAll(explorer.explore, graph(explorer.explore), ofDoor),
  };
}

/** The handlers of all other routes except the tools, bound to their parts. */
function handlers(
  configuration: Configuration,
  tiers: Tiers,
  opened: OpenedStore & Pick<SubmitParts, 'room'>,
  clicks: ClickLog,
  checkout: Checkout,
  explorer: ExplorationProcess,
  search: SearchParts,
  page: PageMaker,
  log: Log,
): Omit<Handlers, 'mcp' | HolderRoute> {
  const { store, secrets } = opened;
  const storing = { ...opened, clock: systemClock };
  const { operator } = configuration;
  const offered = search.embedMode.models.map((model) => ({ id: model.id, immediate: isImmediate(model) }));
  const checks = [
    dataFolderCheck(configuration.dataFolder),
    storeCheck(store),
    nativeModuleCheck(native.version, SERVICE_VERSION),
  ];
  const normalize = normalizeHandler(native);
  return {
    ...rankingHandlers(configuration, opened, search),
    ...checkout.handlers,
    normalize,
    normalizeBatch: normalize,
    audit: audit({ ...native, clock: systemClock, auditOffLoop: auditOffLoop(native, auditThreads) }),
    auditStacks,
    leads: leads(storing),
    deliveryModels: deliveryModels(operator),
    deliveryInterest: deliveryInterest(storing, operator),
    ...buyPages(checkout.shop, checkout.pickUpCard, operator, page),
    unsubscribePage: unsubscribePage(optoutState(opened), page),
    unsubscribe: unsubscribeForAll(optOut(storing), unsubscribe(storing), page),
    click: click({
      ...configuration,
      secrets,
      clock: systemClock,
      record: (each, address) => clicks.record(each, address),
    }),
    ...doorForAll(configuration, opened, explorer, page, log),
    banner: homeForAll(offered, banner, page, configuration.serve),
    health,
    ready: ready({ checks, warn: checkout.warnings, clock: systemClock, log }),
    version: version({ native: native.version(), unicode: native.unicodeVersion() }),
    privacy: privacy(
      storedData({ ...configuration, isStoreShared: isShared(configuration) }),
      sendsTraces(configuration),
    ),
    limits: limitsInForce(configuration, tiers),
    ...referencePages(configuration, page),
    pageFile: pageFile(),
  };
}

/** Time for the last writes to the store before the process ends without them (ms). */
const lastFlushMs = 3_000;

/** Disk space: for anonymous writes, and for fragments. */
function storageRoom({ dataFolder, diskReserveMb, doorMaxGb }: Configuration, store: Store, log: Log) {
  const any = { clock: systemClock, log };
  const bytes = diskReserveMb === null ? null : diskReserveMb * 1_000_000;
  const reserve = new DiskReserve({ ...any, folder: dataFolder, bytes });
  const fragments = followTotal({ ...any, store, mostBytes: doorMaxGb * 1_000_000_000 });
  return {
    isStorageReserved: reserve.isReserved,
    fragments,
    stop() {
      reserve.stop();
      fragments.stop();
    },
  };
}

/** Unless access is open, storing routes for keys refuse callers without a key before their body arrives. */
function keylessStoring({ access }: Configuration): Pick<PipelineParts, 'refuseKeyless'> {
  return access.mode === 'open' ? {} : { refuseKeyless: ownerRequired };
}

/** The routes of a door with its own address, with guides of their own; empty if it has none. */
function doorRoutes(configuration: Configuration, all: Handlers, parts: PipelineParts): ServedRoute[] {
  if (configuration.doorPort === null) return [];
  return servedRoutes({ ...all, ...doorGuides(configuration) }, parts, ['door'], configuration.serve);
}

/** Dependencies of the checkout. */
type CheckoutParts = Parameters<typeof startCheckout>[0];

/** The checkout; its warnings include those about how requests arrive. */
async function checkoutOf(
  configuration: Configuration,
  tiers: Tiers,
  upkeep: Pick<CheckoutParts, 'store' | 'secrets' | 'clock' | 'log' | 'holder'>,
  access: Access,
  isStorageReserved: () => boolean,
): Promise<Checkout> {
  const checkout = await startCheckout({
    ...upkeep,
    ...{ configuration, tiers, getPage, randomness: systemRandomness, keyFormat: native },
    mayLook: access.mayLookUp,
    isStorageReserved,
    isServed: configuration.serve.includes('checkout'),
  });
  return { ...checkout, warnings: async () => [...(await checkout.warnings()), ...access.warnings()] };
}

/** A server's drain, after which `end` is called once. */
function endingAfter(drain: Server['drain'], end: () => Promise<void>): Server['drain'] {
  let ended: Promise<void> | undefined;
  return async (timeoutMs, untilClosed) => {
    const drained = await drain(timeoutMs, untilClosed);
    ended ??= end();
    await ended;
    return drained;
  };
}

/** The metrics of parts, one after the other. */
function metricsOf(parts: readonly Pick<Server, 'metrics'>[]): ReturnType<Server['metrics']> {
  return parts.flatMap((part) => part.metrics());
}

/** Parts of the contract at the server's own address. */
function partsAt({ doorPort }: Configuration): readonly ('gateway' | 'door')[] {
  return doorPort === null ? ['gateway', 'door'] : ['gateway'];
}

/** Builds a worker's server. @throws Error with a sentence that says why it cannot serve */
export async function buildServer(
  configuration: Configuration,
  tiers: Tiers,
  embedder: Embedder,
  isReplacement: boolean,
  log: Log,
): Promise<WorkerServer> {
  const parts = { clock: systemClock, randomness: systemRandomness, log };
  const hasStages = configuration.serverTiming === 'stages';
  const tracing = await openTracing(configuration, { ...parts, version: SERVICE_VERSION, hasStages });
  const { tracer } = tracing;
  const opened = await openStoreAndSecrets(configuration, log, systemRandomness, { tracer, isReplacement });
  if ('refused' in opened) throw new Error(opened.refused);
  const room = storageRoom(configuration, opened.store, log);
  const access = buildAccess(configuration, tiers, opened, log);
  const mayStore = (...what: [Uint8Array, number]) => access.store('clicks', ...what) === undefined;
  const clicks = new ClickLog({ ...opened, ...room, clock: systemClock, log, mayStore });
  const graceMs = configuration.keyGraceMinutes * 60_000;
  const keyChanges = new KeyChanges({ ...opened, clock: systemClock, watcher: access, graceMs, log });
  const upkeep = { ...opened, clock: systemClock, log, holder: `${hostname()} ${process.pid}` };
  const background = startBackground(configuration, upkeep, tracer);
  const checkout = await checkoutOf(configuration, tiers, upkeep, access, room.isStorageReserved);
  const stored = storedEmbedder(embedder, { ...upkeep, readBytesPerToken: native.readBytesPerToken() });
  const embedding = configuration.embedCacheStore ? stored : embedder;
  const named = { ...upkeep, ...room, hashKey: access.holderOf };
  const search = await searchParts(configuration, embedding, named);
  const { embedMode, corpora, profiles } = search;
  const explorer = exploration(configuration, opened, textEmbedding(embedder.models, embedMode.dense), log);
  const page = gatewayPage(configuration);
  const door = { ...opened, room: room.fragments };
  const rest = handlers(configuration, tiers, door, clicks, checkout, explorer, search, page, log);
  const bound = { ...rest, ...holderHandlers(tiers, opened, access, page, log) };
  const pipeline = { ...native, access, ...room, ...keylessStoring(configuration), page };
  const all = { ...bound, mcp: toolsHandler(configuration, bound, pipeline) };
  const routes = servedRoutes(all, pipeline, partsAt(configuration), configuration.serve);
  const server = createServer({
    routes,
    doorRoutes: doorRoutes(configuration, all, pipeline),
    ...parts,
    trustedProxies: configuration.trustedProxies,
    page,
    ...(tracer === undefined ? {} : { tracer }),
    timing: configuration.serverTiming,
    limits: { maxConnections: configuration.maxConnections, workers: configuration.workers },
  });
  keyChanges.start();
  const end = async (): Promise<void> => {
    for (const each of [keyChanges, profiles, room]) each.stop();
    const stopped = [background, checkout, explorer, corpora].map((each) => each.stop());
    const closed = Promise.all([...stopped, stored.settled(), clicks.close(), access.close()]);
    await Promise.race([closed.then(() => opened.store.close()), systemClock.sleep(lastFlushMs)]);
    await tracing.close();
  };
  return {
    listen: server.listen,
    metrics: () => metricsOf([server, clicks, access, explorer, embedMode, stored, background, tracing]),
    warmUp: () => warmUp(routes),
    drain: endingAfter(server.drain, end),
  };
}
