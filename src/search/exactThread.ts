/** The thread that runs the exact path for large bodies: takes bytes, posts the finished answer. */
import { parentPort } from 'node:worker_threads';
import { native } from '../native/addon.js';
import { answerExactly, type ExactRequest, type UnscoredTexts } from './exactAnswer.js';

/** A body to answer. */
export interface ExactJob {
  readonly id: number;
  readonly request: ExactRequest & { readonly body: Uint8Array<ArrayBuffer> };
}

/** Its answer, written out, or what is needed for one. */
export type ExactDone = { readonly id: number } & (
  | { readonly status: number; readonly text: string; readonly charge: number }
  | { readonly unscored: UnscoredTexts }
);

function done({ id, request }: ExactJob): ExactDone {
  const outcome = answerExactly(request, native);
  if ('unscored' in outcome) return { id, unscored: outcome.unscored };
  const { status, body, charge } = outcome.answer;
  if (!('json' in body)) throw new Error('the exact path answers with values');
  return { id, status, text: JSON.stringify(body.json), charge };
}

parentPort?.on('message', (job: ExactJob) => parentPort?.postMessage(done(job)));
