/** Random units against the naive store, on an engine as it is and on one with injected faults. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createStore } from '../../src/store/groupCommit.js';
import { encodeLease } from '../../src/store/leaseRecord.js';
import type { Log, Space } from '../../src/store/spaces.js';
import type { Unit } from '../../src/store/evaluate.js';
import { whenUnavailable, type Operation, type Store } from '../../src/store/store.js';
import { ReferenceStore } from '../reference/store.js';
import { faultyEngine, type Fault } from './faultyEngine.js';
import { engineAt, newUnitId, storeAt } from '../support/openStore.js';
import { bytes, type Subject } from './subject.js';

const logs: readonly Log[] = ['leads', 'clicks'];
const spaces: readonly Space[] = ['keys', 'optouts'];

/** A step whose compared value is taken from what is there when it is sent. */
type Step =
  | { readonly kind: 'put' | 'insert'; readonly space: Space; readonly key: string; readonly value: string }
  | {
      readonly kind: 'replace';
      readonly space: Space;
      readonly key: string;
      readonly stale: boolean;
      readonly to: string | undefined;
    }
  | {
      readonly kind: 'append';
      readonly log: Log;
      readonly value: string;
      readonly place: string | undefined;
    }
  | {
      readonly kind: 'amend';
      readonly log: Log;
      readonly back: number;
      readonly stale: boolean;
      readonly to: string | undefined;
    }
  | { readonly kind: 'fence'; readonly token: number };

const key = fc.constantFrom('a', 'b', 'c', '\u00ff');
const value = fc.string({ maxLength: 8 });
const space = fc.constantFrom(...spaces);
const log = fc.constantFrom(...logs);
const to = fc.option(value, { nil: undefined, freq: 3 });
const stale = fc.nat(4).map((number) => number === 0);

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('put' as const, 'insert' as const), space, key, value }),
  fc.record({ kind: fc.constant('replace' as const), space, key, stale, to }),
  fc.record({ kind: fc.constant('append' as const), log, value, place: fc.option(key, { nil: undefined }) }),
  fc.record({ kind: fc.constant('amend' as const), log, back: fc.nat(3), stale, to }),
  fc.record({ kind: fc.constant('fence' as const), token: fc.constantFrom(7, 7, 7, 6) }),
);

/** Units that are sent together; `again` sends one of the last units once more. */
const group = fc.array(fc.oneof({ weight: 5, arbitrary: fc.array(step, { maxLength: 5 }) }, fc.nat(5)), {
  minLength: 1,
  maxLength: 4,
});

/** A store under test beside the naive one. Units are remembered, so that some can be sent again. */
class Pair {
  readonly sent: Unit[] = [];

  constructor(readonly reference: ReferenceStore) {}

  unitOf(steps: readonly Step[] | number): Unit {
    if (typeof steps === 'number') {
      const earlier = this.sent.at(-1 - steps);
      if (earlier !== undefined) return earlier;
    }
    const list = typeof steps === 'number' ? [] : steps;
    const unit = { id: newUnitId(), operations: list.map((one) => this.operationOf(one)) };
    this.sent.push(unit);
    return unit;
  }

  private operationOf(one: Step): Operation {
    switch (one.kind) {
      case 'put':
      case 'insert':
        return { kind: one.kind, space: one.space, key: bytes(one.key), value: bytes(one.value) };
      case 'append': {
        const place =
          one.place === undefined ? {} : { place: { space: 'keys', key: bytes(one.place) } as const };
        return { kind: 'append', log: one.log, value: bytes(one.value), ...place };
      }
      case 'fence':
        return { kind: 'fence', lease: 'model', token: one.token };
      case 'replace': {
        const present = this.reference.get(one.space, bytes(one.key));
        const from = one.stale || present === undefined ? bytes('stale!') : present;
        return { kind: 'replace', space: one.space, key: bytes(one.key), from, to: asBytes(one.to) };
      }
      case 'amend': {
        const position = Math.max(1, this.reference.last(one.log) - one.back);
        const present = this.reference.read(one.log).find((entry) => entry.position === position)?.value;
        const from = one.stale || present === undefined ? bytes('stale!') : present;
        return { kind: 'amend', log: one.log, position, from, to: asBytes(one.to) };
      }
    }
  }
}

function asBytes(text: string | undefined): Uint8Array | undefined {
  return text === undefined ? undefined : bytes(text);
}

/** Takes the lease that the model's fences ask for, up to number 7. */
async function lend(store: Store): Promise<void> {
  const value = encodeLease({ token: 7, holder: 'model', expiresAtMs: 0 });
  await store.commit([{ kind: 'put', space: 'leases', key: bytes('model'), value }]);
}

