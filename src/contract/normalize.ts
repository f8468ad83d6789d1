/** `POST /v1/normalize` on the wire (contract, NormalizeRequest; the rest are marked extensions). */
import type { tags } from 'typia';
import type { Integer, MaxCodePoints } from './tags.js';

/** What is done with what can be glossed. */
export const normalizeModes = ['augment', 'replace', 'repair'] as const;

/** A text to repair and gloss. */
export interface NormalizeRequest {
  /** The text. */
  text: string & MaxCodePoints<100000>;
  /** `augment`: a gloss in parentheses after each item; `replace`: in its place; `repair`: no glosses. */
  mode?: (typeof normalizeModes)[number];
  /** Surface form to gloss, longest match first. */
  chinese_glosses?: { [surface: string]: string } | null;
  /** True: confusables map to Latin only inside a word whose other letters are Latin. */
  contextual?: boolean;
  /** Changes to list at most. */
  max_changes?: number & Integer & tags.Minimum<0>;
  /** True: the answer carries the confusable skeleton (UTS #39). */
  include_skeleton?: boolean;
}

/** What a request that leaves a field out gets. */
export const normalizeDefaults = {
  mode: 'augment',
  contextual: true,
  max_changes: 1000,
  include_skeleton: false,
} as const satisfies Partial<NormalizeRequest>;

/** Request fields beyond the contract's. */
export const normalizeExtensions = [
  'max_changes',
  'include_skeleton',
] as const satisfies (keyof NormalizeRequest)[];

/** One edit; positions are code points of the input. */
export interface NormalizeChange {
  /** First code point replaced. */
  start: number & Integer & tags.Minimum<0>;
  /** Code point after the last one replaced. */
  end: number & Integer & tags.Minimum<0>;
  /** What stood there. */
  original: string;
  /** What stands there now. */
  replacement: string;
  /** Which kind of repair or gloss. */
  kind: string;
  /** Why, in words. */
  reason: string;
}

/** Versions of the Unicode data behind an answer. */
export interface DataVersions {
  /** Unicode version. */
  unicode: string;
  /** CLDR version. */
  cldr: string;
}

/** The normalized text and every change made. */
export interface NormalizeResponse {
  /** The text as it came. */
  text: string;
  /** The text after the changes. */
  normalized: string;
  /** The mode that was used. */
  mode: string;
  /** Whether anything changed. */
  changed: boolean;
  /** The changes, by position. */
  changes: NormalizeChange[];
  /** Present when there were more changes than are listed. */
  changes_truncated?: true;
  /** Changes by kind. */
  stats: { [kind: string]: number & Integer };
  /** Present when the request asked for it. */
  skeleton?: string;
  data_versions: DataVersions;
  /** Code points of the input. */
  chars: number & Integer;
}
