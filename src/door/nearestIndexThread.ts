/** The thread that builds the index of vectors: takes a job, leaves two files, and ends. */
import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { native } from '../native/addon.js';
import { loadHnsw, pointOf, stateFile, type BuildJob, type Hnsw, type IndexState } from './nearestIndex.js';

/** Links of a point, and candidates while it is put in (hnswlib's names). */
const m = 16;
const efConstruction = 100;
/** The same fragments make the same index. */
const randomSeed = 100;

/** Vectors read at once. */
const portion = 1_000;

/** Puts a file under its name once it is on disk, so that a power cut leaves the former one or this one. */
function publish(file: string): void {
  const descriptor = openSync(`${file}.new`, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(`${file}.new`, file);
}

function fill(hnsw: Hnsw, vectors: InstanceType<typeof native.Vectors>, job: BuildJob): void {
  for (let from = 0; from < job.count; from += portion) {
    const bytes = vectors.vectors(from, Math.min(from + portion, job.count));
    for (let at = 0; at < bytes.byteLength; at += job.dimension) {
      hnsw.addPoint(pointOf(bytes.subarray(at, at + job.dimension)), from + at / job.dimension);
    }
  }
}

function build(job: BuildJob): void {
  const newHnsw = loadHnsw();
  if (newHnsw === undefined) throw new Error('hnswlib-node is not installed');
  const vectors = new native.Vectors(job.vectorsFile, job.method);
  const hnsw = newHnsw(job.dimension);
  hnsw.initIndex(job.count, m, efConstruction, randomSeed);
  fill(hnsw, vectors, job);
  hnsw.writeIndexSync(`${job.indexFile}.new`);
  publish(job.indexFile);
  const { method, count } = job;
  const state: IndexState = { method, count, receipt: vectors.receipt(count - 1) };
  writeFileSync(`${stateFile(job.indexFile)}.new`, JSON.stringify(state));
  publish(stateFile(job.indexFile));
}

build(workerData as BuildJob);
