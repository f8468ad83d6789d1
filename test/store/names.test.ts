/** Names of stored things: which are valid, whose they are, and how many and how large they may be. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  HeldNames,
  isName,
  isStoredName,
  overNames,
  ownerOf,
  storedName,
} from '../../src/store/tables/names.js';

const [ada, ben] = ['a'.repeat(32), 'b'.repeat(32)] as const;

test('a name has 1 to 64 letters, digits, points, underscores and hyphens', () => {
  for (const name of ['a', 'Z', '0', 'a.b_c-D9', 'x'.repeat(64)]) assert.equal(isName(name), true, name);
  for (const name of ['', 'x'.repeat(65), 'a b', 'a/b', 'é', 'a\n']) assert.equal(isName(name), false, name);
});

test('a stored name has its owner before it, or none where it is everybody’s', () => {
  assert.equal(storedName(undefined, 'shop'), 'shop');
  assert.equal(storedName(ada, 'shop'), `${ada}/shop`);
  assert.deepEqual([ownerOf('shop'), ownerOf(`${ada}/shop`)], [undefined, ada]);
  for (const name of ['shop', `${ada}/shop`]) assert.equal(isStoredName(name), true, name);
  for (const name of [
    '',
    '/',
    '/shop',
    `${ada}/`,
    `${ada}/a/b`,
    'a/b',
    `${ada.toUpperCase()}/shop`,
    `${ada}0/s`,
  ])
    assert.equal(isStoredName(name), false, name);
});

describe('limits of names', () => {
  const limits = { owned: { names: 2, bytes: 10 }, all: { names: 4, bytes: 25 } };
  const words = { one: 'profile', many: 'profiles', content: 'settings' };
  type Bytes = readonly (readonly [name: string, bytes: number])[];
  const over = (bytes: Bytes, name: string, added: number) => {
    const held = new HeldNames();
    for (const each of bytes) held.set(...each);
    return overNames(held, name, added, limits, words);
  };
  const tooMany = (names: number) =>
    `There are ${names} profiles, and there may be no more. Remove one first.`;
  const tooLarge = (bytes: number) =>
    `The settings of all profiles would have more than ${bytes} bytes. Remove a profile first.`;

  test('are those of an owner, whose names alone count', () => {
    const held: Bytes = [
      [`${ada}/a`, 4],
      [`${ada}/b`, 3],
      [`${ben}/a`, 9],
    ];
    assert.equal(over(held, `${ada}/c`, 1), tooMany(2));
    assert.equal(over(held, `${ada}/a`, 3), undefined, 'to the byte');
    assert.equal(over(held, `${ada}/a`, 4), tooLarge(10));
    assert.equal(over(held, `${ben}/b`, 1), undefined);
    assert.equal(over(held, `${ben}/b`, 2), tooLarge(10));
    assert.equal(over(held, 'c', 9), undefined, 'everybody’s names have no owner');
    assert.equal(over(held, 'c', 10), tooLarge(25));
  });

  test('are also those of all names together', () => {
    const held: Bytes = [
      ['a', 1],
      ['b', 1],
      ['c', 1],
      [`${ada}/a`, 1],
    ];
    assert.equal(over(held, 'd', 1), tooMany(4));
    assert.equal(over(held, `${ada}/b`, 1), tooMany(4));
    assert.equal(over(held, `${ada}/a`, 9), undefined);
    assert.equal(over(held, 'a', 21), undefined, 'to the byte');
    assert.equal(over(held, 'a', 22), tooLarge(25));
    const nearlyFull: Bytes = [
      ['a', 20],
      [`${ada}/a`, 1],
    ];
    assert.equal(over(nearlyFull, `${ada}/a`, 5), tooLarge(25), 'though the owner has room');
  });

  test('bind an owner before they bind all', () => {
    const held: Bytes = [
      ['a', 25],
      [`${ada}/a`, 10],
    ];
    assert.equal(over(held, `${ada}/a`, 1), tooLarge(10));
  });

  test('count what is there now, also after changes and removals', () => {
    const held = new HeldNames();
    for (const [name, bytes] of [
      [`${ada}/a`, 4],
      [`${ada}/a`, 7],
      ['a', 5],
      ['a', 2],
    ] as const) {
      held.set(name, bytes);
    }
    assert.deepEqual(held.sumOf(undefined), { names: 2, bytes: 9 });
    assert.deepEqual(held.sumOf(ada), { names: 1, bytes: 7 });
    assert.deepEqual(held.sumOf(ben), { names: 0, bytes: 0 });
    assert.equal(held.of('a'), 2);
    for (const name of [`${ada}/a`, `${ada}/a`, `${ben}/none`]) held.set(name, undefined);
    assert.deepEqual(held.sumOf(undefined), { names: 1, bytes: 2 });
    assert.deepEqual(held.sumOf(ada), { names: 0, bytes: 0 });
    assert.equal(held.of(`${ada}/a`), undefined);
  });
});
