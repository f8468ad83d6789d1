// Elasticsearch: the hits of a kNN search, as they came, fused with BM25. Run: node examples/elasticsearch.mjs
import { readFileSync } from 'node:fs';

const server = process.env.FUSEGATE_URL ?? 'http://127.0.0.1:8080';
const { hits } = JSON.parse(readFileSync(new URL('elasticsearch-response.json', import.meta.url), 'utf8'));

const docs = hits.hits.map(({ _id, _score, _source }) => ({
  id: _id,
  text: _source.title,
  dense_score: _score,
}));
const answer = await fetch(`${server}/v1/fuse`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query: 'waterproof hiking boots', docs, top_k: 3 }),
});
if (!answer.ok) throw new Error(await answer.text());

for (const { rank, id, fused_score: score, text } of (await answer.json()).results) {
  console.log(`${rank}. ${id} ${score.toFixed(3)} ${text}`);
}
