/** Embed mode for the tests: the models of this repository, really run. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import { textAt, type Embedder, type InstalledModel } from '../../src/models/embedder.js';
import { readModelFolder } from '../../src/models/modelFolder.js';
import { native } from '../../src/native/addon.js';
import type { Corpora } from '../../src/native/index.js';
import { openEmbedMode, type EmbedMode } from '../../src/search/embedMode.js';
import { temporaryFolder } from './run.js';

const folder = fileURLToPath(new URL('../../../models/static-256', import.meta.url));

const read = await readModelFolder(folder);
if ('wrong' in read) throw new Error(read.wrong);

/** The static model that ships. */
export const staticModel: InstalledModel = read.model;

/** A model whose vectors come from elsewhere, so that a request waits for them. */
const slowModel: InstalledModel = { ...staticModel, id: 'slow', hubName: null, kind: 'onnx', dimension: 2 };

/** An embedder for both models; the vectors of `slow` are made of the texts' bytes. */
export const slowEmbedder: Embedder = {
  models: [staticModel, slowModel],
  embed: (_, texts) => {
    const places = Array.from({ length: texts.length }, (_, at) => at);
    const vectors = Float32Array.from(
      places.flatMap((at) => {
        const angle = textAt(texts, at, Infinity).reduce((sum, byte) => sum + byte, 1);
        return [Math.cos(angle), Math.sin(angle)];
      }),
    );
    return Promise.resolve({ kind: 'vectors', vectors, truncated: places.map(() => false) } as const);
  },
};

/** An embedder for models that need none. */
function withoutProcess(models: readonly InstalledModel[]): Embedder {
  return {
    models,
    embed: (model) => Promise.reject(new Error(`${model.id} needs no embedder`)),
  };
}

/** Embed mode with the static model alone. */
export function staticMode(corpora?: Corpora): EmbedMode {
  const embedder = withoutProcess([staticModel]);
  const named = corpora === undefined ? {} : { corpora };
  return openEmbedMode({ ...native, ...named, embedder, fallback: 'static-256', cacheFile: null });
}

/** A server without a model. */
export function noModels(): EmbedMode {
  return openEmbedMode({ ...native, embedder: withoutProcess([]), fallback: undefined, cacheFile: null });
}

/** Embed mode with an embedder; `cacheMb`: size of its cache in a folder of its own, 0: none. */
export function embedderMode(embedder: Embedder, fallback: string, cacheMb = 0): EmbedMode {
  if (cacheMb === 0) return openEmbedMode({ ...native, embedder, fallback, cacheFile: null });
  const cacheFile = join(temporaryFolder(), 'embeddings');
  native.prepareEmbeddings(cacheFile, cacheMb * 2 ** 20, 384);
  return openEmbedMode({ ...native, embedder, fallback, cacheFile });
}

/** A request to the handler of POST /v1/fuse. */
export function requestWith(body: Uint8Array, key = '', signal = new AbortController().signal): RouteRequest {
  return {
    id: 'test',
    path: {},
    query: {},
    header: () => '',
    ...(key === '' ? {} : { key }),
    keyed: key !== '',
    body,
    retain: () => Uint8Array.from(body),
    hold: () => undefined,
    input: undefined,
    peer: () => new Uint8Array(),
    caller: () => new Uint8Array(),
    aborted: () => signal.aborted,
    signal: () => signal,
    mayAct: true,
    head: false,
  };
}

/** An answer's body, parsed. */
export function answered({ body }: Answer): unknown {
  if ('json' in body) return JSON.parse(JSON.stringify(body.json));
  return JSON.parse(typeof body.bytes === 'string' ? body.bytes : Buffer.from(body.bytes).toString());
}
