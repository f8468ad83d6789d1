/**
 * Usage in the store: months follow each other, and characters that arrive late for an earlier one do not
 * count.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addUsage, Charge, findUsage, removeOldUsage, type DayUse } from '../../src/store/tables/usage.js';
import { StoreUnavailable, type Store } from '../../src/store/store.js';
import { FailingStore, openTestStore } from '../support/serving.js';
import { bytes } from './subject.js';

const day = 86_400_000;
const month = 30 * day;
const store = await openTestStore();
const failing = new FailingStore(store);
let subjects = 0;

/** A subject that nobody has charged, and what is done with it. */
function subject() {
  const key = bytes(`subject ${(subjects += 1)}`);
  return {
    add: (monthStartMs: number, characters: number, on: Store = store) =>
      addUsage(on, key, { monthStartMs, characters, days: [] }),
    find: async (on: Store = store) => await findUsage(on, key),
    key,
  };
}

describe('characters of a month', () => {
  test('are added up', async () => {
    const { add, find } = subject();
    assert.equal(await find(), undefined);
    assert.deepEqual(await add(10 * month, 3), { monthStartMs: 10 * month, characters: 3, days: [] });
    assert.deepEqual(await add(10 * month, 4), { monthStartMs: 10 * month, characters: 7, days: [] });
    assert.deepEqual(await find(), { monthStartMs: 10 * month, characters: 7, days: [] });
  });

  test('start at zero in a later month', async () => {
    const { add, find } = subject();
    await add(10 * month, 3);
    assert.deepEqual(await add(11 * month, 4), { monthStartMs: 11 * month, characters: 4, days: [] });
    assert.deepEqual(await find(), { monthStartMs: 11 * month, characters: 4, days: [] });
  });

  test('count for one month even if two nodes saw it begin at different times', async () => {
    for (const [first, second] of [
      [0, 5_000],
      [5_000, 0],
      [0, 29 * day - 1],
    ] as const) {
      const { add } = subject();
      await add(10 * month + first, 3);
      const total = { monthStartMs: 10 * month, characters: 7, days: [] };
      assert.deepEqual(await add(10 * month + second, 4), total);
    }
    const { add } = subject();
    await add(10 * month, 3);
    const next = { monthStartMs: 10 * month + 29 * day, characters: 4, days: [] };
    assert.deepEqual(await add(10 * month + 29 * day, 4), next);
    assert.deepEqual(await add(10 * month, 5), next, 'of the month before');
  });

  test('no longer count once a later month has begun', async () => {
    const { add, find } = subject();
    await add(11 * month, 4);
    assert.deepEqual(
      await add(10 * month, 3),
      { monthStartMs: 11 * month, characters: 4, days: [] },
      'the total of the later month',
    );
    assert.deepEqual(await find(), { monthStartMs: 11 * month, characters: 4, days: [] });
  });

  test('that many add at once are all counted, and each is told a total that was true', async () => {
    const { add, find } = subject();
    const totals = await Promise.all(Array.from({ length: 20 }, () => add(10 * month, 1)));
    const told = totals.map((total) => ('characters' in total ? total.characters : -1));
    assert.deepEqual(
      told.toSorted((left, right) => left - right),
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
    assert.equal((await find())?.characters, 20);
  });

  test('of one subject are not those of another', async () => {
    const [one, other] = [subject(), subject()];
    await one.add(10 * month, 3);
    assert.equal(await other.find(), undefined);
  });

  test('that the store cannot read or write are an error', async () => {
    const { add, key } = subject();
    await add(10 * month, 3);
    failing.failure = 'not written';
    for (const failReads of [true, false]) {
      failing.failReads = failReads;
      const expected = { name: 'StoreUnavailable', message: 'told to fail' };
      await assert.rejects(add(10 * month, 4, failing.seen), expected);
    }
    failing.failReads = true;
    await assert.rejects(findUsage(failing.seen, key), StoreUnavailable);
    await assert.rejects(removeOldUsage(failing.seen, 1e15), StoreUnavailable);
    failing.failReads = false;
    await assert.rejects(removeOldUsage(failing.seen, 1e15), StoreUnavailable);
    failing.failure = undefined;
  });
});

describe('days', () => {
  const use = (day: number, count = 1): DayUse => {
    return { day, requests: count, characters: 10 * count, refused: 2 * count };
  };

  test('are added up each, in order, and the last thirty with any use are kept', async () => {
    const { key, find } = subject();
    const add = (...days: readonly DayUse[]) =>
      addUsage(store, key, { monthStartMs: 10 * month, characters: 0, days });
    await add(use(5), use(3));
    assert.deepEqual((await find())?.days, [use(3), use(5)]);
    await add(use(5, 2));
    assert.deepEqual((await find())?.days, [use(3), use(5, 3)]);
    for (let day = 6; day < 36; day += 1) await add(use(day));
    const kept = (await find())?.days.map(({ day }) => day);
    assert.deepEqual(
      kept,
      Array.from({ length: 30 }, (_, index) => index + 6),
    );
  });

  test('continue from month to month, including late ones of an earlier month', async () => {
    const { key, find } = subject();
    await addUsage(store, key, { monthStartMs: 11 * month, characters: 4, days: [use(8)] });
    const total = await addUsage(store, key, { monthStartMs: 10 * month, characters: 3, days: [use(7)] });
    assert.deepEqual(total, { monthStartMs: 11 * month, characters: 4, days: [use(7), use(8)] });
    await addUsage(store, key, { monthStartMs: 12 * month, characters: 1, days: [use(9)] });
    assert.deepEqual(await find(), {
      monthStartMs: 12 * month,
      characters: 1,
      days: [use(7), use(8), use(9)],
    });
  });
});

describe('a charge', () => {
  const [usage, expected] = [
    { monthStartMs: 10 * month, characters: 5, days: [] },
    { message: 'told to fail' },
  ];
  const charged = (on: Store, key: Uint8Array, mayMake: () => 'refused' | undefined = () => undefined) =>
    new Charge<'refused'>(on, key, usage, mayMake);

  for (const failure of ['written', 'not written'] as const) {
    test(`whose try failed, ${failure}, counts once when it is retried`, async () => {
      const { key, find } = subject();
      const asked: string[] = [];
      const charge = charged(failing.seen, key, () => void asked.push('once'));
      assert.equal(charge.isUnsure, false);
      Object.assign(failing, { failure, failReads: false });
      await assert.rejects(charge.add(), expected);
      await assert.rejects(charge.add(), expected);
      failing.failure = undefined;
      assert.equal(charge.isUnsure, true);
      assert.deepEqual(await charge.add(), usage);
      assert.deepEqual(await find(), usage);
      assert.deepEqual(asked, ['once'], 'whether a record may be made');
    });
  }

  test('that was not sent is not unsure, and may still be refused', async () => {
    const { key, find } = subject();
    const charge = charged(failing.seen, key, () => 'refused');
    Object.assign(failing, { failure: 'not written', failReads: true });
    await assert.rejects(charge.add(), expected);
    failing.failure = undefined;
    assert.equal(charge.isUnsure, false);
    assert.equal(await charge.add(), 'refused');
    assert.equal(await find(), undefined);
  });

  test('of a subject that has a record is never refused', async () => {
    const { add, key } = subject();
    await add(10 * month, 1);
    const total = await charged(store, key, () => 'refused').add();
    assert.deepEqual(total, { ...usage, characters: 6 });
  });

  test('whose record was removed after it counted has its own amount for a total', async () => {
    const { key } = subject();
    const charge = charged(failing.seen, key);
    Object.assign(failing, { failure: 'written', failReads: false });
    await assert.rejects(charge.add(), expected);
    failing.failure = undefined;
    const from = (await store.get('usage', key)) ?? assert.fail('it was written');
    await store.commit([{ kind: 'replace', space: 'usage', key, from, to: undefined }]);
    assert.deepEqual(await charge.add(), usage);
    assert.equal(await findUsage(store, key), undefined);
  });

  test('that arrived after another is known to have had no effect until it is sent again', async () => {
    const { add, key } = subject();
    let reads = 0;
    const late: Pick<Store, 'get' | 'commit' | 'newUnitId'> = {
      newUnitId: () => store.newUnitId(),
      get: (space, key) => {
        reads += 1;
        return reads === 2 ? Promise.reject(new StoreUnavailable('told to fail')) : store.get(space, key);
      },
      commit: async (operations, id) => {
        if (reads === 1) await add(10 * month, 1);
        return store.commit(operations, id);
      },
    };
    const charge = new Charge(late, key, usage, () => undefined);
    await assert.rejects(charge.add(), expected);
    assert.equal(charge.isUnsure, false);
    assert.deepEqual(await charge.add(), { ...usage, characters: 6 });
    assert.equal(reads, 3, 'one read for each try');
  });

  test('for a past month, without days, writes nothing', async () => {
    const { add } = subject();
    await add(11 * month, 4);
    const before = failing.commits;
    assert.deepEqual(await add(10 * month, 3, failing.seen), {
      monthStartMs: 11 * month,
      characters: 4,
      days: [],
    });
    assert.equal(failing.commits, before);
  });
});

test('a month that several processes remove at once is counted once', async () => {
  const old = await openTestStore();
  await addUsage(old, bytes('one'), { monthStartMs: 0, characters: 1, days: [] });
  const removed = await Promise.all([removeOldUsage(old, 90 * day), removeOldUsage(old, 90 * day)]);
  assert.deepEqual(removed.toSorted(), [0, 1]);
});

test('a month is removed sixty days after it began, to the millisecond', async () => {
  const old = await openTestStore();
  const months = [0, 1, 2, 60 * day];
  for (const monthStartMs of months) {
    await addUsage(old, bytes(`${monthStartMs}`), { monthStartMs, characters: 1, days: [] });
  }
  assert.deepEqual(await removeOldUsage(old, 60 * day - 1), 0);
  assert.deepEqual(await removeOldUsage(old, 60 * day + 1), 2);
  const left = await Promise.all(months.map(async (month) => await findUsage(old, bytes(`${month}`))));
  assert.deepEqual(
    left.map((usage) => usage?.monthStartMs),
    [undefined, undefined, 2, 60 * day],
  );
});
