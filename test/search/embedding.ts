/** Embed mode as the tests have it: the models of this repository, really run. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import type { Embedder, InstalledModel } from '../../src/models/embedder.js';
import { native } from '../../src/native/addon.js';
import { openEmbedMode, type EmbedMode } from '../../src/search/embedMode.js';

const folder = fileURLToPath(new URL('../../../models/static-256', import.meta.url));

/** The static model that ships. */
export function staticModel(): InstalledModel {
  const manifest = readFileSync(`${folder}/fusegate.json`, 'utf8');
  const described = JSON.parse(manifest) as Record<'license' | 'provenance', string>;
  return {
    id: 'static-256',
    kind: 'static',
    digest: createHash('sha256').update(manifest).digest('hex'),
    dimension: 256,
    pooling: 'mean',
    maxTokens: 32_768,
    queryPrefix: '',
    documentPrefix: '',
    license: described.license,
    provenance: described.provenance,
    folder,
  };
}

/** An embedder for models that need none. */
function withoutProcess(models: readonly InstalledModel[]): Embedder {
  return {
    models,
    embed: (model) => Promise.reject(new Error(`${model.id} needs no embedder`)),
  };
}

/** Embed mode with the static model alone. */
export function staticMode(): EmbedMode {
  const embedder = withoutProcess([staticModel()]);
  return openEmbedMode({ ...native, embedder, fallback: 'static-256', cacheFile: null });
}

/** A server without a model. */
export function noModels(): EmbedMode {
  return openEmbedMode({ ...native, embedder: withoutProcess([]), fallback: undefined, cacheFile: null });
}

/** A request to the handler of POST /v1/fuse. */
export function requestWith(body: Uint8Array, key = '', signal = new AbortController().signal): RouteRequest {
  return {
    id: 'test',
    path: {},
    query: {},
    header: (name) => (name === 'x-api-key' ? key : ''),
    body,
    retain: () => body.slice(),
    input: undefined,
    peer: () => new Uint8Array(),
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
