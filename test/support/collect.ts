/** Everything that a walk over the store returns. */
export async function collect<Value>(walk: AsyncIterable<Value>): Promise<Value[]> {
  const all: Value[] = [];
  for await (const each of walk) all.push(each);
  return all;
}
