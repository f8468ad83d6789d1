/** Composition root: builds the parts, binds the handlers to them and hands both to a command. */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { createAccess, keyTiers, type Access } from './access/admission.js';
import { KeyChanges, storedKeys, storedUsage } from './access/stored.js';
import { readTiers, type Tiers } from './access/tiers.js';
import { readAccount } from './checkout/addresses.js';
import { addressSentence } from './checkout/freshAddresses.js';
import { startCheckout, type Checkout } from './checkout/checkout.js';
import { addAudit, type AuditCommandParts } from './commands/audit.js';
import { addBackup } from './commands/backup.js';
import { addClick } from './commands/click.js';
import { addDoctor } from './commands/doctor.js';
import { addExports } from './commands/export.js';
import { addForget } from './commands/forget.js';
import { addKeys, type KeysParts } from './commands/keys.js';
import { addModels } from './commands/models.js';
import { addNormalize, type NormalizeCommandParts } from './commands/normalize.js';
import { addOrders } from './commands/orders.js';
import { addReceipts } from './commands/receipts.js';
import { addOptout } from './commands/optout.js';
import { embedderCommand, runProgram, workerCommand } from './commands/program.js';
import {
  serve,
  type ServeOrder,
  type ServeOutcome,
  type ServeParts,
  type TiersConfiguration,
} from './commands/serve.js';
import { readLines, terminal, writeOutput } from './commands/terminal.js';
import type { OpenedStore } from './commands/withStore.js';
import { storeCopy } from './commands/storeCopy.js';
import type { Handlers, RouteLimit } from './contract/routes.js';
import { graph } from './door/graph.js';
import { doorHandlers } from './door/handlers.js';
import { exploringMethod, exploringModel, textEmbedding, type TextEmbedding } from './door/embedding.js';
import { startExploration, type ExplorationProcess } from './door/exploration.js';
import { loadHnsw } from './door/nearestIndex.js';
import { createPreviews } from './door/previews.js';
import { servedRoutes } from './http/pipeline.js';
import { createServer, workerLimits, type Server } from './http/server.js';
import { banner, health } from './info/banner.js';
import { limits, rateLimits } from './info/limits.js';
import { openapi } from './info/openapi.js';
import { privacy } from './info/privacy.js';
import { dataFolderCheck, nativeModuleCheck, ready, storeCheck } from './info/ready.js';
import { SERVICE_VERSION, version } from './info/version.js';
import type { Embedder, InstalledModel } from './models/embedder.js';
import { defaultModel, modelNames, readModels, type FoundModels } from './models/modelFolder.js';
import type { SessionResult } from './models/session.js';
import { removeEmbeddings, storedEmbedder } from './models/storedEmbeddings.js';
import { native } from './native/addon.js';
import { click } from './outreach/click.js';
import { ClickLog } from './outreach/clickLog.js';
import { deliveryInterest, deliveryModels } from './outreach/delivery.js';
import { leads } from './outreach/leads.js';
import { optoutState, unsubscribe } from './outreach/optout.js';
import { graphForAll } from './pages/graph.js';
import { audit, auditStacks } from './pages/audit.js';
import { buyPages } from './pages/buy.js';
import { docsHandlers } from './pages/docs.js';
import { pageFile } from './pages/page.js';
import { unsubscribePage } from './pages/unsubscribe.js';
import { takeDataFolder } from './processes/folder.js';
import { runEmbedder } from './processes/embedderProcess.js';
import { runParent } from './processes/parent.js';
import { runWorker } from './processes/worker.js';
import { denseModel, openEmbedMode, type EmbedMode } from './search/embedMode.js';
import { fuseHandler } from './search/fuse.js';
import { exactOffLoop } from './search/offLoop.js';
import { missingStore, openStore, parseStoreUrl } from './store/open.js';
import { removeExpired, storedData } from './store/retention.js';
import { openSecrets } from './store/secrets.js';
import type { Reading, Store } from './store/store.js';
import { startSweep, type SweepParts } from './store/sweep.js';
import { removeRates } from './store/rates.js';
import { unitIds } from './store/unitId.js';
import { removeOldUsage } from './store/usage.js';
import { auditOffLoop } from './text/auditOffLoop.js';
import { normalizeHandler } from './text/normalize.js';
import { derive } from './system/masterSecret.js';
import { systemClock } from './system/clock.js';
import { installedModelsFolder, type Configuration } from './system/configuration.js';
import { DiskReserve } from './system/diskReserve.js';
import { createLog, type Log } from './system/log.js';
import { systemRandomness, type Randomness } from './system/randomness.js';

