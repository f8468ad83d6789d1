/** The thread that audits large bodies: takes bytes, posts the report or what is wrong with them. */
import { parentPort } from 'node:worker_threads';
import { native } from '../native/addon.js';
import { answerAudit, type AuditAnswer } from './auditAnswer.js';

/** A body to audit. */
export interface AuditJob {
  readonly id: number;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly threads: number;
}

/** Its answer. */
export interface AuditDone {
  readonly id: number;
  readonly answer: AuditAnswer;
}

parentPort?.on('message', ({ id, body, threads }: AuditJob) => {
  const done: AuditDone = { id, answer: answerAudit(body, native, threads) };
  parentPort?.postMessage(done);
});
