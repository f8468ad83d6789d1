/** `collapse`, `diversify` and `highlight` of POST /v1/fuse: what becomes of the list of results. */
import type { tags } from 'typia';
import type { Integer } from './schema/tags.js';

/** Docs that count as one. */
export const collapseBy = ['text', 'group'] as const;

/** Ways to compare texts. */
export const likenessBy = ['terms', 'vectors'] as const;

/** Docs that count as one, of which the best stay. */
export interface FuseCollapse {
  /** `text`: those of one text, after NFKC and case folding; `group`: those of one `group`. */
  by: (typeof collapseBy)[number];
  /** Number of them that stay; 1 where absent. */
  keep?: number & Integer & tags.Minimum<1> & tags.Maximum<1e6>;
}

/** Results that are less like those before them: maximal marginal relevance. */
export interface FuseDiversify {
  /** Share of the likeness, against that of the score; 0: off. */
  diversity: number & tags.Minimum<0> & tags.Maximum<1>;
  /**
   * Likeness of two texts: `terms` (default), the share of their terms that they have in common; `vectors`,
   * the cosine of the vectors of the model that computes the dense scores.
   */
  by?: (typeof likenessBy)[number];
  /** The best docs, among which the next result is chosen; 3 times `top_k` where absent, 500 at most. */
  candidates?: number & Integer & tags.Minimum<1> & tags.Maximum<500>;
}

/** Parts of the results' texts around the query's terms. */
export interface FuseHighlight {
  /** Most code points of a fragment; 160 where absent. */
  chars?: number & Integer & tags.Minimum<20> & tags.Maximum<2000>;
  /** Most fragments of a text; 1 where absent. */
  fragments?: number & Integer & tags.Minimum<1> & tags.Maximum<10>;
}

/** A code point of a text. */
type Place = number & Integer & tags.Minimum<0>;

/** A part of a text. */
export interface TextFragment {
  /** Its first code point, from 0. */
  start: Place;
  /** The one after its last. */
  end: Place;
  /** The places of the query's terms in it, as first code point and the one after the last, of the text. */
  matches: Place[][];
}

/** How `diversify` chose a result: score = (1 − diversity) · relevance − diversity · similarity. */
export interface DiversifyExplanation {
  /** Fused score divided by the largest absolute one of the candidates. */
  relevance: number;
  /** Greatest likeness to a result before it. */
  similarity: number;
  /** The score by which it was chosen. */
  score: number;
}

/** Something about the input that makes the ranking weaker than it looks. */
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
  /** Its meaning here, and what to try. */
  message: string;
}
