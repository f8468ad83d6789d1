/** The vectors of exploration: from the static model that ships, in the native module. */
import type { InstalledModel } from '../models/embedder.js';
import type { DenseModels } from '../native/index.js';

/** Id of the model. */
export const exploringModel = 'static-256';

/** Vectors of texts. */
export interface TextEmbedding {
  /** Its name in answers and files; it changes whenever a text's vector could change. */
  readonly method: string;
  /** int8 numbers; all 0 if the model knows none of the text's words. */
  readonly embedText: (text: string) => Buffer;
}

/**
 * The name of the source of vectors: the model's id and the first characters of its digest; undefined if the
 * model is not installed.
 */
export function exploringMethod(models: readonly InstalledModel[]): string | undefined {
  const model = models.find(({ id, kind }) => id === exploringModel && kind === 'static');
  return model === undefined ? undefined : `${model.id}@${model.digest.slice(0, 12)}`;
}

/** The embedding of exploration. @throws Error if the model is not installed */
export function textEmbedding(
  models: readonly InstalledModel[],
  dense: Pick<DenseModels, 'embedStatic'>,
): TextEmbedding {
  const method = exploringMethod(models);
  if (method === undefined) throw new Error(`Exploring fragments needs the model ${exploringModel}.`);
  return { method, embedText: (text) => dense.embedStatic(exploringModel, text) };
}