/** How long requests in flight are waited for when told to stop (ms). */
const drainMs = 10_000;

/**
 * Opens the store and the secrets that fit it. `randomness`: makes the first secret where there is none,
 * which is left to the operator where several machines share a store.
 */
async function openStoreAndSecrets(
  { storeUrl, dataFolder, masterSecrets }: Configuration,
  log: Log,
  randomness: Randomness | undefined,
): Promise<OpenedStore | { readonly refused: string }> {
  const parts = { clock: systemClock, randomness: systemRandomness, log };
  const opened = await openStore(storeUrl, parts);
  if (opened.kind === 'unavailable') return { refused: opened.reason };
  const { store } = opened;
  const newUnitId = unitIds(systemClock, systemRandomness);
  const sources = { configured: masterSecrets, dataFolder, randomness };
  const found = await openSecrets(store, newUnitId, sources);
  if ('secrets' in found) return { store, newUnitId, secrets: found.secrets };
  await store.close();
  return found;
}

/** The file of the data folder that holds the machine's limits. */
const limitsFile = (dataFolder: string): string => join(dataFolder, 'limits');

/** The file of the data folder that holds the machine's previews of fragments. */
const previewsFile = (dataFolder: string): string => join(dataFolder, 'previews');

/** The file of the data folder that holds the vectors of the fragments. */
const vectorsFile = (dataFolder: string): string => join(dataFolder, 'vectors');

/** The file of the data folder that holds the vectors of texts that models have computed. */
const embeddingsFile = (dataFolder: string): string => join(dataFolder, 'embeddings');

/** What the files of the data folder are made for. */
interface FolderParts {
  readonly configuration: Configuration;
  readonly models: readonly InstalledModel[];
  readonly method: string;
  readonly log: Log;
}

/** Makes what the workers need in the data folder, which is locked. @throws Error when it cannot. */
function prepareFolder({ configuration, models, method, log }: FolderParts): void {
  const { dataFolder, embedCacheMb } = configuration;
  native.createLimits(limitsFile(dataFolder), systemRandomness(16));
  native.createPreviews(previewsFile(dataFolder));
  if (!native.prepareVectors(vectorsFile(dataFolder), method)) {
    log.info({ method }, 'fragments get new vectors: those of the file were made in another way');
  }
  const dimensions = models.filter(({ kind }) => kind === 'onnx').map(({ dimension }) => dimension);
  prepareEmbeddings(embeddingsFile(dataFolder), embedCacheMb, Math.max(1, ...dimensions), log);
}

/** Makes the cache of embeddings, or leaves none behind: without one texts are computed each time. */
function prepareEmbeddings(file: string, megabytes: number, dimension: number, log: Log): void {
  if (megabytes === 0) {
    rmSync(file, { force: true });
    return;
  }
  try {
    native.prepareEmbeddings(file, megabytes * 2 ** 20, dimension);
  } catch (error) {
    rmSync(file, { force: true });
    const reason = error instanceof Error ? error.message : String(error);
    log.warn({ file, megabytes, reason }, 'computed vectors are not kept: EMBED_CACHE_MB does not fit here');
  }
}

/** Requests a minute and address of the routes that have such a limit. */
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

