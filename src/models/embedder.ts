/**
 * Texts to vectors, as the rest of Fusegate sees it: the installed models, and one call. The
 * same text gets the same vector in any company.
 */

/** Pooling: the rule that makes the vectors of a text's tokens one. */
export const poolings = ['mean', 'cls'] as const;

/** A kind of model. */
interface ModelKind {
  /** Files that every model of the kind has. */
  readonly files: readonly string[];
  /**
   * True if the native module makes its vectors within a request, from the whole text; else the embedder
   * process does, whose runtime `compose/models.ts` loads.
   */
  readonly immediate: boolean;
}

/** The kinds of models. */
export const modelKinds = {
  onnx: { files: ['model.onnx', 'tokenizer.json'], immediate: false },
  /** A table of the vectors of words. */
  static: { files: [], immediate: true },
} as const satisfies Readonly<Record<string, ModelKind>>;

/** True if a model's vectors are made within a request, without the embedder process. */
export function isImmediate({ kind }: Pick<InstalledModel, 'kind'>): boolean {
  return modelKinds[kind].immediate;
}

/** A model whose files were found whole. */
export interface InstalledModel {
  /** Its name in requests and that of its folder. */
  readonly id: string;
  readonly kind: keyof typeof modelKinds;
  /**
   * SHA-256 (hex) of its `fusegate.json`, which has the SHA-256 of every other file: two models that could
   * give a text different vectors have different digests.
   */
  readonly digest: string;
  /** Numbers of a vector. */
  readonly dimension: number;
  readonly pooling: (typeof poolings)[number];
  /** Tokens that it reads of a text, special ones included. */
  readonly maxTokens: number;
  /** Prefix of a query; the caller adds it. */
  readonly queryPrefix: string;
  /** Prefix of a document; the caller adds it. */
  readonly documentPrefix: string;
  /** SPDX identifier, or what its makers say. */
  readonly license: string;
  /** Where its files came from. */
  readonly provenance: string;
  /** The hub's name for it, `owner/name`; null where it did not come from a hub. */
  readonly hubName: string | null;
  /** Absolute path of its folder. */
  readonly folder: string;
  /** Length of its files in all. */
  readonly bytes: number;
}

/** Vectors of some of a call's texts. */
export interface SomeVectors {
  /** The texts, by their places in the call, ascending. */
  readonly places: readonly number[];
  /** One after the other, `dimension` numbers for each place; of the lengths of {@link Embedded}. */
  readonly vectors: Float32Array;
  /** For each place whether the text was longer than the model reads. */
  readonly truncated: readonly boolean[];
}

/** Outcome of a call. */
export type Embedded =
  | {
      readonly kind: 'vectors';
      /**
       * One after the other, `dimension` numbers for each text. A vector's length is 1, 1/2 where the model
       * does not know most of the text's tokens, and 0 where it knows none.
       */
      readonly vectors: Float32Array;
      /** True if a text was longer than the model reads. */
      readonly truncated: readonly boolean[];
    }
  /** Too many texts wait, or more than can be done by the deadline; nothing was begun. */
  | { readonly kind: 'queue_full'; readonly retryAfterSeconds: number }
  /** The deadline passed before the last text's turn; `some`: what was done until then. */
  | { readonly kind: 'too_late'; readonly some: SomeVectors }
  /** The model cannot be run, or the embedder ended meanwhile; the log says why. */
  | { readonly kind: 'failed' }
  /** The caller's signal came first; `some`: what was done until then. */
  | { readonly kind: 'cancelled'; readonly some: SomeVectors };

/** A unit vector of another length. Powers of two leave the digits of its numbers as they are. */
export function scaled({ vector, length }: { vector: Float32Array; length: number }): Float32Array {
  return length === 1 ? vector : vector.map((number) => number * length);
}

/** No vectors at all. */
export const noVectors: SomeVectors = { places: [], vectors: new Float32Array(), truncated: [] };

/** Makes vectors of texts. */
export interface Embedder {
  /** The installed models; the ones that ship are among them. */
  readonly models: readonly InstalledModel[];
  /**
   * Vectors of texts (UTF-8), in their order, by one of {@link models} that is not immediate. Texts are read
   * when it is called: their memory may be used again at once. Never rejects.
   */
  readonly embed: (
    model: InstalledModel,
    texts: readonly Uint8Array[],
    signal: AbortSignal,
  ) => Promise<Embedded>;
}
