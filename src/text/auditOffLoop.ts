/**
 * Audits outside the event loop: one at a time, so that the thread pool has room for other requests, with a
 * bounded queue.
 */
import { poolQueue } from '../system/threadPool.js';
import type { NotDone } from '../system/workQueue.js';
import { answerAuditOffLoop, type AuditAnswer, type AuditParts } from './auditAnswer.js';

/** Most queued audits. */
const mostWaiting = 16;

/** Audits a body that must not change meanwhile; `busy` if the queue is full, or the connection has gone. */
export type AuditOffLoop = (body: Uint8Array, signal: AbortSignal) => Promise<AuditAnswer | NotDone>;

/** Makes the function that audits a body in the thread pool, on `threads` threads each. */
export function auditOffLoop(parts: AuditParts, threads: number): AuditOffLoop {
  const inTurn = poolQueue(1, mostWaiting);
  return (body, signal) => {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    return inTurn(() => answerAuditOffLoop(bytes, parts, threads), signal);
  };
}
