/** The store's contract, read naively: maps in memory, a unit tried on a copy. */
import type { Log, Space } from '../../src/store/spaces.js';
import type { Unit } from '../../src/store/evaluate.js';
import type { Outcome } from '../../src/store/store.js';

/** Everything a store holds, as hex. */
interface State {
  /** By `space/key`. */
  records: Map<string, string>;
  /** By log: values by position; undefined where one was removed. */
  logs: Map<Log, (string | undefined)[]>;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const bytes = (text: string | undefined): Uint8Array | undefined =>
  text === undefined ? undefined : Buffer.from(text, 'hex');

/** A store of one process, without durability and without leases' records. */
export class ReferenceStore {
  private state: State = { records: new Map(), logs: new Map() };
  private readonly done = new Map<string, Outcome>();

  /** @param tokens fencing numbers of the leases that are held */
  constructor(private readonly tokens: Readonly<Record<string, number>> = {}) {}

  commit(unit: Unit): Outcome {
    const earlier = unit.id === undefined ? undefined : this.done.get(hex(unit.id));
    if (earlier !== undefined) return earlier;
    const trial: State = structuredClone(this.state);
    const positions: number[] = [];
    for (const [index, operation] of unit.operations.entries()) {
      const failed = this.apply(trial, operation, index, positions);
      if (failed !== undefined) return failed;
    }
    this.state = trial;
    const outcome: Outcome = { kind: 'done', positions };
    if (unit.id !== undefined) this.done.set(hex(unit.id), outcome);
    return outcome;
  }

  get(space: Space, key: Uint8Array): Uint8Array | undefined {
    return bytes(this.state.records.get(`${space}/${hex(key)}`));
  }

  /** Records of a space in the order of their keys. */
  scan(space: Space): { readonly key: Uint8Array; readonly value: Uint8Array }[] {
    return [...this.state.records]
      .filter(([name]) => name.startsWith(`${space}/`))
      .map(([name, value]) => ({
        key: Buffer.from(name.slice(space.length + 1), 'hex'),
        value: Buffer.from(value, 'hex'),
      }))
      .sort((left, right) => Buffer.compare(left.key, right.key));
  }

  /** Entries of a log that are there. */
  read(log: Log): { readonly position: number; readonly value: Uint8Array }[] {
    return (this.state.logs.get(log) ?? []).flatMap((value, index) =>
      value === undefined ? [] : [{ position: index + 1, value: Buffer.from(value, 'hex') }],
    );
  }

  last(log: Log): number {
    return this.state.logs.get(log)?.length ?? 0;
  }

  private apply(
    { records, logs }: State,
    operation: Unit['operations'][number],
    index: number,
    positions: number[],
  ): Outcome | undefined {
    if (operation.kind === 'fence') {
      return this.tokens[operation.lease] === operation.token
        ? undefined
        : { kind: 'refused', reason: 'fenced' };
    }
    if (operation.kind === 'append') {
      const entries = logs.get(operation.log) ?? [];
      logs.set(operation.log, [...entries, hex(operation.value)]);
      positions.push(entries.length + 1);
      if (operation.place !== undefined) {
        const { space, key } = operation.place;
        records.set(`${space}/${hex(key)}`, (entries.length + 1).toString(16).padStart(16, '0'));
      }
      return undefined;
    }
    if (operation.kind === 'amend') {
      const entries = logs.get(operation.log) ?? [];
      const present = entries[operation.position - 1];
      if (present !== hex(operation.from))
        return { kind: 'conflict', operation: index, record: bytes(present) };
      entries[operation.position - 1] = operation.to === undefined ? undefined : hex(operation.to);
      return undefined;
    }
    const name = `${operation.space}/${hex(operation.key)}`;
    const present = records.get(name);
    const wanted = operation.kind === 'replace' ? hex(operation.from) : undefined;
    if (operation.kind !== 'put' && present !== wanted) {
      return { kind: 'conflict', operation: index, record: bytes(present) };
    }
    const next = operation.kind === 'replace' ? operation.to : operation.value;
    if (next === undefined) records.delete(name);
    else records.set(name, hex(next));
    return undefined;
  }
}
