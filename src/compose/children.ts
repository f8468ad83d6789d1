/** Entry points of a server's other processes: its workers and its embedder. */
import { loadUws } from '../http/uws.js';
import { native } from '../native/addon.js';
import { childSink } from '../processes/children.js';
import { runEmbedder } from '../processes/embedderProcess.js';
import { takeLowestPriority } from '../processes/priority.js';
import { runWorker } from '../processes/worker.js';
import { systemClock } from '../system/clock.js';
import { createLog } from '../system/log.js';
import { logUncaught } from '../system/uncaught.js';
import { openSession } from './models.js';

const { endProcess } = native;

/** Runs a worker; see {@link childSink} for the argument. */
export function work(logFormat?: string): void {
  const sink = childSink(logFormat);
  logUncaught(endProcess, sink);
  runWorker(async (configuration, ...rest) => {
    // Only a worker loads the parts of a server. Without a library for this Node, no store is touched.
    loadUws();
    const log = createLog(configuration.logLevel, sink);
    logUncaught(endProcess, sink, log);
    return (await import('./server.js')).buildServer(configuration, ...rest, log);
  }, native);
}

/** Runs the embedder; likewise. */
export function embed(logFormat?: string): void {
  logUncaught(endProcess, childSink(logFormat));
  // Set before the runtime starts its threads, which inherit it: processes that answer requests go first.
  takeLowestPriority();
  runEmbedder({ openSession, clock: systemClock });
}
