/** A Store on an engine: units that wait while one transaction syncs share the next (group commit). */
import { decodeCount, encodeCount, endOf, headKey, logKey, positionIn, recordKey } from './bytes.js';
import type { Engine, ReadRecord, Write } from './engine.js';
import { evaluate, keysOf, type Evaluation, type Unit } from './evaluate.js';
import { logs, spaces, type Log, type Space } from './spaces.js';
import { maxUnitBytes, maxValueBytes } from './store.js';
import type { Entry, LogEntry, LogRange, Operation, Outcome, Range, Store } from './store.js';
import type { UnitIds } from './unitId.js';

/** Most operations in one transaction: the event loop decides them in one go, in about 5 ms. */
const groupOperations = 256;

interface Waiting extends Unit {
  readonly bytes: number;
  readonly settle: (outcome: Outcome) => void;
  readonly fail: (error: unknown) => void;
}

/** Validates a unit before it is written; returns the bytes of the values that it writes and compares. */
function assertUnit(unit: Unit): number {
  if (unit.id !== undefined && unit.id.byteLength !== 16)
    throw new Error(`A unit id of ${unit.id.byteLength} bytes`);
  let bytes = 0;
  for (const operation of unit.operations) {
    const value = 'value' in operation ? operation.value : 'to' in operation ? operation.to : undefined;
    const compared = 'from' in operation ? operation.from.byteLength : 0;
    const written = value?.byteLength ?? 0;
    if (written > maxValueBytes) throw new Error(`A value of ${written} bytes`);
    bytes += written + compared;
  }
  if (bytes > maxUnitBytes) throw new Error(`A unit of ${bytes} bytes`);
  return bytes;
}

/** A store on `engine`; closing the store closes the engine. */
export function createStore(engine: Engine, newUnitId: UnitIds): Store {
  return new GroupCommitStore(engine, newUnitId);
}

class GroupCommitStore implements Store {
  private waiting: Waiting[] = [];
  private running: Promise<void> | undefined;

  constructor(
    private readonly engine: Engine,
    readonly newUnitId: UnitIds,
  ) {}

  commit(operations: readonly Operation[], id?: Uint8Array): Promise<Outcome> {
    const bytes = assertUnit({ id, operations });
    return new Promise((settle, fail) => {
      this.waiting.push({ id, operations, bytes, settle, fail });
      this.running ??= this.run();
    });
  }

  get(space: Space, key: Uint8Array): Promise<Uint8Array | undefined> {
    return this.engine.get(recordKey(space, key));
  }

  getMany(space: Space, keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]> {
    return this.engine.getMany(keys.map((key) => recordKey(space, key)));
  }

  async scan(space: Space, { from, to, limit }: Range): Promise<readonly Entry[]> {
    const byte = spaces[space];
    const reading = await this.engine.scan({
      from: from === undefined || from.byteLength === 0 ? Buffer.of(byte) : recordKey(space, from),
      to: to === undefined ? endOf(byte) : recordKey(space, to),
      limit,
    });
    return reading.map(({ key, value }) => ({ key: key.subarray(1), value }));
  }

  async read(log: Log, { after, limit }: LogRange): Promise<readonly LogEntry[]> {
    const reading = await this.engine.scan({ from: logKey(log, after + 1), to: endOf(logs[log]), limit });
    return reading.map((entry) => ({ position: positionIn(entry.key), value: entry.value }));
  }

  async last(log: Log): Promise<number> {
    const reading = await this.engine.get(headKey(log));
    return reading === undefined ? 0 : decodeCount(reading);
  }

  trim(log: Log, upTo: number, limit: number): Promise<number> {
    return this.exclusive(() =>
      this.engine.removeRange({ from: logKey(log, 0), to: logKey(log, upTo + 1), limit }),
    );
  }

  prune(space: Space, before: Uint8Array, limit: number): Promise<number> {
    const range = { from: Buffer.of(spaces[space]), to: recordKey(space, before), limit };
    return this.exclusive(() => this.engine.removeRange(range));
  }

  async probe(): Promise<void> {
    // An id makes the empty unit write something.
    await this.commit([], this.newUnitId());
  }

