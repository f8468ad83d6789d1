/**
 * Hands large bodies that were refused to a thread: parsing tens of megabytes on the event loop would hold up
 * every other request. The thread is started by the first such body.
 */
import { Worker } from 'node:worker_threads';
import type { Answer } from '../contract/exchange.js';
import type { RefusedRequest } from './refusal.js';
import type { RefusalDone, RefusalJob } from './refusalThread.js';

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

function answerOf({ status, text, charge }: RefusalDone): Answer {
  return { status, body: { bytes: text, type: 'application/json' }, charge };
}

/**
 * Makes the function that explains a refused body in the thread. Rejects when the thread fails; the next body
 * starts a new one.
 */
export function refusalOffLoop(): (request: RefusedRequest) => Promise<Answer> {
  const waiting = new Map<number, Waiting>();
  let thread: Worker | undefined;
  let lastId = 0;

  function finish(done: RefusalDone): void {
    waiting.get(done.id)?.resolve(answerOf(done));
    waiting.delete(done.id);
    if (waiting.size === 0) thread?.unref();
  }

  function fail(error: Error): void {
    thread = undefined;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  }

  function start(): Worker {
    const started = new Worker(new URL('./refusalThread.js', import.meta.url));
    started.on('message', finish);
    started.on('error', fail);
    started.on('exit', (code) => {
      if (waiting.size > 0) fail(new Error(`the thread that explains refusals ended with ${code}`));
    });
    return started;
  }

  return (request) =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      thread ??= start();
      thread.ref();
      // A copy that moves there: the body's own memory may be pooled, and larger than the body.
      const body = new Uint8Array(request.body);
      const job: RefusalJob = { id: lastId, request: { ...request, body } };
      thread.postMessage(job, [body.buffer]);
    });
}
