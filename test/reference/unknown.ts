/** Members of a FuseRequest that nobody knows, and the warnings that name them. */
import type { ReferenceResponse, ReferenceWarning } from './fuse.js';

const known: Readonly<Record<string, readonly string[]>> = {
  'the request': [
    ...['query', 'docs', 'method', 'tokenizer', 'top_k', 'weights', 'k1', 'b', 'rrf_k', 'return_text'],
    ...['explain', 'embed_model', 'entity_map', 'analyzer', 'corpus', 'on_missing_dense', 'dense_kind'],
    ...['min_score', 'legs', 'boosts', 'collapse', 'diversify', 'highlight', 'learn', 'profile'],
  ],
  'a doc': ['id', 'text', 'dense_score', 'scores', 'values', 'group'],
  weights: ['bm25', 'dense'],
  analyzer: ['stemmer', 'stopwords', 'fold_accents', 'normalize'],
  'a leg': ['weight', 'normalize', 'missing'],
  collapse: ['by', 'keep'],
  diversify: ['diversity', 'by', 'candidates'],
  highlight: ['chars', 'fragments'],
  'a boost': ['value', 'origin', 'scale', 'offset', 'decay', 'function', 'weight'],
};

/** Fewest bytes to put in, take out or change. */
function changes(one: string, other: string): number {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  const table = Array.from({ length: left.length + 1 }, (_, at) => [at]);
  const cell = (at: number, to: number): number => table[at]?.[to] ?? NaN;
  for (let to = 1; to <= right.length; to++) table[0]?.push(to);
  for (let at = 1; at <= left.length; at++) {
    for (let to = 1; to <= right.length; to++) {
      const changed = cell(at - 1, to - 1) + (left[at - 1] === right[to - 1] ? 0 : 1);
      table[at]?.push(Math.min(changed, cell(at - 1, to) + 1, cell(at, to - 1) + 1));
    }
  }
  return cell(left.length, right.length);
}

function plain(name: string): string {
  return name.replaceAll(/[_-]/g, '').replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The nearest known name, where less than half of it would change. */
function nearest(name: string, names: readonly string[]): string | undefined {
  const near = names.map((other) => ({ other, count: changes(plain(name), plain(other)) }));
  const bytes = (text: string): number => Buffer.byteLength(plain(text));
  const fit = near.filter(({ other, count }) => 2 * count < Math.max(bytes(name), bytes(other)));
  const least = Math.min(...fit.map(({ count }) => count));
  return fit.find(({ count }) => count === least)?.other;
}

function strangers(owner: unknown, place: string): { name: string; place: string }[] {
  if (typeof owner !== 'object' || owner === null) return [];
  const names = Object.keys(owner).filter((name) => known[place]?.includes(name) === false);
  return names.map((name) => ({ name: Buffer.byteLength(name) > 64 ? '…' : name, place }));
}

/** The warnings of a request as it was sent. */
function unknownFields(request: Readonly<Record<string, unknown>>): ReferenceWarning[] {
  const each = (owners: unknown, place: string) =>
    Object.values((owners ?? {}) as Readonly<Record<string, unknown>>).flatMap((owner) =>
      strangers(owner, place),
    );
  const all = [
    ...strangers(request, 'the request'),
    ...each(request['docs'], 'a doc'),
    ...strangers(request['weights'], 'weights'),
    ...strangers(request['analyzer'], 'analyzer'),
    ...each(request['legs'], 'a leg'),
    ...each(request['boosts'], 'a boost'),
    ...strangers(request['collapse'], 'collapse'),
    ...strangers(request['diversify'], 'diversify'),
    ...strangers(request['highlight'], 'highlight'),
  ];
  const first = all.filter(({ name }, at) => all.findIndex((other) => other.name === name) === at);
  return first.slice(0, 10).map(({ name, place }) => {
    const meant = nearest(name, known[place] ?? []);
    const hint = meant === undefined ? '.' : `: is it "${meant}"?`;
    return { code: 'unknown_field', message: `"${name}" is not a member of ${place} and was ignored${hint}` };
  });
}

/** An answer with the warnings of the unknown members in the bytes of its request. */
export function withUnknown(expected: ReferenceResponse, body: Uint8Array): ReferenceResponse {
  const request = JSON.parse(new TextDecoder().decode(body)) as Readonly<Record<string, unknown>>;
  const warnings = [...(expected.warnings ?? []), ...unknownFields(request)];
  return warnings.length === 0 ? expected : { ...expected, warnings };
}
