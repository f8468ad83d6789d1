/** A map of bounded size. */

/** A map of at most `most` entries: the first one added is removed first. */
export class BoundedMap<Key, Value> {
  private readonly entries = new Map<Key, Value>();

  constructor(private readonly most: number) {}

  get(key: Key): Value | undefined {
    return this.entries.get(key);
  }

  set(key: Key, value: Value): void {
    this.entries.set(key, value);
    for (const first of this.entries.keys()) {
      if (this.entries.size <= this.most) return;
      this.entries.delete(first);
    }
  }
}
