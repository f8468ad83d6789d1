/**
 * An ONNX model in this process (ONNX Runtime), tried out before it is used: the only file with
 * onnxruntime-node. Import it only where models run: it takes memory in every process.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { env, InferenceSession, Tensor } from 'onnxruntime-node';
import { reasonOf } from '../system/reason.js';
import type { InstalledModel } from './embedder.js';

/** A text's tokens for its model. */
export interface TokenIds {
  readonly ids: BigInt64Array;
  /** The text was cut. */
  readonly truncated: boolean;
  /** Length of the text's vector: 1, 0.5 if most of its tokens are unknown, 0 if all are. */
  readonly length: number;
}

/** The tokenizer of a model. */
export interface SubwordTokenizer {
  readonly encode: (text: Uint8Array) => TokenIds;
  /** The largest id that it can output. */
  readonly largestId: () => number;
}

/** Reads a model's `tokenizer.json`. @throws Error with the reason if it cannot be used */
export type OpenTokenizer = (
  json: Uint8Array,
  model: Pick<InstalledModel, 'maxTokens' | 'queryPrefix' | 'documentPrefix'>,
) => SubwordTokenizer;

/** One text's vector. */
export interface TextVector {
  /** Scaled to length 1 (L2). */
  readonly vector: Float32Array;
  readonly truncated: boolean;
  /** Its length in the embedder's answer, which shows how much of the text the model knows. */
  readonly length: number;
}

/** A running model. */
export interface EmbeddingSession {
  /** The vector of one text (UTF-8). @throws Error if the model cannot be run */
  readonly embed: (text: Uint8Array) => Promise<TextVector>;
  /** Frees its memory. */
  readonly close: () => Promise<void>;
}

/** Dependencies of a running model. */
export interface SessionParts {
  /** Threads for one text. */
  readonly threads: number;
  readonly openTokenizer: OpenTokenizer;
}

/** Inputs that models of this kind may have; the first is required. */
const knownInputs = ['input_ids', 'attention_mask', 'token_type_ids'] as const;

function message(error: unknown): string {
  const text = reasonOf(error);
  return text.replaceAll(/\s+/g, ' ').slice(0, 300);
}

/** A sentence part if a model's inputs are unsupported. */
function wrongInputs({ inputNames, inputMetadata }: InferenceSession): string | undefined {
  const unknown = inputNames.filter((name) => !(knownInputs as readonly string[]).includes(name));
  if (unknown.length > 0) return `wants the input ${unknown.join(', ')}, which texts do not give`;
  if (!inputNames.includes(knownInputs[0])) return `has no input ${knownInputs[0]}`;
  const others = inputMetadata.filter((input) => !input.isTensor || input.type !== 'int64');
  return others.length > 0 ? 'has inputs that are not int64' : undefined;
}

/** The output with a vector for each token; undefined if there is none of this dimension. */
function tokenOutput({ outputMetadata }: InferenceSession, dimension: number): string | undefined {
  const fitting = outputMetadata.find((output) => {
    if (!output.isTensor || output.type !== 'float32' || output.shape.length !== 3) return false;
    return output.shape[2] === dimension || typeof output.shape[2] === 'string';
  });
  return fitting?.name;
}

/**
 * The sum (`mean`) or the first (`cls`) of the tokens' vectors, scaled to length 1. Sums are float64.
 * @throws Error if it has no direction: NaN, infinite, or 0
 */
function pooled(values: Float32Array, { pooling, dimension }: InstalledModel): Float32Array {
  const sums = new Float64Array(dimension);
  const tokens = pooling === 'cls' ? 1 : values.length / dimension;
  for (let token = 0; token < tokens; token += 1) {
    for (let at = 0; at < dimension; at += 1)
      sums[at] = (sums[at] ?? 0) + (values[token * dimension + at] ?? 0);
  }
  const length = Math.sqrt(sums.reduce((sum, value) => sum + value * value, 0));
  if (!(length > 0 && length < Infinity)) throw new Error('its vector is not of numbers');
  return Float32Array.from(sums, (value) => value / length);
}

/** Runs a model on one text's ids. */
type Run = (ids: BigInt64Array) => Promise<Float32Array>;

