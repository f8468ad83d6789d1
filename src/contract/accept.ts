/** Representation that a client prefers (RFC 9110, section 12.5.1). */

/** Most ranges that are read; clients send about ten. */
const maxRanges = 100;

/** Weights of an Accept field's ranges, by their names in lower case. */
function weightsOf(accept: string): ReadonlyMap<string, number> {
  return new Map(
    accept.split(',', maxRanges).map((range): [string, number] => {
      const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
      const weight = Number(parameters.find((each) => each.startsWith('q='))?.slice(2) ?? '1');
      return [name, Number.isNaN(weight) ? 0 : weight];
    }),
  );
}

/** True if an Accept field prefers a media type to JSON. Without a preference the answer is JSON. */
export function prefers(accept: string, type: string): boolean {
  const weights = weightsOf(accept);
  const weightOf = (name: string): number =>
    weights.get(name) ?? weights.get(`${name.split('/')[0]}/*`) ?? weights.get('*/*') ?? 0;
  return weightOf(type) > weightOf('application/json');
}
