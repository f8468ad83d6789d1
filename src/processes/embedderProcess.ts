/** The embedder process: runs models on the texts that its parent sends, until the parent exits. */
import { embedderLoop, type EmbedderLoopParts } from '../models/embedderLoop.js';
import type { FromEmbedder, ToEmbedder } from '../models/messages.js';
import type { Clock } from '../system/clock.js';
import { noInspector } from './signals.js';
import { usage } from './vitals.js';

/** Parts of the process. */
export interface EmbedderProcessParts {
  readonly openSession: EmbedderLoopParts['openSession'];
  readonly clock: Clock;
}

/** Interval of reporting this process's resource usage to the parent (ms). */
const vitalsMs = 1_000;

/** Only the parent ends this process: signals that a terminal or npm sends to the whole group are ignored. */
const groupSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', ...noInspector] as const;

function tell(message: FromEmbedder): void {
  if (process.connected) process.send?.(message);
}

/** Serves texts until the parent has gone. */
export function runEmbedder({ openSession, clock }: EmbedderProcessParts): void {
  for (const signal of groupSignals) process.on(signal, () => undefined);
  process.on('disconnect', () => process.exit(0));
  const { monotonicMs } = clock;
  const take = embedderLoop({ openSession, tell, monotonicMs });
  let worked = true;
  process.on('message', (order: ToEmbedder) => {
    worked = true;
    take(order);
  });
  clock.every(vitalsMs, () => {
    if (worked) tell({ kind: 'vitals', metrics: usage() });
    worked = false;
  });
}
