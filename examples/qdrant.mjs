// Qdrant: scored points with their payloads, fused with BM25. Run: node examples/qdrant.mjs
const server = process.env.FUSEGATE_URL ?? 'http://127.0.0.1:8080';

// As client.query('articles', { query: vector, with_payload: true, limit: 100 }) gives them.
const points = [
  { id: 17, version: 3, score: 0.612, payload: { text: 'A loan with a fixed rate keeps its instalment.' } },
  { id: 4, version: 3, score: 0.608, payload: { text: 'How to cancel a direct debit (SEPA) in the app' } },
  {
    id: 92,
    version: 3,
    score: 0.55,
    payload: { text: 'Error E-4021 when a direct debit is cancelled twice' },
  },
];

const docs = points.map(({ id, score, payload }) => ({
  id: String(id),
  text: payload.text,
  dense_score: score,
}));
const answer = await fetch(`${server}/v1/fuse`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query: 'E-4021 direct debit', docs, explain: true }),
});
if (!answer.ok) throw new Error(await answer.text());

for (const { id, explain, text } of (await answer.json()).results) {
  const parts = `words ${explain.bm25_part.toFixed(3)} meaning ${explain.dense_part.toFixed(3)}`;
  console.log(`${id}: ${parts} ${text}`);
}
