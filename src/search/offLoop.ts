/**
 * Hands large bodies of the exact path to a thread: parsing tens of megabytes on the event loop would hold up
 * every other request. The thread is started by the first such body, which only odd or invalid requests are.
 */
import { Worker } from 'node:worker_threads';
import type { Answer } from '../contract/exchange.js';
import type { ExactDone, ExactJob } from './exactThread.js';

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Makes the function that answers a body by the exact path in the thread. Rejects when the thread fails; the
 * next body starts a new one.
 */
export function exactOffLoop(): (body: Uint8Array) => Promise<Answer> {
  const waiting = new Map<number, Waiting>();
  let thread: Worker | undefined;
  let lastId = 0;

  function finish({ id, status, text, charge }: ExactDone): void {
    waiting.get(id)?.resolve({ status, body: { bytes: text, type: 'application/json' }, charge });
    waiting.delete(id);
    if (waiting.size === 0) thread?.unref();
  }

  function fail(error: Error): void {
    thread = undefined;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  }

  function start(): Worker {
    const started = new Worker(new URL('./exactThread.js', import.meta.url));
    started.on('message', finish);
    started.on('error', fail);
    started.on('exit', (code) => {
      if (waiting.size > 0) fail(new Error(`the thread of the exact path ended with ${code}`));
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
      const job: ExactJob = { id: lastId, body: new Uint8Array(body) };
      thread.postMessage(job, [job.body.buffer]);
    });
}
