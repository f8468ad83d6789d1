/**
 * Audits outside the event loop: reading, checking and auditing a body of megabytes would hold up every other
 * request. The thread is started by the first such body and kept.
 */
import { Worker } from 'node:worker_threads';
import type { AuditAnswer } from './auditAnswer.js';
import type { AuditDone, AuditJob } from './auditThread.js';

interface Waiting {
  readonly resolve: (answer: AuditAnswer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Makes the function that audits a body in the thread, by so many threads in all. Rejects when the thread
 * fails; the next body starts a new one.
 */
export function auditOffLoop(threads: number): (body: Uint8Array) => Promise<AuditAnswer> {
  const waiting = new Map<number, Waiting>();
  let thread: Worker | undefined;
  let lastId = 0;

  function finish({ id, answer }: AuditDone): void {
    waiting.get(id)?.resolve(answer);
    waiting.delete(id);
    if (waiting.size === 0) thread?.unref();
  }

  function fail(error: Error): void {
    thread = undefined;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  }

  function start(): Worker {
    const started = new Worker(new URL('./auditThread.js', import.meta.url));
    started.on('message', finish);
    started.on('error', fail);
    started.on('exit', (code) => {
      if (waiting.size > 0) fail(new Error(`the thread of audits ended with ${code}`));
    });
    return started;
  }

  return (body) =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      thread ??= start();
      thread.ref();
      // A copy that moves there: the body's own memory may be pooled, and larger than the body.
      const job: AuditJob = { id: lastId, body: new Uint8Array(body), threads };
      thread.postMessage(job, [job.body.buffer]);
    });
}