/** Fails unless the store holds what the naive one does. */
async function assertSame(store: Store, reference: ReferenceStore): Promise<void> {
  const plain = (list: readonly { readonly value: Uint8Array }[]): string[] =>
    list.map((one) =>
      JSON.stringify({ ...one, value: Buffer.from(one.value).toString('hex') }, (name, member: unknown) =>
        name === 'key' ? Buffer.from(member as Uint8Array).toString('hex') : member,
      ),
    );
  for (const name of spaces) {
    assert.deepEqual(plain(await store.scan(name, { limit: 999 })), plain(reference.scan(name)), name);
  }
  for (const name of logs) {
    const page = await store.read(name, { after: 0, limit: 99_999 });
    assert.deepEqual(plain(page), plain(reference.read(name)), name);
    assert.equal(await store.last(name), reference.last(name), name);
  }
}

/** Runs the tests against the naive store on an engine. */
export function modelConformance({ fresh }: Subject): void {
  test('random units have the outcomes of the naive store, alone and in groups', async () => {
    const url = await fresh();
    const store = await storeAt(url);
    await lend(store);
    const pair = new Pair(new ReferenceStore({ model: 7 }));
    const property = fc.asyncProperty(fc.array(group, { minLength: 1, maxLength: 12 }), async (groups) => {
      for (const steps of groups) {
        const units = steps.map((one) => pair.unitOf(one));
        const outcomes = await Promise.all(units.map((unit) => store.commit(unit.operations, unit.id)));
        assert.deepEqual(
          outcomes,
          units.map((unit) => pair.reference.commit(unit)),
        );
      }
      await assertSame(store, pair.reference);
    });
    // The stores go on from run to run, so that a smaller counterexample would not be one.
    await fc.assert(property, { numRuns: 25, endOnFailure: true });
    await store.close();
  });

  const faults: readonly Fault[] = ['none', 'failed, not written', 'failed, but written'];
  const fault = fc.constantFrom(...faults);

  test('with faults every retry gets the first outcome, and units are found whole', async () => {
    const url = await fresh();
    const plain = await storeAt(url);
    await lend(plain);
    await plain.close();
    const pair = new Pair(new ReferenceStore({ model: 7 }));
    const attempt = fc.record({
      steps: fc.array(step, { minLength: 1, maxLength: 5 }),
      faults: fc.array(fault, { maxLength: 3 }),
    });
    const property = fc.asyncProperty(fc.array(attempt, { minLength: 1, maxLength: 5 }), async (attempts) => {
      for (const { steps, faults } of attempts) await faultyUnit(url, pair, steps, [...faults]);
    });
    await fc.assert(property, { numRuns: 12, endOnFailure: true });
  });

  test('a failed trim or prune removed all of its step or nothing', async () => {
    const url = await fresh();
    for (const kind of faults) {
      const engine = await engineAt(url);
      const store = createStore(
        faultyEngine(engine, () => kind),
        newUnitId,
      );
      const seeded = createStore(engine, newUnitId);
      const operations = [1, 2, 3].map(
        () => ({ kind: 'append', log: 'interests', value: bytes('x') }) as const,
      );
      await seeded.commit(operations);
      const last = await seeded.last('interests');
      const trim = store.trim('interests', last - 1, 99);
      const trimmed = await whenUnavailable(trim, () => 'unavailable' as const);
      const left = (await seeded.read('interests', { after: last - 3, limit: 9 })).length;
      assert.equal(trimmed === 'unavailable', kind !== 'none');
      assert.equal(left, kind === 'failed, not written' ? 3 : 1);
      await seeded.close();
    }
  });
}

/** Commits a unit with the given faults, opening the store again after each, until it is acknowledged. */
async function faultyUnit(url: string, pair: Pair, steps: readonly Step[], faults: Fault[]): Promise<void> {
  const unit = pair.unitOf(steps);
  let written = false;
  for (;;) {
    const fault = faults.shift() ?? 'none';
    const store = createStore(
      faultyEngine(await engineAt(url), () => fault),
      newUnitId,
    );
    const commit = store.commit(unit.operations, unit.id);
    const outcome = await whenUnavailable(commit, () => undefined);
    await store.close();
    written ||= fault !== 'failed, not written';
    const again = await storeAt(url);
    if (written) pair.reference.commit(unit);
    await assertSame(again, pair.reference);
    await again.close();
    if (outcome === undefined) continue;
    assert.deepEqual(outcome, pair.reference.commit(unit));
    return;
  }
}
