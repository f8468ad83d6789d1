/**
 * Other people's rerank clients for JavaScript, unmodified, against a server, each by its own quick-start.
 *
 * Usage: clients.mjs BASE_URL LIMITED_URL; prints a line of JSON a client, as clients.py does.
 */
import { createCohere } from '@ai-sdk/cohere';
import { createVoyage } from '@ai-sdk/voyage';
import { rerank } from 'ai';
import { CohereClient, CohereClientV2 } from 'cohere-ai';
import { readFileSync } from 'node:fs';

const [, , usualBase, limitedBase] = process.argv;
let base = usualBase;
const placeholder = 'placeholder';
const wrongKey = 'fg_wrong';
/** The client would else wait a minute, twice, where the server says that a month is over. */
const once = { maxRetries: 0 };
const query = 'What is the capital of the United States?';
const usualDocuments = [
  'Carson City is the capital of Nevada.',
  'The Northern Mariana Islands are a group of islands in the Pacific Ocean.',
  'Washington, D.C. is the capital of the United States.',
];
let documents = usualDocuments;

function versionOf(name) {
  const path = new URL(`node_modules/${name}/package.json`, import.meta.url);
  return `${name} ${JSON.parse(readFileSync(path, 'utf8')).version}`;
}

async function vercel(model) {
  const { ranking } = await rerank({ model, query, documents, topN: 3, maxRetries: 0 });
  return ranking.map(({ originalIndex }) => originalIndex);
}

const clients = {
  'cohere-ai': [
    'cohere-ai',
    async (token) => {
      const client = new CohereClientV2({ token, environment: base });
      const { results } = await client.rerank({ model: 'rerank-v3.5', query, documents, topN: 3 }, once);
      return results.map(({ index }) => index);
    },
  ],
  'cohere-ai-v1': [
    'cohere-ai',
    async (token) => {
      const client = new CohereClient({ token, environment: base });
      const asked = { model: 'rerank-v3.5', query, documents, topN: 3, returnDocuments: true };
      const { results } = await client.rerank(asked, once);
      if (results.some(({ index, document }) => document?.text !== documents[index]))
        throw new Error('documents');
      return results.map(({ index }) => index);
    },
  ],
  'vercel-cohere': [
    '@ai-sdk/cohere',
    (apiKey) => vercel(createCohere({ apiKey, baseURL: `${base}/v2` }).reranking('rerank-v3.5')),
  ],
  'vercel-voyage': [
    '@ai-sdk/voyage',
    (apiKey) => vercel(createVoyage({ apiKey, baseURL: `${base}/v1` }).reranking('rerank-2.5')),
  ],
  // Without topN the request has no top_k, which tells Voyage's clients at /v1/rerank.
  'vercel-voyage-own-path': [
    '@ai-sdk/voyage',
    async (apiKey) => {
      const model = createVoyage({ apiKey, baseURL: `${base}/voyage/v1` }).reranking('rerank-2.5');
      const { ranking } = await rerank({ model, query, documents, maxRetries: 0 });
      return ranking.map(({ originalIndex }) => originalIndex);
    },
  ],
};

/** The error that a call ends in, with its message. */
async function failure(call, { key = placeholder, at = usualBase, texts = usualDocuments }) {
  [base, documents] = [at, texts];
  try {
    await call(key);
    return null;
  } catch (error) {
    const type = error.name === 'Error' ? error.constructor.name : error.name;
    return { type, text: error.message.slice(0, 1000) };
  } finally {
    [base, documents] = [usualBase, usualDocuments];
  }
}

for (const [client, [name, call]] of Object.entries(clients)) {
  let told;
  try {
    told = { client, version: versionOf(name), order: await call(placeholder) };
    told.failures = {
      key: await failure(call, { key: wrongKey }),
      many: await failure(call, { texts: Array.from({ length: 1001 }, () => 'a') }),
      large: await failure(call, { texts: ['a'.repeat(33 << 20)] }),
      limit: await failure(call, { at: limitedBase }),
    };
  } catch (error) {
    told = { client, error: `${error.name}: ${error.message}` };
  }
  console.log(JSON.stringify(told));
}

// Cohere's client leaves the timer of a failed request behind, which runs for five minutes.
process.exit();
