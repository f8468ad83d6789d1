/**
 * Legs of `fusegate models evaluate`: a file of legs in the form of POST /v1/fuse. Each leg that Fusegate
 * does not compute has a run in TREC's form: query, Q0, doc, rank, score and a name a line.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fuseRequestType } from '../contract/fuse.js';
import { checkBody } from '../contract/schema/validate.js';
import type { CollectionText, OwnLegs, SentScores } from '../search/evaluate.js';
import { reasonOf } from '../system/reason.js';
import { linesOf } from './collection.js';

interface Wrong {
  readonly wrong: string;
}

/** Names of the legs that Fusegate computes. */
const made: ReadonlySet<string> = new Set(['bm25', 'dense']);

/** A valid file name. */
const fileName = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/** Largest absolute score of a leg. */
const mostScore = 1e300;

async function legsOf(path: string): Promise<Wrong | { readonly legs: OwnLegs['legs'] }> {
  let legs: unknown;
  try {
    legs = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    return { wrong: `${path} cannot be read (${reasonOf(error)}).` };
  }
  const docs = [{ id: '', text: '', dense_score: 0 }];
  const checked = checkBody(fuseRequestType, { query: '', docs, legs });
  if (!checked.ok) {
    const said = checked.errors.map(({ loc, msg }) => `${loc.slice(2).join('.') || 'legs'}: ${msg}`);
    return { wrong: `${path} has no valid legs of POST /v1/fuse. ${said.join('; ')}` };
  }
  return { legs: checked.value.legs ?? {} };
}

async function readRun(
  path: string,
  places: ReadonlyMap<string, number>,
): Promise<Wrong | { readonly run: ReadonlyMap<string, SentScores> }> {
  const run = new Map<string, Map<number, number>>();
  try {
    for await (const [number, line] of linesOf(path)) {
      const [query, , doc, , score, ...rest] = line.trim().split(/\s+/);
      const value = Number(score);
      if (query === undefined || doc === undefined || rest.length !== 1 || !(Math.abs(value) <= mostScore)) {
        return { wrong: `${path}:${number} is not a line of a run: query, Q0, doc, rank, score and name.` };
      }
      const place = places.get(doc);
      if (place === undefined) return { wrong: `${path}:${number} ranks ${doc}, which is not a doc.` };
      const scores = run.get(query) ?? new Map<number, number>();
      run.set(query, scores.set(place, value));
    }
  } catch (error) {
    return { wrong: `${path} cannot be read (${reasonOf(error)}).` };
  }
  return { run };
}

/** Reads a file of legs, and their runs in a collection's folder; or returns an error. */
export async function readLegs(
  path: string,
  folder: string,
  docs: readonly CollectionText[],
): Promise<Wrong | { readonly own: OwnLegs }> {
  const read = await legsOf(path);
  if ('wrong' in read) return read;
  const places = new Map(docs.map(({ id }, place) => [id, place]));
  const runs = new Map<string, ReadonlyMap<string, SentScores>>();
  for (const name of Object.keys(read.legs).filter((leg) => !made.has(leg))) {
    if (!fileName.test(name)) return { wrong: `${path}: ${name} cannot be the name of a run’s file.` };
    const found = await readRun(join(folder, `${name}.run`), places);
    if ('wrong' in found) return found;
    runs.set(name, found.run);
  }
  return { own: { legs: read.legs, runs } };
}
