/**
 * BM25 against bm25s (method lucene, single precision) and fusion against ranx, on seeded requests with
 * non-negative scores: two implementations of the same formulas that others wrote.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { native } from '../../src/native/addon.js';
import { lexicalScores, tokenize } from '../reference/fuse.js';
import type { ReferenceRequest, ReferenceResponse } from '../reference/fuse.js';
import { plainStyle, writeBody } from '../support/bodies.js';
import { fuseRequest } from '../search/requests.js';
import { findPython, projectRoot } from '../support/python.js';

const SEED = 20_260_101;
const finding = findPython(['bm25s', 'ranx'], 'test/peers/requirements.txt');
const skip = 'missing' in finding ? finding.missing : false;
if (skip !== false) console.log(`skipped: agreement with bm25s and ranx: ${skip}`);

/** Sends every job to the Python peer and gives its answers in order. */
async function askPeer(jobs: readonly object[]): Promise<unknown[]> {
  assert.ok('python' in finding);
  const script = `${projectRoot}test/peers/agreement.py`;
  const peer = spawn(finding.python, ['-W', 'ignore', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(peer, 'close');
  peer.stdin.end(jobs.map((job) => `${JSON.stringify(job)}\n`).join(''));
  const answers: unknown[] = [];
  for await (const line of createInterface({ input: peer.stdout })) answers.push(JSON.parse(line));
  assert.deepEqual(await ended, [0, null]);
  assert.deepEqual(answers.shift(), { ready: true });
  assert.equal(answers.length, jobs.length);
  return answers;
}

/** Requests whose documents have distinct positive dense scores: where all fusions mean the same. */
const plainRequest = fuseRequest.map((request): ReferenceRequest => {
  const docs = request.docs.map((doc, at) => ({
    ...doc,
    id: `${at}`,
    dense_score: (((at + 1) * 37) % 101) / 101,
  }));
  return { ...request, docs, weights: { bm25: 1, dense: 1 }, top_k: null };
});

const fuser = new native.Fuser(new native.DenseModels([]));

/** The service's results in the order of the request's documents. */
function serviceResults(request: ReferenceRequest): ReferenceResponse['results'] {
  const [out, facts] = [new Uint8Array(1 << 20), new Float64Array(2)];
  const outcome = fuser.fuse(writeBody(request, plainStyle), out, facts, 0);
  assert.equal(outcome, native.FuseOutcome.Written);
  const answer = JSON.parse(new TextDecoder().decode(out.subarray(0, facts[0]))) as ReferenceResponse;
  return [...answer.results].sort((left, right) => Number(left.id) - Number(right.id));
}

const samples = fc.sample(plainRequest, { seed: SEED, numRuns: 4000 });

test('BM25 scores are those of bm25s within single precision', { skip }, async () => {
  const requests = samples.filter((request) => lexicalScores(request).some((score) => score > 0));
  assert.ok(requests.length > 1000, `${requests.length} requests with a match`);
  const jobs = requests.map((request) => {
    const tokens = (text: string): string[] => tokenize(text, request.tokenizer ?? 'ws');
    const docs = request.docs.map((doc) => tokens(doc.text));
    return { job: 'bm25', docs, query: tokens(request.query), k1: request.k1 ?? 1.5, b: request.b ?? 0.75 };
  });
  const answers = (await askPeer(jobs)) as { scores: number[] }[];
  for (const [at, request] of requests.entries()) {
    const theirs = answers[at]?.scores ?? [];
    for (const [place, { bm25_score: score }] of serviceResults(request).entries()) {
      const close = Math.abs(score - (theirs[place] ?? NaN)) <= 2e-6 * Math.max(1, score);
      assert.ok(close, `${score} and ${theirs[place] ?? 'none'}: ${JSON.stringify(request)}`);
    }
  }
});

test('max-norm and reciprocal rank fusion are those of ranx', { skip }, async () => {
  const requests = samples.filter((request) => {
    const scores = lexicalScores(request);
    const distinct = new Set(scores).size === scores.length;
    // ranx takes a largest score below 1e-9 for 1e-9.
    return scores.length > 1 && Math.max(...scores) > 1e-9 && (request.method !== 'rrf' || distinct);
  });
  const count = (method: string): number =>
    requests.filter((request) => (request.method ?? 'maxnorm') === method).length;
  assert.ok(count('rrf') > 20 && count('maxnorm') > 100, `${count('rrf')} rrf, ${count('maxnorm')} maxnorm`);
  const jobs = requests.map((request) => ({
    job: 'fuse',
    method: request.method ?? 'maxnorm',
    bm25: lexicalScores(request),
    dense: request.docs.map((doc) => doc.dense_score),
    weights: [0.5, 0.5],
    k: Math.floor(request.rrf_k ?? 60),
  }));
  const answers = (await askPeer(jobs)) as { fused: number[] }[];
  for (const [at, request] of requests.entries()) {
    const rrf_k = Math.floor(request.rrf_k ?? 60);
    const ours = serviceResults({ ...request, rrf_k });
    const theirs = answers[at]?.fused ?? [];
    assert.equal(ours.length, theirs.length);
    for (const [place, { fused_score: score }] of ours.entries()) {
      assert.ok(Math.abs(score - (theirs[place] ?? NaN)) <= 1e-12, JSON.stringify(request));
    }
  }
});
