/** The thread that runs the exact path for large bodies: takes bytes, posts the finished answer. */
import { parentPort } from 'node:worker_threads';
import { native } from '../native/addon.js';
import { answerExactly } from './exactAnswer.js';

/** A body to answer. */
export interface ExactJob {
  readonly id: number;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Its answer, written out. */
export interface ExactDone {
  readonly id: number;
  readonly status: number;
  readonly text: string;
  readonly charge: number;
}

parentPort?.on('message', ({ id, body }: ExactJob) => {
  const { status, body: answered, charge } = answerExactly(body, native);
  if (!('json' in answered)) throw new Error('the exact path answers with values');
  const done: ExactDone = { id, status, text: JSON.stringify(answered.json), charge };
  parentPort?.postMessage(done);
});
