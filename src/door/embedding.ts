/** Source of exploration's vectors: the static model that ships, in the native module. */
import type { InstalledModel } from '../models/embedder.js';
import type { DenseModels } from '../native/index.js';

/** The model. */
export const exploringModel = 'static-256';

/** Vectors of texts. */
export interface TextEmbedding {
  /** Its name in answers and files: another one where a text could get another vector. */
  readonly method: string;
  /** int8 numbers, all 0 where the text has no words that the model knows. */
  readonly embedText: (text: string) => Buffer;
}

/** The name of what makes vectors: the model's id and the beginning of its digest; undefined without it. */
export function exploringMethod(models: readonly InstalledModel[]): string | undefined {
  const model = models.find(({ id, kind }) => id === exploringModel && kind === 'static');
  return model === undefined ? undefined : `${model.id}@${model.digest.slice(0, 12)}`;
}

/** The embedding of exploration. @throws Error where the model is not installed */
export function textEmbedding(
  models: readonly InstalledModel[],
  dense: Pick<DenseModels, 'embedStatic'>,
): TextEmbedding {
  const method = exploringMethod(models);
  if (method === undefined) throw new Error(`Exploring fragments needs the model ${exploringModel}.`);
  return { method, embedText: (text) => dense.embedStatic(exploringModel, text) };
}
