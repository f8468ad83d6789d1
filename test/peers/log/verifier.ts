/** The program in `go/main.go`: the verdicts of two verifiers of others on what a log serves. */
import assert from 'node:assert/strict';
import { AsyncResource } from 'node:async_hooks';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { buildPrograms, programs } from '../go.js';

/** Why these tests do not run, or false. */
export const skip: string | false =
  process.env['FUSEGATE_PAYMENT_NODES'] === undefined
    ? 'programs of others are not asked for; run: npm run test:peers (needs Go)'
    : false;

/** A request of the program. */
export interface Asked {
  readonly key: string;
  /** A policy, in place of the key alone; torchwood reads it. */
  readonly policy?: string;
  readonly checkpoint?: string;
  readonly proof?: string;
  /** Base64. */
  readonly entry?: string;
  readonly address?: string;
  readonly earlier?: string;
}

/** Errors of each verifier; empty: it accepts. */
export interface Said {
  readonly sumdb: string;
  readonly torchwood: string;
}

/** Builds and starts it; it is bound to the file, so that it ends with the tests and not with a hook. */
export const startVerifier = AsyncResource.bind((): ((asked: Asked) => Promise<Said>) => {
  buildPrograms(['log-peer']);
  const peer = spawn(join(programs, 'log-peer'), [], { stdio: ['pipe', 'pipe', 'inherit'] });
  after(() => peer.kill());
  const lines = createInterface(peer.stdout)[Symbol.asyncIterator]();
  return async (asked) => {
    peer.stdin.write(`${JSON.stringify(asked)}\n`);
    const line: IteratorResult<string, unknown> = await lines.next();
    assert.ok(typeof line.value === 'string');
    return JSON.parse(line.value) as Said;
  };
});
