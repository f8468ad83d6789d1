/** The thread that explains large bodies which were refused: takes bytes, posts the finished answer. */
import { parentPort } from 'node:worker_threads';
import { native } from '../native/addon.js';
import { refusalOf, type RefusedRequest } from './refusal.js';

/** A body to explain. */
export interface RefusalJob {
  readonly id: number;
  readonly request: RefusedRequest & { readonly body: Uint8Array<ArrayBuffer> };
}

/** Its answer, written out. */
export interface RefusalDone {
  readonly id: number;
  readonly status: number;
  readonly text: string;
  readonly charge: number;
}

function done({ id, request }: RefusalJob): RefusalDone {
  const { status, body, charge } = refusalOf(request, native.checkJson);
  if (!('json' in body)) throw new Error('a refusal is a value');
  return { id, status, text: JSON.stringify(body.json), charge };
}

parentPort?.on('message', (job: RefusalJob) => parentPort?.postMessage(done(job)));
