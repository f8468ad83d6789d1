/** Effects of units, as a pure function of the store's contents, the same for every engine. */
import { decodeCount, encodeCount, headKey, logKey, recordKey, textOf } from './bytes.js';
import type { ReadRecord, Write } from './engine.js';
import { decodeLease } from './leaseRecord.js';
import type { Operation, Outcome } from './store.js';

/** Operations that take effect together. */
export interface Unit {
  /** 16 bytes, the same for every retry. Undefined: the caller does not retry, and no outcome is stored. */
  readonly id: Uint8Array | undefined;
  readonly operations: readonly Operation[];
}

/** Outcomes of units, in their order, and the writes for them. */
export interface Evaluation {
  readonly outcomes: readonly Outcome[];
  readonly writes: readonly Write[];
}

/** Every key that evaluating the units may read. */
export function keysOf(units: readonly Unit[]): Uint8Array[] {
  const keys = new Map<string, Uint8Array>();
  const add = (key: Uint8Array): unknown => keys.set(textOf(key), key);
  for (const unit of units) {
    if (unit.id !== undefined) add(recordKey('units', unit.id));
    for (const operation of unit.operations) {
      if (operation.kind === 'append') add(headKey(operation.log));
      else if (operation.kind === 'amend') add(logKey(operation.log, operation.position));
      else if (operation.kind === 'fence') add(leaseKey(operation.lease));
      else if (operation.kind !== 'put') add(recordKey(operation.space, operation.key));
    }
  }
  return [...keys.values()];
}

function leaseKey(lease: string): Uint8Array {
  return recordKey('leases', Buffer.from(lease));
}

/** Records as a transaction reads them, overlaid with the changes of earlier units. */
class View {
  private readonly changed = new Map<string, Write>();

  constructor(private readonly below: ReadRecord) {}

  read(key: Uint8Array): Uint8Array | undefined {
    const write = this.changed.get(textOf(key));
    return write === undefined ? this.below(key) : write.value;
  }

  write(key: Uint8Array, value: Uint8Array | undefined): void {
    this.changed.set(textOf(key), { key, value });
  }

  /** Takes over the changes of a view on top of this one. */
  adopt(upper: View): void {
    for (const [text, write] of upper.changed) this.changed.set(text, write);
  }

  writes(): Write[] {
    return [...this.changed.values()];
  }
}

/** Applies the units one after the other; a unit that fails does not affect the others. */
export function evaluate(units: readonly Unit[], read: ReadRecord): Evaluation {
  const view = new View(read);
  const outcomes = units.map((unit) => evaluateUnit(unit, view));
  return { outcomes, writes: view.writes() };
}

function evaluateUnit(unit: Unit, view: View): Outcome {
  const idKey = unit.id === undefined ? undefined : recordKey('units', unit.id);
  const earlier = idKey === undefined ? undefined : view.read(idKey);
  if (idKey !== undefined && earlier !== undefined) {
    // Written again, so that this commit waits for a replica as the first one should have.
    view.write(idKey, earlier);
    return { kind: 'done', positions: decodePositions(earlier) };
  }
  const own = new View((key) => view.read(key));
  const positions: number[] = [];
  for (const [index, operation] of unit.operations.entries()) {
    const failed = apply(operation, index, own, positions);
    if (failed !== undefined) return failed;
  }
  if (idKey !== undefined) own.write(idKey, encodePositions(positions));
  view.adopt(own);
  return { kind: 'done', positions };
}

/** Applies one operation to `view`, or returns the outcome that ends the unit. */
function apply(operation: Operation, index: number, view: View, positions: number[]): Outcome | undefined {
  switch (operation.kind) {
    case 'append':
      positions.push(append(operation, view));
      return undefined;
    case 'fence': {
      const record = view.read(leaseKey(operation.lease));
      const held = record !== undefined && decodeLease(record).token === operation.token;
      return held ? undefined : { kind: 'refused', reason: 'fenced' };
    }
    case 'put':
      view.write(recordKey(operation.space, operation.key), operation.value);
      return undefined;
    default:
      return compareAndSet(operation, index, view);
  }
}

function append({ log, value, place }: Operation & { kind: 'append' }, view: View): number {
  const key = headKey(log);
  const head = view.read(key);
  const position = head === undefined ? 1 : decodeCount(head) + 1;
  view.write(key, encodeCount(position));
  view.write(logKey(log, position), value);
  if (place !== undefined) view.write(recordKey(place.space, place.key), encodeCount(position));
  return position;
}

type Conditional = Extract<Operation, { kind: 'insert' | 'replace' | 'amend' }>;

function compareAndSet(operation: Conditional, index: number, view: View): Outcome | undefined {
  const key =
    operation.kind === 'amend'
      ? logKey(operation.log, operation.position)
      : recordKey(operation.space, operation.key);
  const record = view.read(key);
  const [wanted, value] =
    operation.kind === 'insert' ? [undefined, operation.value] : [operation.from, operation.to];
  if (!same(record, wanted)) return { kind: 'conflict', operation: index, record };
  view.write(key, value);
  return undefined;
}

function same(left: Uint8Array | undefined, right: Uint8Array | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return Buffer.compare(left, right) === 0;
}

function encodePositions(positions: readonly number[]): Uint8Array {
  return Buffer.concat(positions.map(encodeCount));
}

function decodePositions(bytes: Uint8Array): number[] {
  const positions: number[] = [];
  for (let at = 0; at < bytes.byteLength; at += 8) positions.push(decodeCount(bytes.subarray(at)));
  return positions;
}
