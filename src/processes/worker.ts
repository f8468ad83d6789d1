/** One worker: serves as its parent says, until it is told to drain or its parent is gone. */
import type { Tiers } from '../access/tiers.js';
import type { Server } from '../http/server.js';
import type { Embedder } from '../models/embedder.js';
import { remoteEmbedder, type RemoteEmbedder } from '../models/remoteEmbedder.js';
import type { Configuration } from '../configuration.js';
import type * as Native from '../native/index.js';
import { reasonOf } from '../system/reason.js';
import type { ToParent, ToWorker } from './messages.js';
import { goBackTo } from './priority.js';
import { noInspector } from './signals.js';
import { sendSockets } from './sockets.js';
import { watchVitals } from './vitals.js';

/** Time that a worker gets for pending requests after its parent died (ms). */
const orphanDrainMs = 3_000;

/** Only the parent stops a worker: signals that a terminal or npm sends to the whole group are ignored. */
const groupSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', ...noInspector] as const;

/** What a worker serves with. */
export interface WorkerServer extends Server {
  /** Runs the code of requests once, before the worker takes over the connections of another. */
  readonly warmUp?: () => Promise<unknown>;
}

/** Builds a worker's server. `isReplacement`: it takes the place of a worker that has served. */
type Build = (
  configuration: Configuration,
  tiers: Tiers,
  embedder: Embedder,
  isReplacement: boolean,
) => WorkerServer | Promise<WorkerServer>;

/** The message that starts a worker. */
type Start = ToWorker & { readonly kind: 'start' };

/** Sends a message; false if the parent has gone. */
function tell(message: ToParent): boolean {
  if (process.connected) process.send?.(message);
  return process.connected;
}

/**
 * Kills a worker that does not serve. A normal exit would wait for LMDB's thread, which may wait for this one
 * within a unit. No answer is pending, and the store survives any end.
 */
function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

function refuse(reason: string): void {
  if (process.connected) process.send?.({ kind: 'refused', reason } satisfies ToParent, end);
  else end();
}

/** Drains a server, if there is one yet, and reports that it takes no new connections. */
function drainServer(
  server: WorkerServer | undefined,
  ...given: Parameters<WorkerServer['drain']>
): Promise<boolean> | true {
  const drained = server?.drain(...given) ?? true;
  tell({ kind: 'closed' });
  return drained;
}

/**
 * Serves until drained, then ends the process. `build` makes the server from the parent's data; if it throws,
 * the worker refuses with the error's message.
 */
export function runWorker(
  build: Build,
  native: Pick<typeof Native, 'readBytesPerToken' | 'endProcess'>,
): void {
  const vitals = watchVitals();
  let server: WorkerServer | undefined;
  let embedder: RemoteEmbedder | undefined;
  let starting = Promise.resolve();
  let ending = false;
  let order: Start | undefined;
  const drain = (timeoutMs: number, untilClosed = false): void => {
    ending = true;
    // During the start, and after a drain that was cut off, LMDB's thread may wait for this one within a
    // unit: a normal exit would wait for it.
    void starting
      .then(() => drainServer(server, timeoutMs, untilClosed))
      .then((drained) => (drained ? process.exit(0) : native.endProcess(1)));
  };
  const listen = async ({ configuration: { host }, port, doorPort, left }: Start): Promise<void> => {
    if (ending) return;
    const listening = await server?.listen(host, port, doorPort, left);
    if (listening === undefined) refuse(`A worker could not listen on ${host} port ${port}.`);
    else tell({ kind: 'listening' });
  };
  const start = async (given: Start): Promise<void> => {
    order = given;
    const { configuration, tiers, models } = given;
    embedder = remoteEmbedder({ models, tell, readBytesPerToken: native.readBytesPerToken() });
    try {
      server = await build(configuration, tiers, embedder, given.isReplacement);
      if (given.left !== undefined) {
        await server.warmUp?.();
        goBackTo(given.niceness);
      }
    } catch (error) {
      refuse(reasonOf(error));
      return;
    }
    if (given.left === undefined) await listen(given);
    else tell({ kind: 'ready' });
  };
  for (const signal of groupSignals) process.on(signal, () => undefined);
  process.on('disconnect', () => drain(orphanDrainMs));
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'start') starting = start(message);
    else if (message.kind === 'listen' && order !== undefined) void listen(order);
    else if (message.kind === 'handOver' && order !== undefined) {
      tell({ kind: 'handedOver', failed: sendSockets(message.to, order) });
    } else if (message.kind === 'drain') drain(message.timeoutMs, message.untilClosed);
    else if (message.kind === 'embedded') embedder?.hear(message);
    else if (message.kind === 'metrics') {
      const metrics = [...(server?.metrics() ?? []), ...vitals()];
      tell({ kind: 'metrics', request: message.request, metrics });
    }
  });
}
