/** `collapse`, `diversify` and `highlight` of POST /v1/fuse: how the list of results is made. */
import type { tags } from 'typia';
import type { Integer } from './schema/tags.js';

/** Rules by which docs count as one. */
export const collapseBy = ['text', 'group'] as const;

/** Ways to compare texts. */
export const likenessBy = ['terms', 'vectors'] as const;

/** Which docs count as one; only the best of them are returned. */
export interface FuseCollapse {
  /** `text`: docs with the same text, after NFKC and case folding; `group`: docs with the same `group`. */
  by: (typeof collapseBy)[number];
  /** Number of docs of each group to return; 1 where absent. */
  keep?: number & Integer & tags.Minimum<1> & tags.Maximum<1e6>;
}

/** Prefers results that differ from those before them: maximal marginal relevance. */
export interface FuseDiversify {
  /** Weight of the similarity to earlier results; the score has the weight 1 − `diversity`. 0: off. */
  diversity: number & tags.Minimum<0> & tags.Maximum<1>;
  /**
   * Similarity of two texts: `terms` (default), the share of their terms that they have in common; `vectors`,
   * the cosine of the vectors of the model that computes the dense scores.
   */
  by?: (typeof likenessBy)[number];
  /** Number of best docs that results are chosen from; 3 times `top_k` where absent, at most 500. */
  candidates?: number & Integer & tags.Minimum<1> & tags.Maximum<500>;
}

/** Parts of the results' texts around the query's terms. */
export interface FuseHighlight {
  /** Most code points of a fragment; 160 where absent. */
  chars?: number & Integer & tags.Minimum<20> & tags.Maximum<2000>;
  /** Most fragments of a text; 1 where absent. */
  fragments?: number & Integer & tags.Minimum<1> & tags.Maximum<10>;
}

/** Index of a code point of a text. */
type Place = number & Integer & tags.Minimum<0>;

/** A part of a text. */
export interface TextFragment {
  /** Its first code point, from 0. */
  start: Place;
  /** The code point after its last. */
  end: Place;
  /**
   * Matches of the query's terms in it, each as two indexes in the text: of its first code point, and of the
   * one after its last.
   */
  matches: Place[][];
}

/** How `diversify` chose a result: score = (1 − diversity) · relevance − diversity · similarity. */
export interface DiversifyExplanation {
  /** Fused score divided by the largest absolute fused score of the candidates. */
  relevance: number;
  /** Greatest similarity to a result before it. */
  similarity: number;
  /** The score by which it was chosen. */
  score: number;
}

/** A property of the input that makes the ranking weaker than it looks. */
export interface FuseWarning {
  /** The situation, one of a closed list. */
  code:
    | 'lexical_leg_empty'
    | 'dense_leg_flat'
    | 'dense_scores_replaced'
    | 'dense_leg_blind'
    | 'truncated_input'
    | 'text_truncated'
    | 'unknown_field';
  /** What it means here, and what to try. */
  message: string;
}
