/**
 * One request of POST /v1/fuse, or of POST /v1/normalize where the argument says so, in process by Fusegate's
 * native core: bytes in, bytes out, through Node-API. Jobs and answers as in `inprocess.py`.
 */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { native } from '../../src/native/addon.js';

interface Job {
  readonly body: string;
  readonly seconds: number;
}

/** Requests between two looks at the clock: the clock must not be what is measured. */
const BATCH = 8;

const facts = new Float64Array(2);
let out = new Uint8Array(1 << 20);

function normalized(body: Uint8Array): Uint8Array {
  const { NormalizeOutcome: outcomes } = native;
  const outcome = native.normalize(body, out, facts);
  if (outcome === outcomes.NeedsRoom) {
    out = new Uint8Array(facts[0] ?? 0);
    return normalized(body);
  }
  if (outcome !== outcomes.Written) throw new Error(`the body is refused (${outcome})`);
  return out.subarray(0, facts[0]);
}

const { fuse } = new native.Fuser(new native.DenseModels([]));

function fused(body: Uint8Array): Uint8Array {
  const { FuseOutcome: outcomes } = native;
  const outcome = fuse(body, out, facts, 0);
  if (outcome === outcomes.NeedsRoom) {
    out = new Uint8Array(facts[0] ?? 0);
    return fused(body);
  }
  if (outcome !== outcomes.Written) throw new Error(`the body is refused (${outcome})`);
  return out.subarray(0, facts[0]);
}

/** Answers once; the bytes are good until the next answer. */
const answer = process.argv[2] === 'normalize' ? normalized : fused;

function measure(body: Uint8Array, seconds: number): { requests: number; seconds: number } {
  const start = process.hrtime.bigint();
  const elapsed = (): number => Number(process.hrtime.bigint() - start) / 1e9;
  let requests = 0;
  while (elapsed() < seconds) {
    for (let repeat = 0; repeat < BATCH; repeat++) answer(body);
    requests += BATCH;
  }
  return { requests, seconds: elapsed() };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { body: path, seconds } = JSON.parse(line) as Job;
  const body = readFileSync(path);
  if (seconds > 0) console.log(JSON.stringify(measure(body, seconds)));
  else console.log(new TextDecoder().decode(answer(body)));
}