function runner(session: InferenceSession, model: InstalledModel, output: string): Run {
  return async (ids) => {
    const shape = [1, ids.length];
    const filled: Readonly<Record<(typeof knownInputs)[number], () => BigInt64Array>> = {
      input_ids: () => ids,
      attention_mask: () => new BigInt64Array(ids.length).fill(1n),
      token_type_ids: () => new BigInt64Array(ids.length),
    };
    const names = knownInputs.filter((name) => session.inputNames.includes(name));
    const feeds = Object.fromEntries(names.map((name) => [name, new Tensor('int64', filled[name](), shape)]));
    const found = (await session.run(feeds, [output]))[output];
    const { data } = found ?? {};
    if (!(data instanceof Float32Array) || data.length !== ids.length * model.dimension) {
      throw new Error(`its output is not ${ids.length} × ${model.dimension} numbers`);
    }
    return pooled(data, model);
  };
}

const tried = ['The seal of the pump leaks.', 'A vector of another text must be another one.'] as const;

function cosine(left: Float32Array, right: Float32Array): number {
  return left.reduce((sum, value, at) => sum + value * (right[at] ?? 0), 0);
}

/** Vectors of texts with different meanings never have a cosine above this. */
const SAME = 0.9999;

/** A sentence part if a model's output is wrong. */
async function selfTest(run: Run, tokenizer: SubwordTokenizer, { maxTokens }: InstalledModel) {
  const [first, other] = tried.map((text) => tokenizer.encode(Buffer.from(text)).ids) as [
    BigInt64Array,
    BigInt64Array,
  ];
  const vectors = [await run(first), await run(first), await run(other)] as const;
  if (Math.abs(cosine(vectors[0], vectors[0]) - 1) > 1e-3) return 'gives vectors that are not of length 1';
  if (vectors[0].some((value, at) => value !== vectors[1][at])) return 'gives one text two vectors';
  if (cosine(vectors[0], vectors[2]) > SAME) return 'gives two texts the same vector';
  const longest = new BigInt64Array(maxTokens).fill(first[1] ?? 0n);
  try {
    await run(longest);
  } catch {
    return `cannot read ${maxTokens} tokens, as max_tokens says`;
  }
  const largest = first.slice();
  largest[1] = BigInt(tokenizer.largestId());
  try {
    await run(largest);
  } catch {
    return `has no token ${largest[1]}, which its tokenizer has: they do not belong together`;
  }
  return undefined;
}

/** A running model, or sentences about what is wrong with it and what to do. */
export type SessionResult = { readonly session: EmbeddingSession } | { readonly wrong: string };

function refusal({ id }: InstalledModel, what: string): { readonly wrong: string } {
  return { wrong: `The model ${id} ${what}. It is not used; remove it: fusegate models remove ${id}` };
}

async function openTokenizer(model: InstalledModel, parts: SessionParts) {
  try {
    const json = await readFile(join(model.folder, 'tokenizer.json'));
    return { tokenizer: parts.openTokenizer(json, model) };
  } catch (error) {
    return refusal(model, `cannot be used: its tokenizer.json ${message(error)}`);
  }
}

async function load(model: InstalledModel, threads: number): Promise<InferenceSession> {
  // Callers report errors: the runtime's own log lines would lack time and process.
  env.logLevel = 'fatal';
  return InferenceSession.create(join(model.folder, 'model.onnx'), {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    logSeverityLevel: 4,
    // It would store a memory plan for every length, and almost every text has another length.
    enableMemPattern: false,
    // A spinning thread would take its core from threads that answer requests.
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  });
}

/** Loads a model from its checked folder, and tries it. */
export async function openSession(model: InstalledModel, parts: SessionParts): Promise<SessionResult> {
  const opened = await openTokenizer(model, parts);
  if ('wrong' in opened) return opened;
  const { tokenizer } = opened;
  let session: InferenceSession;
  try {
    session = await load(model, parts.threads);
  } catch (error) {
    return refusal(model, `cannot be loaded (${message(error)})`);
  }
  const close = (): Promise<void> => session.release();
  const refuse = async (what: string): Promise<SessionResult> => {
    await close();
    return refusal(model, what);
  };
  const wrong = wrongInputs(session);
  if (wrong !== undefined) return refuse(wrong);
  const output = tokenOutput(session, model.dimension);
  if (output === undefined) {
    return refuse(`has no output of ${model.dimension} float32 numbers for each token`);
  }
  const run = runner(session, model, output);
  try {
    const failed = await selfTest(run, tokenizer, model);
    if (failed !== undefined) return await refuse(failed);
  } catch (error) {
    return refuse(`cannot be run (${message(error)})`);
  }
  const embed = async (text: Uint8Array): Promise<TextVector> => {
    const { ids, truncated, length } = tokenizer.encode(text);
    return { vector: await run(ids), truncated, length };
  };
  return { session: { embed, close } };
}
