/**
 * Hands large bodies of the exact path to a thread: parsing tens of megabytes on the event loop would hold up
 * every other request. The thread is started by the first such body, which only odd or invalid requests are.
 */
import { Worker } from 'node:worker_threads';
import type { ExactOutcome, ExactRequest } from './exactAnswer.js';
import type { ExactDone, ExactJob } from './exactThread.js';

interface Waiting {
  readonly resolve: (outcome: ExactOutcome) => void;
  readonly reject: (error: Error) => void;
}

function outcomeOf(done: ExactDone): ExactOutcome {
  if ('unscored' in done) return { unscored: done.unscored };
  const { status, text, charge } = done;
  return { answer: { status, body: { bytes: text, type: 'application/json' }, charge } };
}

/**
 * Makes the function that answers a body by the exact path in the thread. Rejects when the thread fails; the
 * next body starts a new one.
 */
export function exactOffLoop(): (request: ExactRequest) => Promise<ExactOutcome> {
  const waiting = new Map<number, Waiting>();
  let thread: Worker | undefined;
  let lastId = 0;

  function finish(done: ExactDone): void {
    waiting.get(done.id)?.resolve(outcomeOf(done));
    waiting.delete(done.id);
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

  return (request) =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      thread ??= start();
      thread.ref();
      // A copy that moves there: the body's own memory may be pooled, and larger than the body.
      const body = new Uint8Array(request.body);
      const job: ExactJob = { id: lastId, request: { ...request, body } };
      thread.postMessage(job, [body.buffer]);
    });
}