function buildAccess(configuration: Configuration, tiers: Tiers, opened: OpenedStore, log: Log): Access {
  const { store, newUnitId, secrets } = opened;
  // The oldest secret: usage stays what it is when a new one is put before it.
  const oldest = secrets.at(-1) ?? secrets[0];
  return createAccess({
    native: new native.Access(limitsFile(configuration.dataFolder), keyTiers(tiers)),
    hashKey: native.hashKey,
    tiers,
    routeLimits: routeLimits(configuration),
    trustedProxies: configuration.trustedProxies,
    keys: storedKeys(store),
    usage: storedUsage(store, newUnitId, (subject) =>
      derive(oldest, 'usage', Buffer.from(subject).toString('hex')),
    ),
    clock: systemClock,
    log,
  });
}

/** Threads of one audit in a worker: an audit is free, and must not keep other requests waiting. */
const auditThreads = 2;

/** How long a source of rates has for its answer (ms). */
const rateMs = 3_000;

/** Gets a page; rejects where its status is not 200 or it takes too long. */
async function getPage(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(rateMs), redirect: 'error' });
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  return response.text();
}

/** Follows the fragments of the store, so that they can be explored. */
function exploration(
  { dataFolder }: Configuration,
  { store }: OpenedStore,
  embedding: TextEmbedding,
  log: Log,
): ExplorationProcess {
  const file = vectorsFile(dataFolder);
  return startExploration({
    store,
    vectorsFile: file,
    vectors: new native.Vectors(file, embedding.method),
    textEmbedding: embedding,
    visitorId: native.visitorId,
    takeLock: () => native.lockFile(`${file}.lock`, String(process.pid)) === null,
    clock: systemClock,
    randomness: systemRandomness,
    log,
  });
}

/** The fragment door's handlers. */
function door(
  configuration: Configuration,
  opened: OpenedStore,
  { explore }: ExplorationProcess,
): ReturnType<typeof doorHandlers> {
  const { dataFolder, doorPort, publicUrl, publicDoorUrl, trustedProxies } = configuration;
  const previews = createPreviews(new native.Previews(previewsFile(dataFolder)), systemClock);
  const address = publicDoorUrl ?? (doorPort === null ? publicUrl : null);
  return doorHandlers({
    ...opened,
    clock: systemClock,
    sealFragment: native.sealFragment,
    findShards: native.findShards,
    previews,
    address: { publicUrl: address, trustedProxies },
    explore,
  });
}

/** The models as POST /v1/fuse has them. */
function embedModeOf({ embedModel, dataFolder }: Configuration, embedder: Embedder): EmbedMode {
  const fallback = defaultModel(embedder.models, embedModel)?.id;
  const file = embeddingsFile(dataFolder);
  return openEmbedMode({ ...native, embedder, fallback, cacheFile: existsSync(file) ? file : null });
}

/** Every route's handler, bound to its parts. */
function handlers(
  configuration: Configuration,
  tiers: Tiers,
  opened: OpenedStore,
  clicks: ClickLog,
  checkout: Checkout,
  explorer: ExplorationProcess,
  embedMode: EmbedMode,
  log: Log,
): Handlers {
  const { store, secrets } = opened;
  const storing = { ...opened, clock: systemClock };
  const checks = [
    dataFolderCheck(configuration.dataFolder),
    storeCheck(store),
    nativeModuleCheck(native.version, SERVICE_VERSION),
  ];
  return {
    fuse: fuseHandler({ ...native, answerExactlyOffLoop: exactOffLoop(), embedMode }),
    ...checkout.handlers,
    normalize: normalizeHandler(native),
    audit: audit({ ...native, clock: systemClock, auditOffLoop: auditOffLoop(auditThreads) }),
    auditStacks,
    leads: leads(storing),
    deliveryModels,
    deliveryInterest: deliveryInterest(storing),
    ...buyPages(checkout.handlers, checkout.pickUpCard),
    unsubscribePage: unsubscribePage(optoutState(opened)),
    unsubscribe: unsubscribe(storing),
    click: click({
      ...configuration,
      secrets,
      clock: systemClock,
      record: (each) => clicks.record(each),
    }),
    ...door(configuration, opened, explorer),
    graph: graphForAll(explorer.explore, graph(explorer.explore)),
    banner,
    health,
    ready: ready({ checks, warn: checkout.warnings, clock: systemClock, log }),
    version: version({ native: native.version(), unicode: native.unicodeVersion() }),
    privacy: privacy(storedData(configuration)),
    limits: limits([
      ...rateLimits(tiers, routeLimits(configuration)),
      ...workerLimits(configuration.maxConnections),
    ]),
    openapi: openapi(),
    ...docsHandlers(),
    pageFile: pageFile(),
  };
}

