/**
 * Audits outside the event loop: one at a time, so that the thread pool has room for other requests, and a
 * bounded number that wait.
 */
import { type NotDone, workQueue } from '../system/workQueue.js';
import { answerAuditOffLoop, type AuditAnswer, type AuditParts } from './auditAnswer.js';

/** Audits that wait for the one that runs, at most. */
const mostWaiting = 16;

/** Audits a body that stays as it is; `busy` where too many wait, or the connection has gone. */
export type AuditOffLoop = (body: Uint8Array, signal: AbortSignal) => Promise<AuditAnswer | NotDone>;

/** Makes the function that audits a body in the thread pool, each on `threads` threads. */
export function auditOffLoop(parts: AuditParts, threads: number): AuditOffLoop {
  const inTurn = workQueue(1, mostWaiting);
  return (body, signal) => {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    return inTurn(() => answerAuditOffLoop(bytes, parts, threads), signal);
  };
}
