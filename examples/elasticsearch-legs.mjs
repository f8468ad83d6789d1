// Elasticsearch: the hits of a BM25 search and of a kNN search, their scores fused as legs, newer products
// first. Run: node examples/elasticsearch-legs.mjs
import { readFileSync } from 'node:fs';

const server = process.env.FUSEGATE_URL ?? 'http://127.0.0.1:8080';
const file = new URL('elasticsearch-legs-responses.json', import.meta.url);
const { responses } = JSON.parse(readFileSync(file, 'utf8')); // the answer of POST /products/_msearch

const docs = new Map();
for (const [at, leg] of ['es_bm25', 'es_knn'].entries()) {
  for (const { _id, _score, _source } of responses[at].hits.hits) {
    const doc = docs.get(_id) ?? { id: _id, text: _source.title, scores: {}, values: {} };
    doc.scores[leg] = _score;
    doc.values.age_days = _source.age_days;
    docs.set(_id, doc);
  }
}
const answer = await fetch(`${server}/v1/fuse`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    query: 'waterproof hiking boots',
    docs: [...docs.values()],
    legs: { es_bm25: {}, es_knn: { weight: 2, normalize: 'minmax', missing: 'min' } },
    boosts: [{ value: 'age_days', origin: 0, scale: 365, weight: 0.2 }],
    explain: true,
  }),
});
if (!answer.ok) throw new Error(await answer.text());

for (const { rank, id, fused_score: score, explain, text } of (await answer.json()).results) {
  const { es_bm25: bm25, es_knn: knn } = explain.legs;
  const [sum, factor] = [[bm25.part, knn.part], explain.boosts[0].factor];
  const parts = sum.map((part) => part.toFixed(3)).join(' + ');
  console.log(`${rank}. ${id} ${score.toFixed(3)} = (${parts}) * ${factor.toFixed(3)}  ${text}`);
}