/** How long the store may take with what is left for it, before the process ends without it (ms). */
const lastFlushMs = 3_000;

/** How long the doctor waits for the server's answer (ms). */
const askMs = 5_000;

const dayMs = 86_400_000;

/** Past rates are kept as long as a card session may end after it was made, and some days. */
const keptRatesDays = 8;

/** Removes what is older than it is kept; the usage of past months, which is all read for it, once a day. */
function expiry(
  configuration: Configuration,
  { store, newUnitId }: OpenedStore,
): SweepParts['removeExpired'] {
  let usageMs = -Infinity;
  return async () => {
    const nowMs = systemClock.wallMs();
    const rates = await removeRates(store, newUnitId, nowMs - keptRatesDays * dayMs);
    if (rates.kind === 'unavailable') return rates;
    const vectors = await removeEmbeddings(store, nowMs);
    if (vectors.kind === 'unavailable') return vectors;
    const expired = await removeExpired(store, configuration, nowMs);
    if (expired.kind === 'unavailable' || systemClock.monotonicMs() - usageMs < dayMs) return expired;
    usageMs = systemClock.monotonicMs();
    const usage = await removeOldUsage(store, newUnitId, nowMs);
    return usage.kind === 'unavailable' ? usage : { kind: 'read', value: expired.value + usage.value };
  };
}

/** What is kept of the disk that holds the data folder. */
function diskReserve({ dataFolder, diskReserveMb }: Configuration, log: Log): DiskReserve {
  const bytes = diskReserveMb === null ? null : diskReserveMb * 1_000_000;
  return new DiskReserve({ folder: dataFolder, bytes, clock: systemClock, log });
}

/** @throws Error with the sentence that says why a worker cannot serve */
async function buildServer(configuration: Configuration, tiers: Tiers, embedder: Embedder): Promise<Server> {
  const log = createLog(configuration.logLevel);
  const opened = await openStoreAndSecrets(configuration, log, systemRandomness);
  if ('refused' in opened) throw new Error(opened.refused);
  const reserve = diskReserve(configuration, log);
  const clicks = new ClickLog({
    ...opened,
    clock: systemClock,
    log,
    isStorageReserved: reserve.isReserved,
  });
  const access = buildAccess(configuration, tiers, opened, log);
  const keyChanges = new KeyChanges(opened.store, systemClock, access);
  const holder = `${hostname()} ${process.pid}`;
  const sweep = startSweep({
    ...opened,
    clock: systemClock,
    log,
    holder,
    removeExpired: expiry(configuration, opened),
  });
  const checkout = startCheckout({
    ...opened,
    configuration,
    tiers,
    clock: systemClock,
    randomness: systemRandomness,
    keyFormat: native,
    log,
    holder,
    getPage,
  });
  const stored = storedEmbedder(embedder, { ...opened, clock: systemClock, log });
  const embedMode = embedModeOf(configuration, configuration.embedCacheStore ? stored : embedder);
  const explorer = exploration(configuration, opened, textEmbedding(embedder.models, embedMode.dense), log);
  const bound = handlers(configuration, tiers, opened, clicks, checkout, explorer, embedMode, log);
  const pipeline = { checkJson: native.checkJson, access, isStorageReserved: reserve.isReserved };
  const isMoved = configuration.doorPort !== null;
  const server = createServer({
    routes: servedRoutes(bound, pipeline, isMoved ? ['gateway'] : ['gateway', 'door']),
    doorRoutes: isMoved ? servedRoutes(bound, pipeline, ['door']) : [],
    clock: systemClock,
    log,
    randomness: systemRandomness,
    trustedProxies: configuration.trustedProxies,
    limits: { maxConnections: configuration.maxConnections, workers: configuration.workers },
  });
  keyChanges.start();
  return {
    listen: server.listen,
    metrics: () => [server, clicks, access, explorer, embedMode, stored].flatMap((part) => part.metrics()),
    async drain(timeoutMs) {
      const drained = await server.drain(timeoutMs);
      keyChanges.stop();
      reserve.stop();
      const parts = [sweep.stop(), checkout.stop(), explorer.stop(), clicks.close(), access.close()];
      const last = Promise.all([...parts, stored.settled()]).then(() => opened.store.close());
      await Promise.race([last, systemClock.sleep(lastFlushMs)]);
      return drained;
    },
  };
}

