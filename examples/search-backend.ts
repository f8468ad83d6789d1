// A search backend in TypeScript: words from one index, meaning from another, one list. Needs: clients/typescript
import { createServer } from 'node:http';
import { Fusegate, FusegateError } from 'fusegate-client';

const fusegate = new Fusegate({ baseUrl: process.env['FUSEGATE_URL'] ?? 'http://127.0.0.1:8080' });

interface Candidate {
  readonly id: string;
  readonly text: string;
}

// In its place: the union of the hits of your indexes.
async function candidates(): Promise<Candidate[]> {
  return [
    { id: 'returns', text: 'Send it back within 30 days for a refund.' },
    { id: 'shipping', text: 'Parcels arrive within two days.' },
    { id: 'warranty', text: 'The warranty covers repairs for two years.' },
  ];
}

const server = createServer(async (request, response) => {
  const query = new URL(request.url ?? '/', 'http://localhost').searchParams.get('q') ?? '';
  try {
    const docs = await candidates();
    const { results } = await fusegate.fuse({ query, docs, embed_model: 'static-256', top_k: 2 });
    response.end(JSON.stringify(results.map(({ id, text }) => ({ id, text }))));
  } catch (error) {
    response.statusCode = error instanceof FusegateError ? 502 : 500;
    response.end(JSON.stringify({ error: String(error) }));
  }
});

server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  console.log(`Listening on ${JSON.stringify(server.address())}`);
});