  async close(): Promise<void> {
    while (this.running !== undefined) await this.running;
    await this.engine.close();
  }

  /** Runs groups one after the other until no unit is pending. */
  private async run(): Promise<void> {
    // Units of the same turn of the event loop are gathered into one group.
    await Promise.resolve();
    while (this.waiting.length > 0) await this.commitGroup();
    this.running = undefined;
  }

  /** Runs a step that must not overlap a transaction of this engine object. */
  private async exclusive<Value>(step: () => Promise<Value>): Promise<Value> {
    while (this.running !== undefined) await this.running;
    const value = step();
    this.running = value.then(
      () => undefined,
      () => undefined,
    );
    try {
      return await value;
    } finally {
      this.running = this.run();
    }
  }

  /** Moves pending units to a group while they fit; an empty group accepts any first unit. */
  private fill(group: Waiting[]): void {
    let operations = 0;
    let bytes = 0;
    const hasRoom = (unit: Waiting): boolean => {
      operations += 1 + unit.operations.length;
      bytes += unit.bytes;
      return operations <= groupOperations && bytes <= maxUnitBytes;
    };
    for (const unit of group) hasRoom(unit);
    const end = this.waiting.findIndex((unit, index) => !hasRoom(unit) && group.length + index > 0);
    group.push(...this.waiting.splice(0, end < 0 ? this.waiting.length : end));
  }

  private async commitGroup(): Promise<void> {
    const group: Waiting[] = [];
    this.fill(group);
    let memory: GroupMemory | undefined;
    let outcomes: readonly Outcome[] = [];
    try {
      await this.engine.transact(
        () => {
          // Adds units that arrived while the transaction waited for its turn.
          this.fill(group);
          memory ??= this.groupMemory(group);
          return [...(memory === undefined ? [] : [memory.key]), ...keysOf(group)];
        },
        (read) => {
          const earlier = memory?.earlier(read);
          if (earlier !== undefined) {
            outcomes = earlier.outcomes;
            return earlier.again;
          }
          const evaluation = evaluate(group, read);
          outcomes = evaluation.outcomes;
          return memory?.with(evaluation) ?? evaluation.writes;
        },
      );
      group.forEach(({ settle, fail }, index) => {
        const outcome = outcomes[index];
        if (outcome === undefined) fail(new Error('A unit without an outcome'));
        else settle(outcome);
      });
    } catch (error) {
      for (const { fail } of group) fail(error);
    }
  }

  /** Records the tries of a group; undefined: not needed. */
  private groupMemory(group: readonly Unit[]): GroupMemory | undefined {
    const isNeeded = this.engine.triesAgain && group.some(({ id }) => id === undefined);
    return isNeeded ? new GroupMemory(this.newUnitId()) : undefined;
  }
}

/**
 * Shows an engine that retries which of its tries took effect: one record for all units of a group without an
 * id, written with them. It holds the number of the try.
 */
class GroupMemory {
  readonly key: Uint8Array;
  private readonly tries: (readonly Outcome[])[] = [];

  constructor(id: Uint8Array) {
    this.key = recordKey('units', id);
  }

  /**
   * Outcomes of the try that took effect, and a second write of its record; undefined: none has. A commit
   * whose connection was lost may be visible before a replica has it. The commit of the second write waits
   * for the replica, which then has the first one, too.
   */
  earlier(
    read: ReadRecord,
  ): { readonly outcomes: readonly Outcome[]; readonly again: readonly Write[] } | undefined {
    const value = read(this.key);
    if (value === undefined) return undefined;
    const outcomes = this.tries[decodeCount(value) - 1];
    if (outcomes === undefined) throw new Error('A group took effect in a try that was not made');
    return { outcomes, again: [{ key: this.key, value }] };
  }

  /** The writes of a try with its record; none if the try changes nothing. */
  with({ outcomes, writes }: Evaluation): readonly Write[] {
    this.tries.push(outcomes);
    if (writes.length === 0) return writes;
    return [...writes, { key: this.key, value: encodeCount(this.tries.length) }];
  }
}
