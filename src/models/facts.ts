/**
 * Facts of a model in a sentence-transformers folder: `config.json`, `1_Pooling/config.json`,
 * `sentence_bert_config.json`, `modules.json`, `config_sentence_transformers.json`.
 */
import type { InstalledModel } from './embedder.js';

/** The files with these facts, by path in the folder. */
export const factFiles = [
  'config.json',
  '1_Pooling/config.json',
  'sentence_bert_config.json',
  'modules.json',
  'config_sentence_transformers.json',
] as const;

/** The texts of the files that exist. */
export type FactTexts = Partial<Record<(typeof factFiles)[number], string>>;

/** Facts that running a model needs. */
export interface ModelFacts {
  readonly dimension: number;
  readonly pooling: InstalledModel['pooling'];
  readonly max_tokens: number;
  readonly query_prefix: string;
  readonly document_prefix: string;
}

/** The operator's replacements for them. */
export interface GivenFacts {
  readonly pooling?: InstalledModel['pooling'] | undefined;
  readonly maxTokens?: number | undefined;
  readonly queryPrefix?: string | undefined;
  readonly documentPrefix?: string | undefined;
}

type Members = Readonly<Record<string, unknown>>;

function membersOf(text: string | undefined): Members {
  if (text === undefined) return {};
  try {
    return Object(JSON.parse(text)) as Members;
  } catch {
    return {};
  }
}

function whole(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The pooling in `1_Pooling/config.json`; undefined: unsupported, several, or no file. */
function poolingOf(members: Members): InstalledModel['pooling'] | undefined {
  const on = Object.keys(members).filter((name) => /^pooling_mode_/.test(name) && members[name] === true);
  const mode = on.length === 1 ? on[0] : text(members['pooling_mode']);
  if (mode === 'pooling_mode_mean_tokens' || mode === 'mean') return 'mean';
  return mode === 'pooling_mode_cls_token' || mode === 'cls' ? 'cls' : undefined;
}

/** Architectures whose position tables begin with two unused entries. */
const offsetPositions = ['roberta', 'xlm-roberta', 'camembert', 'mpnet'];

/** Most tokens that the model reads: sentence-transformers' limit, but at most its number of positions. */
function lengthOf(config: Members, sentence: Members): number | undefined {
  const positions = whole(config['max_position_embeddings']);
  const offset = offsetPositions.includes(text(config['model_type']) ?? '') ? 2 : 0;
  const most = positions === undefined ? undefined : positions - offset;
  const read = whole(sentence['max_seq_length']);
  if (read === undefined) return most;
  return most === undefined ? read : Math.min(read, most);
}

/** Steps that can be run. Normalize has no effect: vectors are scaled to length 1 anyway. */
const knownModules = /\.(Transformer|Pooling|Normalize)$/;

/** Types of steps in `modules.json` that cannot be run. */
function unknownModules(listed: unknown): string[] {
  const modules = Array.isArray(listed) ? (listed as readonly unknown[]) : [];
  const types = modules.map((module) => text((Object(module) as Members)['type']) ?? 'one without a type');
  return types.filter((type) => !knownModules.test(type));
}

/** Models whose makers recommend a query prefix that none of their files contains. */
const advisedQueryPrefixes: readonly (readonly [RegExp, string])[] = [
  [/^bge-(small|base|large)-en(-v1\.5)?$/, 'Represent this sentence for searching relevant passages: '],
];

function prefixes(prompts: Members, id: string, given: GivenFacts) {
  const advised = advisedQueryPrefixes.find(([pattern]) => pattern.test(id))?.[1];
  return {
    query_prefix: given.queryPrefix ?? text(prompts['query']) ?? advised ?? '',
    document_prefix: given.documentPrefix ?? text(prompts['document']) ?? text(prompts['passage']) ?? '',
  };
}

/** Reads the facts of a model called `id`, or returns sentences about what is missing. */
export function readFacts(
  texts: FactTexts,
  id: string,
  given: GivenFacts,
): { readonly facts: ModelFacts } | { readonly wrong: string } {
  const config = membersOf(texts['config.json']);
  const unknown = unknownModules(membersOf(texts['modules.json']));
  if (unknown.length > 0) {
    return { wrong: `Its modules.json has steps that Fusegate does not run: ${unknown.join(', ')}.` };
  }
  const dimension = whole(config['hidden_size']);
  if (texts['config.json'] === undefined) return { wrong: 'It has no config.json.' };
  if (dimension === undefined) return { wrong: 'Its config.json does not say its hidden_size.' };
  const pooling = given.pooling ?? poolingOf(membersOf(texts['1_Pooling/config.json']));
  if (pooling === undefined) {
    return { wrong: 'Its 1_Pooling/config.json names neither mean nor cls. Set --pooling if you know it.' };
  }
  const sentence = membersOf(texts['sentence_bert_config.json']);
  const max_tokens = given.maxTokens ?? lengthOf(config, sentence);
  if (max_tokens === undefined) {
    return { wrong: 'No file says how many tokens it reads. Set --max-tokens if you know it.' };
  }
  const prompts = Object(membersOf(texts['config_sentence_transformers.json'])['prompts']) as Members;
  return { facts: { dimension, pooling, max_tokens, ...prefixes(prompts, id, given) } };
}
