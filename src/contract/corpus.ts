/** Statistics of collections on the wire: `corpus` of POST /v1/fuse, inline or by name. */
import type { tags } from 'typia';
import type { Integer } from './schema/tags.js';
import { MAX_ERRORS, type ValidationError, validationError, valueError } from './schema/validation.js';

/**
 * Statistics of the collection that the docs come from: `docs`, `average_length` and `df`, or the `name` of
 * statistics stored on the server.
 */
export interface FuseCorpus {
  /** Number of docs in the collection. */
  docs?: number & Integer & tags.Minimum<1> & tags.Maximum<1e15>;
  /** Their mean length in tokens. */
  average_length?: number & tags.Minimum<0.01>;
  /**
   * Number of docs that have each term, with terms as the analyzer makes them; a term that is not listed is
   * in no doc.
   */
  df?: { [term: string]: number & Integer & tags.Minimum<0> };
  /** Name of statistics stored on the server: those of the request's API key, or shared ones. */
  name?: string;
  /** Version of the named statistics; a version never changes. Absent: the newest. */
  version?: number & Integer & tags.Minimum<1> & tags.Maximum<4294967295>;
}

/** The named statistics that an answer was scored with. */
export interface FuseCorpusUsed {
  /** The name as sent. */
  name: string;
  /** The version. A later request that names it is scored with the same statistics. */
  version: number & Integer & tags.Minimum<1>;
  /** Number of docs that were counted. */
  docs: number & Integer & tags.Minimum<1>;
}

/** Members of `corpus` that are inline statistics. */
const givenNames = ['docs', 'average_length', 'df'] as const;

/** Most characters of a term that an error's location repeats. */
const termCharacters = 256;

function shownTerm(term: string): string {
  const characters = Array.from(term.slice(0, 2 * termCharacters + 2));
  return characters.length > termCharacters ? `${characters.slice(0, termCharacters).join('')}…` : term;
}

/** Errors of terms that are in more docs than there are. */
function termFaults(df: FuseCorpus['df'] & object, docs: number): ValidationError[] {
  const wrong = Object.entries(df).filter(([, count]) => count > docs);
  return wrong
    .slice(0, MAX_ERRORS)
    .map(([term, count]) =>
      valueError(['body', 'corpus', 'df', shownTerm(term)], `a term is in at most ${docs} docs`, count),
    );
}

/** The error of `learn` without a name to learn under. */
export function learnFaults(learn: boolean | undefined, corpus: FuseCorpus | undefined): ValidationError[] {
  if (learn !== true || corpus?.name !== undefined) return [];
  return [valueError(['body', 'learn'], 'corpus must name the statistics that are learnt', learn)];
}

/**
 * Errors of statistics that are neither inline nor named, or both, and of terms that are in more docs than
 * there are.
 */
export function corpusFaults(corpus: FuseCorpus | undefined): ValidationError[] {
  if (corpus === undefined) return [];
  const { name, version, docs, df } = corpus;
  const given = givenNames.filter((each) => corpus[each] !== undefined);
  if (name !== undefined) {
    const sentence = 'give a name, or docs, average_length and df, but not both';
    return given.length === 0 ? [] : [valueError(['body', 'corpus'], sentence, corpus)];
  }
  const missing = givenNames.filter((each) => corpus[each] === undefined);
  if (missing.length > 0) {
    return missing.map((each) =>
      validationError('missing', ['body', 'corpus', each], 'Field required', corpus),
    );
  }
  const errors =
    version === undefined
      ? []
      : [valueError(['body', 'corpus', 'version'], 'only statistics by name have versions', version)];
  return docs === undefined || df === undefined ? errors : [...errors, ...termFaults(df, docs)];
}
