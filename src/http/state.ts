/** State that all exchanges of one server share, and the bounds of its connections. */
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import type { Tracer } from '../telemetry/tracer.js';
import type { RequestIds } from './identifiers.js';
import type { IncomingState } from './incoming.js';
import type { ServerTiming } from './settings.js';
import type { Turn } from './turn.js';
import type { UnsentState } from './unsent.js';

/** Limits of a connection: times and amounts. */
export type ConnectionLimits = ServerState['limits'];

/** State that all exchanges of one server share. */
export interface ServerState extends IncomingState, UnsentState {
  readonly limits: IncomingState['limits'] & UnsentState['limits'];
  readonly clock: Clock;
  readonly log: Log;
  readonly requestIds: RequestIds;
  readonly turn: Turn;
  /** Number of answers of 501 and above since they were last logged, by route and status. */
  readonly failures: Map<string, number>;
  /** Times that answers show. */
  readonly timing: ServerTiming;
  /** Begins the spans of requests; undefined: requests have none. */
  readonly tracer: Tracer | undefined;
  /** Requests not yet answered in full. */
  inFlight: number;
  /** True if the server takes no new connections and ends the existing ones. */
  draining: boolean;
}