/** Opens the store of a server that has run before; the commands make none. */
async function openExistingStore(
  configuration: Configuration,
): Promise<OpenedStore | { readonly refused: string }> {
  const parsed = parseStoreUrl(configuration.storeUrl);
  const missing = 'wrong' in parsed ? undefined : missingStore(parsed.location);
  if (missing?.kind === 'unreadable') return { refused: missing.reason };
  if (missing !== undefined) {
    return { refused: `${missing.reason} Start the server once, or set STORE_URL as it has it.` };
  }
  return openStoreAndSecrets(configuration, createLog('silent'), undefined);
}

function notInstalled(id: string, installed: readonly string[]): string {
  const ids = installed.join(', ');
  return `EMBED_MODEL names ${id}, which is not installed (installed: ${ids}). See fusegate models add -h.`;
}

/** What is wrong with the key that addresses are derived from. */
function wrongAccount({ btcXpub, btcNetwork }: Partial<Configuration>): string[] {
  if (btcXpub === undefined || btcXpub === null || btcNetwork === undefined) return [];
  const read = readAccount(btcXpub, btcNetwork);
  return 'wrong' in read ? [`BTC_XPUB ${read.wrong}.`] : [];
}

/** Where the addresses of the configured account stand in a store. */
function addressSentenceOf(
  { btcXpub, btcNetwork }: Configuration,
  store: Store,
): Promise<Reading<string>> | undefined {
  const read = btcXpub === null ? undefined : readAccount(btcXpub, btcNetwork);
  return read !== undefined && 'account' in read ? addressSentence(store, read.account) : undefined;
}

/** What is wrong with the model that EMBED_MODEL names, told by the names of folders alone. */
async function wrongModelName(partial: Partial<Configuration>): Promise<string[]> {
  const { embedModel, modelsFolder, dataFolder } = partial;
  if (embedModel === undefined || embedModel === null) return [];
  if (modelsFolder === undefined || dataFolder === undefined) return [];
  const folders = [installedModelsFolder({ modelsFolder, dataFolder }), shippedModels];
  try {
    const ids = new Set((await Promise.all(folders.map(modelNames))).flat());
    return ids.has(embedModel) ? [] : [notInstalled(embedModel, [...ids])];
  } catch {
    // A folder that cannot be listed is told of when it is read.
    return [];
  }
}

/** Why a server does not start whose files are not whole. */
const exploringMissing =
  `The model ${exploringModel}, which comes with Fusegate and exploring fragments needs, is not whole. ` +
  'Install Fusegate again.';

/** The folder of the models that ship. */
const shippedModels = fileURLToPath(new URL('../../models', import.meta.url));

