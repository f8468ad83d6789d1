/**
 * Texts to vectors, for the rest of Fusegate: the installed models, and one call. A text's vector does not
 * depend on the other texts of its call.
 */

/** Pooling: the rule that combines the vectors of a text's tokens. */
export const poolings = ['mean', 'cls'] as const;

/** A kind of model. */
interface ModelKind {
  /** Files required for every model of the kind. */
  readonly files: readonly string[];
  /**
   * True if the native module computes vectors within a request, from the whole text; else the embedder
   * process does, and `compose/models.ts` loads its runtime.
   */
  readonly immediate: boolean;
}

/** The kinds of models. */
export const modelKinds = {
  onnx: { files: ['model.onnx', 'tokenizer.json'], immediate: false },
  /** A table of word vectors. */
  static: { files: [], immediate: true },
} as const satisfies Readonly<Record<string, ModelKind>>;

/** True if a model's vectors are computed within a request, without the embedder process. */
export function isImmediate({ kind }: Pick<InstalledModel, 'kind'>): boolean {
  return modelKinds[kind].immediate;
}

/** A model with complete files. */
export interface InstalledModel {
  /** Its name in requests, which is also its folder's name. */
  readonly id: string;
  readonly kind: keyof typeof modelKinds;
  /**
   * SHA-256 (hex) of its `fusegate.json`, which contains the SHA-256 of every other file: two models that
   * could give a text different vectors have different digests.
   */
  readonly digest: string;
  /** Length of a vector: its number of components. */
  readonly dimension: number;
  readonly pooling: (typeof poolings)[number];
  /** Most tokens that it reads of a text, including special ones. */
  readonly maxTokens: number;
  /** Prefix for a query; the caller adds it. */
  readonly queryPrefix: string;
  /** Prefix for a document; the caller adds it. */
  readonly documentPrefix: string;
  /** SPDX identifier, or the makers' own words. */
  readonly license: string;
  /** Origin of its files. */
  readonly provenance: string;
  /** The hub's name for it, `owner/name`; null if it did not come from a hub. */
  readonly hubName: string | null;
  /** Absolute path of its folder. */
  readonly folder: string;
  /** Total size of its files. */
  readonly bytes: number;
}

/** Vectors of some of a call's texts. */
export interface SomeVectors {
  /** Indexes of the texts in the call, ascending. */
  readonly places: readonly number[];
  /** Concatenated, `dimension` numbers for each index; lengths as in {@link Embedded}. */
  readonly vectors: Float32Array;
  /** For each index true if the text was longer than the model reads. */
  readonly truncated: readonly boolean[];
}

/** Outcome of a call. */
export type Embedded =
  | {
      readonly kind: 'vectors';
      /**
       * Concatenated, `dimension` numbers for each text. A vector's length is 1; it is 1/2 if the model does
       * not know most of the text's tokens, and 0 if it knows none.
       */
      readonly vectors: Float32Array;
      /** For each text true if it was longer than the model reads. */
      readonly truncated: readonly boolean[];
    }
  /** The queue is full, or the call cannot meet its deadline; nothing was started. */
  | { readonly kind: 'queue_full'; readonly retryAfterSeconds: number }
  /** The deadline passed before the last text was done; `some`: the texts done by then. */
  | { readonly kind: 'too_late'; readonly some: SomeVectors }
  /** The model cannot be run, or the embedder ended meanwhile; the log has the reason. */
  | { readonly kind: 'failed' }
  /** The caller aborted first; `some`: the texts done by then. */
  | { readonly kind: 'cancelled'; readonly some: SomeVectors };

/** A unit vector scaled to another length. Powers of two do not change its numbers' digits. */
export function scaled({ vector, length }: { vector: Float32Array; length: number }): Float32Array {
  return length === 1 ? vector : vector.map((number) => number * length);
}

/** No vectors. */
export const noVectors: SomeVectors = { places: [], vectors: new Float32Array(), truncated: [] };

/** The texts of a call (UTF-8). They are read one by one, as they are needed; a list of texts is one. */
export interface Texts {
  readonly length: number;
  /** The text at an index, or its first bytes, `most` or more; undefined after the last. Its memory stays. */
  readonly at: (index: number, most: number) => Uint8Array | undefined;
}

/** The first bytes of one of a call's texts, `most` at most. @throws RangeError when there is none */
export function textAt(texts: Texts, index: number, most: number): Uint8Array {
  const text = texts.at(index, most);
  if (text === undefined) throw new RangeError(`There is no text ${index} of ${texts.length}`);
  return text.subarray(0, most);
}

/** Computes vectors of texts. */
export interface Embedder {
  /** The installed models, including the shipped ones. */
  readonly models: readonly InstalledModel[];
  /**
   * Vectors of texts, in order, by one of {@link models} that is not immediate. The texts are read until the
   * outcome is there. Never rejects.
   */
  readonly embed: (model: InstalledModel, texts: Texts, signal: AbortSignal) => Promise<Embedded>;
}
