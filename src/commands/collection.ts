/**
 * A test collection in a folder: `docs.jsonl` (or `docs.jsonl.gz`) and `queries.jsonl`, each line with an
 * `id` and a `text`, and a file of judgements. Each of its lines has query, doc and grade, as BEIR and TREC
 * (with its second column) write them.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { CollectionText } from '../search/evaluate.js';
import type { Judgements } from '../search/measures.js';
import { reasonOf } from '../system/reason.js';
import { readLines } from './terminal.js';

/** A query with at least one judgement above 0. */
export interface JudgedQuery extends CollectionText {
  readonly judged: Judgements;
}

/** A collection. */
export interface Collection {
  readonly docs: readonly CollectionText[];
  readonly queries: readonly JudgedQuery[];
}

/** A sentence about an error in a collection. */
interface Wrong {
  readonly wrong: string;
}

/** Numbered lines, from 1; blank ones are left out. */
export async function* linesOf(path: string): AsyncGenerator<readonly [number, string]> {
  let number = 0;
  for await (const line of readLines(path)) {
    number += 1;
    if (line.trim() !== '') yield [number, line];
  }
}

function textOf(line: string): CollectionText | undefined {
  try {
    const { id, text } = Object(JSON.parse(line)) as Partial<Record<'id' | 'text', unknown>>;
    if (typeof text !== 'string' || (typeof id !== 'string' && typeof id !== 'number')) return undefined;
    return { id: String(id), text };
  } catch {
    return undefined;
  }
}

async function readTexts(path: string): Promise<Wrong | { readonly texts: CollectionText[] }> {
  const texts = new Map<string, CollectionText>();
  for await (const [number, line] of linesOf(path)) {
    const read = textOf(line);
    if (read === undefined) return { wrong: `${path}:${number} is not an object with an id and a text.` };
    if (texts.has(read.id)) return { wrong: `${path}:${number} repeats the id ${read.id}.` };
    texts.set(read.id, read);
  }
  return texts.size > 0 ? { texts: [...texts.values()] } : { wrong: `${path} is empty.` };
}

/** Grades above 0 by query and by index of the doc. */
async function readJudgements(
  path: string,
  docs: readonly CollectionText[],
): Promise<Wrong | { readonly judged: Map<string, Map<number, number>> }> {
  const places = new Map(docs.map(({ id }, place) => [id, place]));
  const judged = new Map<string, Map<number, number>>();
  for await (const [number, line] of linesOf(path)) {
    const columns = line.includes('\t') ? line.trim().split('\t') : (line.match(/\S+/g) ?? []);
    const [query, doc, grade] = columns.length === 4 ? [columns[0], ...columns.slice(2)] : columns;
    const value = Number(grade);
    if (number === 1 && Number.isNaN(value)) continue;
    if (query === undefined || doc === undefined || !Number.isFinite(value)) {
      return { wrong: `${path}:${number} is not a judgement: query, doc and grade.` };
    }
    const place = places.get(doc);
    if (place === undefined) return { wrong: `${path}:${number} judges ${doc}, which is not a doc.` };
    const grades = judged.get(query) ?? new Map<number, number>();
    if (value > 0) judged.set(query, grades.set(place, value));
  }
  return { judged };
}

async function readFiles(folder: string, qrels: string): Promise<Collection | Wrong> {
  const plain = join(folder, 'docs.jsonl');
  const packed = `${plain}.gz`;
  if (!existsSync(plain) && !existsSync(packed)) {
    return { wrong: `There is neither docs.jsonl nor docs.jsonl.gz in ${resolve(folder)}.` };
  }
  const docs = await readTexts(existsSync(plain) ? plain : packed);
  if ('wrong' in docs) return docs;
  const queries = await readTexts(join(folder, 'queries.jsonl'));
  if ('wrong' in queries) return queries;
  const read = await readJudgements(join(folder, qrels), docs.texts);
  if ('wrong' in read) return read;
  const judged = queries.texts.flatMap((query) => {
    const grades = read.judged.get(query.id);
    return grades === undefined ? [] : [{ ...query, judged: grades }];
  });
  if (judged.length === 0) return { wrong: `${qrels} judges none of the queries.` };
  return { docs: docs.texts, queries: judged };
}

/** Reads a collection; `qrels`: the file of its judgements. Returns an error instead if there is one. */
export async function readCollection(folder: string, qrels: string): Promise<Collection | Wrong> {
  try {
    return await readFiles(folder, qrels);
  } catch (error) {
    const reason = reasonOf(error);
    return { wrong: `The collection cannot be read (${reason}).` };
  }
}