/** The sentence that says why a static model cannot be used; undefined where it can, and for others. */
function wrongStatic(model: InstalledModel): string | undefined {
  if (model.kind !== 'static') return undefined;
  try {
    new native.DenseModels([denseModel(model)]);
    return undefined;
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}.`;
  }
}

/** Reads every model that is installed or ships. @throws Error where a folder cannot be listed */
async function findModels(configuration: Configuration): Promise<FoundModels> {
  const { models, refused } = await readModels([installedModelsFolder(configuration), shippedModels]);
  const tried = models.map((model) => ({ model, wrong: wrongStatic(model) }));
  return {
    models: tried.flatMap(({ model, wrong }) => (wrong === undefined ? [model] : [])),
    refused: [
      ...refused,
      ...tried.flatMap(({ model: { id }, wrong }) => (wrong === undefined ? [] : [{ id, wrong }])),
    ],
  };
}

/** The sentence that says why a folder of models cannot be listed. @throws what is no such reason */
function unlistedModels(error: unknown, { modelsFolder }: Configuration): { readonly reason: string } {
  if (!(error instanceof Error && 'code' in error && 'path' in error)) throw error;
  const setting = modelsFolder === null ? 'STORE_URL to a path in a folder' : 'MODELS_DIR to a folder';
  const reason = `${String(error.path)} cannot be listed (${String(error.code)})`;
  return { reason: `${reason}. Set ${setting} that this user may read and write.` };
}

/** Loads a model in this process; the runtime is loaded with the first. */
async function openSession(model: InstalledModel, threads: number): Promise<SessionResult> {
  let session: typeof import('./models/session.js');
  try {
    session = await import('./models/session.js');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { wrong: `ONNX Runtime cannot be loaded here (${why}), so that no ONNX model can be run.` };
  }
  const openTokenizer = (json: Uint8Array, maxTokens: number) => new native.SubwordTokenizer(json, maxTokens);
  return session.openSession(model, { threads, openTokenizer });
}

/** Loads a model and tries it out; the sentence that says what is wrong with it. */
async function tryModel(model: InstalledModel): Promise<string | undefined> {
  if (model.kind !== 'onnx') return wrongStatic(model);
  const opened = await openSession(model, 1);
  if ('wrong' in opened) return opened.wrong;
  await opened.session.close();
  return undefined;
}

/** Runs the parent of the workers and of the embedder, which are this same program. */
async function serveInProcesses(order: ServeOrder): Promise<ServeOutcome> {
  const { configuration, log } = order;
  const found = await findModels(configuration).catch((error: unknown) =>
    unlistedModels(error, configuration),
  );
  if ('reason' in found) return { kind: 'refused', reason: found.reason };
  const { models, refused } = found;
  for (const { id, wrong } of refused) log.warn({ id, reason: wrong }, 'model is not used');
  const usual = defaultModel(models, configuration.embedModel);
  if (usual === undefined && configuration.embedModel !== null) {
    const ids = models.map(({ id }) => id);
    return { kind: 'refused', reason: notInstalled(configuration.embedModel, ids) };
  }
  const method = exploringMethod(models);
  if (method === undefined) return { kind: 'refused', reason: exploringMissing };
  return runParent({
    ...order,
    models,
    preload: configuration.embedPreload && usual?.kind === 'onnx' ? usual : undefined,
    program: fileURLToPath(import.meta.url),
    programArguments: [workerCommand],
    embedderArguments: [embedderCommand],
    clock: systemClock,
    lockFile: native.lockFile,
    prepareFolder: () => prepareFolder({ configuration, models, method, log }),
    drainMs,
  });
}

/** What the commands on the store are made of. */
function commandParts(): KeysParts & Pick<ServeParts, 'readTiers'> {
  return {
    ...terminal(),
    environment: process.env,
    machine: { platform: process.platform, cores: availableParallelism() },
    clock: systemClock,
    randomness: systemRandomness,
    openStore: openExistingStore,
    keyFormat: native,
    readTiers: (configuration: TiersConfiguration) => readTiers(configuration.tiersFile, configuration),
  };
}

/** Locks a data folder for a command that needs it alone. */
function lockFolder(folder: string): string | undefined {
  return takeDataFolder(folder, native.lockFile, () => undefined);
}

/** What the doctor looks at besides the store. */
const doctorParts = {
  wrongAccount,
  addressSentence: addressSentenceOf,
  nativeVersion: native.version,
  nodeVersion: process.versions.node,
  hasIndex: () => loadHnsw() !== undefined,
  async get(url: string) {
    const response = await fetch(url, { signal: AbortSignal.timeout(askMs) });
    return { status: response.status, body: await response.text() };
  },
};

/** What `fusegate normalize` reads and does it with. */
function normalizeParts(cores: number): Omit<NormalizeCommandParts, 'printError'> {
  return {
    input: process.stdin,
    write: writeOutput,
    readFile: (path) => readFileSync(path, 'utf8'),
    normalizer: ({ mode, contextual, glosses }) => {
      const pairs = Object.entries(glosses).map(([surface, gloss]) => ({ surface, gloss }));
      const made = new native.TextNormalizer(mode, contextual, pairs);
      return (piece) => made.normalize(piece, cores);
    },
  };
}

/** Bytes of a file. @throws Error where it is none, or cannot be read */
function fileSize(path: string): number {
  const found = statSync(path);
  if (found.isDirectory()) throw new Error('it is a folder');
  return found.size;
}

/** What `fusegate audit` reads and does it with. */
function auditParts(cores: number): Omit<AuditCommandParts, 'printError'> {
  return {
    clock: systemClock,
    cores,
    openFile: (path, format) => new native.FileAudit(path, format),
    sizeOf: fileSize,
    writeFile: (path, text) => writeFileSync(path, text),
    versions: () => ({ unicode: native.unicodeVersion(), cldr: native.cldrVersion() }),
    print: (line) => void writeOutput(`${line}\n`),
    progressTo: process.stderr,
  };
}

/** Runs `fusegate` with the arguments after the command's name. */
export async function main(args: readonly string[]): Promise<void> {
  const parts = commandParts();
  const more = { version: SERVICE_VERSION, log: createLog('silent') };
  await runProgram(args, {
    version: SERVICE_VERSION,
    serve: () =>
      serve({
        environment: process.env,
        machine: parts.machine,
        version: SERVICE_VERSION,
        readTiers: parts.readTiers,
        wrongSettings: async (partial) => [...wrongAccount(partial), ...(await wrongModelName(partial))],
        run: serveInProcesses,
        print: (line) => console.log(line),
        printError: (line) => console.error(line),
      }),
    storeCopy: (from, to) =>
      storeCopy(from, to, {
        clock: systemClock,
        randomness: systemRandomness,
        log: createLog('warn'),
        lockFolder,
        progressTo: process.stderr,
        print: (line) => console.log(line),
        printError: (line) => console.error(line),
      }),
    work: () => runWorker(buildServer, native.readBytesPerToken()),
    embed: () => runEmbedder({ openSession, clock: systemClock }),
    add: [
      ...[addKeys, addExports, addOptout, addClick, addForget].map(
        (add) => (program: Command) => add(program, parts),
      ),
      (program) => addBackup(program, { ...parts, ...more, lockFolder, progressTo: process.stderr }),
      (program) => addOrders(program, { ...parts, progressTo: process.stderr }),
      (program) => addDoctor(program, { ...parts, ...more, ...doctorParts, findModels, tryModel }),
      (program) =>
        addModels(program, {
          ...parts,
          shippedFolder: shippedModels,
          findModels,
          fetch,
          lockFile: native.lockFile,
          tryModel,
          evaluation: { ...native, openSession, writeFile: (path, text) => writeFileSync(path, text) },
          progressTo: process.stderr,
        }),
      (program) => addReceipts(program, { ...parts, readLines, getPage }),
      (program) => addAudit(program, { ...parts, ...auditParts(parts.machine.cores) }),
      (program) => addNormalize(program, { ...parts, ...normalizeParts(parts.machine.cores) }),
    ],
  });
}

// A parent starts its workers by this file; `fusegate` calls main itself.
if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
