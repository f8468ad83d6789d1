/** Receipts in the store: previews, notices, receipts of the first contract, stamps and the counted total. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  countFragments,
  decodeFragment,
  decodeReceived,
  encodeFragment,
  encodeReceipt,
  findDuplicate,
  fragmentBytes,
  insertFragment,
  type StoredFragment,
} from '../../src/store/tables/fragments.js';
import { findLegacyReceipt, keepLegacyReceipts } from '../../src/store/tables/legacyReceipts.js';
import { findStamp, stampsFrom, stampsOf, writeStamp, type Stamp } from '../../src/store/tables/logStamps.js';
import { allNotices, findWithheld, keepNotice, withheldAmong } from '../../src/store/tables/notices.js';
import { findPreview, removePreviews, storePreview } from '../../src/store/tables/previews.js';
import {
  findLeaf,
  findTile,
  includedAtMs,
  keepCheckpoint,
  placeLeaf,
  readLeaves,
  writeTile,
} from '../../src/store/tables/receiptLog.js';
import type { Store } from '../../src/store/store.js';
import { collect } from '../support/collect.js';
import { FailingStore, openTestStore } from '../support/serving.js';
import { bytes, commit } from './subject.js';

const minuteMs = 60_000;
const periodMs = 30 * minuteMs;

/** A store that counts what is read of it. */
function counting(store: Store) {
  const read = { gets: 0, entries: 0, together: 0 };
  const seen: Store = {
    ...store,
    commit: (operations) => store.commit(operations),
    get: (space, key) => {
      read.gets += 1;
      return store.get(space, key);
    },
    getMany: (space, keys) => {
      read.together += 1;
      return store.getMany(space, keys);
    },
    scan: async (space, range) => {
      const page = await store.scan(space, range);
      read.entries += page.length;
      return page;
    },
  };
  return { seen, read };
}

describe('previews', () => {
  const token = Buffer.alloc(32, 7);
  const preview = (expiresAtMs: number) => ({ fragment: '{}', expiresAtMs });

  test('are found until they expire, to the millisecond', async () => {
    const store = await openTestStore();
    for (const expiresAtMs of [4 * periodMs - 1, 4 * periodMs, 4 * periodMs + 1, 4.5 * periodMs]) {
      await storePreview(store, token, preview(expiresAtMs));
      for (const nowMs of [expiresAtMs - periodMs, expiresAtMs - minuteMs, expiresAtMs - 1]) {
        assert.deepEqual(await findPreview(store, token, nowMs), preview(expiresAtMs), `${nowMs}`);
      }
      assert.equal(await findPreview(store, token, expiresAtMs), undefined);
    }
  });

  test('are found by their own token alone, and a later one comes first', async () => {
    const store = await openTestStore();
    await storePreview(store, token, preview(4 * periodMs - 1));
    assert.equal(await findPreview(store, Buffer.alloc(32, 8), 3 * periodMs), undefined);
    await storePreview(store, token, preview(4 * periodMs + 1));
    assert.deepEqual(await findPreview(store, token, 3.5 * periodMs), preview(4 * periodMs + 1));
  });

  test('are stored under their half-hour in four bytes, then their token', async () => {
    const store = await openTestStore();
    await storePreview(store, token, preview(5 * periodMs - 1));
    const [found] = await store.scan('previews', { limit: 1 });
    assert.deepEqual(Buffer.from(found?.key ?? []), Buffer.concat([Buffer.of(0, 0, 0, 4), token]));
  });

  test('that expired are removed an hour after their half-hour began, and are counted', async () => {
    const store = await openTestStore();
    const tokens = Array.from({ length: 1_003 }, (_, at) => Buffer.alloc(32, `${at} `));
    await Promise.all(tokens.map((each) => storePreview(store, each, preview(5 * periodMs - 1))));
    await storePreview(store, token, preview(5 * periodMs));
    assert.equal(await removePreviews(store, 6 * periodMs - 1), 0);
    assert.equal(await removePreviews(store, 6 * periodMs), 1_003);
    assert.equal(await removePreviews(store, 6 * periodMs), 0);
    assert.deepEqual(await findPreview(store, token, 5 * periodMs - 1), preview(5 * periodMs));
  });
});

describe('notices', () => {
  const notice = (hidden: boolean, reason = 'It names a person.') => ({ hidden, reason, atMs: 3 });

  test('withhold a fragment until a later one shows it again', async () => {
    const store = await openTestStore();
    assert.equal(await findWithheld(store, 'fr_a'), undefined);
    await keepNotice(store, 'fr_a', notice(true));
    assert.equal(await findWithheld(store, 'fr_a'), 'It names a person.');
    await keepNotice(store, 'fr_a', notice(false));
    assert.equal(await findWithheld(store, 'fr_a'), undefined);
  });

  test('that several operators write at once all succeed, and one of them counts', async () => {
    const store = await openTestStore();
    const reasons = Array.from({ length: 8 }, (_, at) => `reason ${at}`);
    await Promise.all(reasons.map((reason) => keepNotice(store, 'fr_a', notice(true, reason))));
    assert.ok(reasons.includes((await findWithheld(store, 'fr_a')) ?? ''));
    await keepNotice(store, 'fr_a', notice(true, 'the last'));
    assert.equal(await findWithheld(store, 'fr_a'), 'the last');
  });

  test('replace one that another operator wrote in the meantime', async () => {
    const store = await openTestStore();
    let between = true;
    const late: Store = {
      ...store,
      get: (space, key) => store.get(space, key),
      commit: async (operations) => {
        if (between) {
          between = false;
          await keepNotice(store, 'fr_a', notice(true, 'of the other'));
        }
        return store.commit(operations);
      },
    };
    await keepNotice(late, 'fr_a', notice(true, 'of this one'));
    assert.equal(await findWithheld(store, 'fr_a'), 'of this one');
  });

  test('are all listed with their receipts', async () => {
    const store = await openTestStore();
    await keepNotice(store, 'fr_b', notice(false));
    await keepNotice(store, 'fr_a', notice(true));
    assert.deepEqual(await collect(allNotices(store)), [
      { receipt: 'fr_a', ...notice(true) },
      { receipt: 'fr_b', ...notice(false) },
    ]);
  });

  test('of a page of receipts are found, however many others there are', async () => {
    const store = await openTestStore();
    const hidden = ['fr_1', 'fr_3', 'fr_8'];
    for (const receipt of ['fr_1', 'fr_2', 'fr_3', 'fr_4', 'fr_8']) {
      await keepNotice(store, receipt, notice(hidden.includes(receipt), `It is ${receipt}.`));
    }
    const receipts = ['fr_9', 'fr_8', 'fr_7', 'fr_2', 'fr_1', 'fr_0'];
    for (let from = 0; from < receipts.length; from += 1) {
      const page = receipts.slice(from);
      const found = await withheldAmong(store, page);
      const expected = page
        .filter((receipt) => hidden.includes(receipt))
        .map((receipt) => [receipt, `It is ${receipt}.`]);
      assert.deepEqual([...found], expected, page.join());
    }
  });

  test('cost a page of receipts one read, however many others there are', async () => {
    const store = await openTestStore();
    const { seen, read } = counting(store);
    const page = ['fr_1', 'fr_2'];
    for (const receipt of [...page, 'fr_3', 'fr_4', 'fr_5']) await keepNotice(store, receipt, notice(true));
    assert.deepEqual([...(await withheldAmong(seen, page)).keys()], page);
    assert.deepEqual(read, { gets: 0, entries: 0, together: 1 });
  });
});

describe('receipts of the first contract', () => {
  test('are found unchanged, as lines under their ids', async () => {
    const store = await openTestStore();
    assert.deepEqual(await keepLegacyReceipts(store, []), { kind: 'kept' });
    const lines = [1, 2].map((number) => ({ receipt: `r${number}`, line: `{"receipt":"r${number}"}` }));
    assert.deepEqual(await keepLegacyReceipts(store, lines), { kind: 'kept' });
    for (const { receipt, line } of lines) assert.equal(await findLegacyReceipt(store, receipt), line);
    assert.equal(await findLegacyReceipt(store, 'r3'), undefined);
  });

  test('are not replaced: an import names the id that is taken, and stores nothing', async () => {
    const store = await openTestStore();
    await keepLegacyReceipts(store, [{ receipt: 'r2', line: 'before' }]);
    const lines = ['r1', 'r2', 'r3'].map((receipt) => ({ receipt, line: 'after' }));
    assert.deepEqual(await keepLegacyReceipts(store, lines), { kind: 'taken', receipt: 'r2' });
    const found = await Promise.all(['r1', 'r2', 'r3'].map((receipt) => findLegacyReceipt(store, receipt)));
    assert.deepEqual(found, [undefined, 'before', undefined]);
  });
});

test('stamps are found by their day, listed from a day on, and replace what was read', async () => {
  const store = await openTestStore();
  const of = (day: string, height: number | null): Stamp => ({
    ...{ note: day, size: 1, transaction: bytes('raw'), feeSat: 300n, madeAtHeight: 7, atMs: 9, height },
    ...{ header: bytes(''), timestamp: bytes('') },
  });
  const days = ['2026-11-22', '2026-11-23', '2026-11-24'];
  for (const day of days) {
    assert.equal((await commit(store, writeStamp(day, undefined, of(day, null)))).kind, 'done');
  }
  assert.equal(await findStamp(store, '2026-11-21'), undefined);
  const found = (await findStamp(store, '2026-11-23')) ?? assert.fail('there is no stamp');
  assert.deepEqual([found.day, found.stamp], ['2026-11-23', of('2026-11-23', null)]);
  const settled = writeStamp(found.day, found.record, of(found.day, 8));
  assert.equal((await commit(store, settled)).kind, 'done');
  assert.equal((await commit(store, settled)).kind, 'conflict', 'it was written meanwhile');
  const listed = (stamps: readonly { readonly day: string; readonly stamp: Stamp }[]) =>
    stamps.map(({ day, stamp }) => [day, stamp.height]);
  assert.deepEqual(listed(await stampsFrom(store, '2026-11-23', 9)), [
    ['2026-11-23', 8],
    ['2026-11-24', null],
  ]);
  assert.deepEqual(listed(await stampsFrom(store, '2026-11-21', 1)), [['2026-11-22', null]]);
  const all = await collect(stampsOf(store));
  assert.deepEqual(
    all.map(({ day }) => day),
    days,
  );
  assert.equal((await commit(store, writeStamp(days[2] ?? '', all[2]?.record, of('', 1)))).kind, 'done');
});

/** An envelope's members, as version 6.4 of the contract seals them. */
function members(receipt: string): Record<string, unknown> {
  const digest = (digit: string): string => digit.repeat(64);
  return {
    canonical_payload_sha256: digest('1'),
    canonicalization: 'accepted-fields-json-v1',
    confirmation_binding_sha256: digest('2'),
    confirmation_token_sha256: digest('3'),
    content_bytes_sha256: digest('4'),
    content_sha256: digest('4'),
    contract_version: '6.4',
    dedupe_key_sha256: digest('5'),
    hash_contract: 'fragment-receipt-hash-v2',
    kind: 'BRIDGE',
    receipt,
    received_at: '2026-11-21T09:30:00.000Z',
    status: 'quarantined',
    submission_payload_sha256: digest('6'),
    unicode: '17.0.0',
  };
}

function fragment(receipt: string, envelope = JSON.stringify(members(receipt))): StoredFragment {
  const texts = { title: 't', content: 'c', mechanism: 'm', test: 's', kind: 'BRIDGE', visitor: 'v' };
  return { receipt, fragment: texts, envelope, seal: 'ab'.repeat(32) };
}

describe('fragments', () => {
  const usual = fragment('fr_a');

  test('have the sealed envelope, byte for byte, whatever is in it', () => {
    const odd = Object.keys(members('fr_a')).flatMap((name) => {
      const { [name]: value, ...rest } = members('fr_a');
      const text = String(value);
      const others = [undefined, null, 5, `${text}0`, text.toUpperCase(), text.slice(2), '', 'ü"\\'];
      return [rest, ...others.map((other) => ({ ...members('fr_a'), [name]: other }))];
    });
    const usualSize = encodeFragment(usual).byteLength;
    for (const envelope of [
      ...odd.map((each) => JSON.stringify(each)),
      JSON.stringify({ ...members('fr_a'), zzz: 1 }),
      JSON.stringify(members('fr_a'), null, 1),
      '{}',
    ]) {
      const each = fragment('fr_a', envelope);
      assert.deepEqual(decodeFragment(encodeFragment(each)), each);
    }
    assert.deepEqual(decodeFragment(encodeFragment(usual)), usual);
    assert.equal(encodeFragment(usual)[0], 2, 'the usual one is stored in parts');
    assert.ok(usualSize < usual.envelope.length);
  });

  test('have the seal that was given, byte for byte', () => {
    for (const seal of ['AB'.repeat(32), 'no hex', '', 'abc']) {
      const each = { ...usual, seal };
      assert.deepEqual(decodeFragment(encodeFragment(each)), each);
    }
  });

  test('whose envelope has no time and no state have empty ones', () => {
    const { receivedAt, status } = decodeReceived(encodeFragment(fragment('fr_a', '{}')));
    assert.deepEqual([receivedAt, status], ['', '']);
  });

  test('of a form that this version does not know are refused, and named', () => {
    const record = Buffer.from(encodeFragment(usual)).toString().replace('"form":1', '"form":2');
    assert.throws(
      () => decodeFragment(Buffer.from(record)),
      /^Error: The envelope of fr_a is of no form that this version knows$/,
    );
  });

  test('are found as duplicates by their content, probes only among probes', async () => {
    const store = await openTestStore();
    const digest = 'cd'.repeat(32);
    const insert = (each: StoredFragment, probe: boolean) =>
      commit(store, ...insertFragment(each, { probe, digest }));
    assert.equal((await insert(fragment('fr_a'), false)).kind, 'done');
    assert.equal((await insert(fragment('fr_p'), true)).kind, 'done');
    assert.equal((await insert(fragment('fr_b'), false)).kind, 'conflict');
    assert.equal(await findDuplicate(store, { probe: false, digest }), 'fr_a');
    assert.equal(await findDuplicate(store, { probe: true, digest }), 'fr_p');
    const keys = (await store.scan('fragmentDuplicates', { limit: 9 })).map(({ key }) =>
      Buffer.from(key).toString('hex'),
    );
    assert.deepEqual(keys, [`00${digest}`, `01${digest}`], 'the keys that every version wrote');
  });

  test('count with their bytes and 700 more, and a missing one with only these', async () => {
    const store = await openTestStore();
    const each = fragment('fr_a');
    await commit(store, ...insertFragment(each, { probe: false, digest: '01' }));
    await commit(store, { kind: 'append', log: 'fragments', value: encodeReceipt('fr_gone') });
    assert.deepEqual(await Promise.all([countFragments(store), countFragments(store)]), [2, 0]);
    assert.equal(await fragmentBytes(store), encodeFragment(each).byteLength + 1_400);
    const failing = new FailingStore(store);
    assert.equal(await countFragments(failing.seen), 0);
    assert.equal(failing.commits, 0, 'nothing is written where none is new');
    await commit(store, { kind: 'append', log: 'fragments', value: encodeReceipt('fr_gone too') });
    assert.equal(await countFragments(failing.seen), 1);
  });

  test('are read for the count fifty in a turn of the event loop, and no more than asked', async () => {
    const store = await openTestStore();
    const gone = { kind: 'append', log: 'fragments', value: encodeReceipt('fr_gone') } as const;
    for (let at = 0; at < 130; at += 1) await commit(store, gone);
    const read: number[] = [];
    const watched: Store = Object.assign(Object.create(store) as Store, {
      get: (...given: Parameters<Store['get']>) => {
        assert.notEqual(given[0], 'fragments', 'they are read together');
        return store.get(...given);
      },
      getMany: (...given: Parameters<Store['getMany']>) => {
        read.push(given[1].length);
        return store.getMany(...given);
      },
    });
    assert.equal(await countFragments(watched, 60), 60);
    assert.equal(await countFragments(watched), 70);
    assert.deepEqual(read, [50, 10, 50, 20]);
  });
});

describe('the log of receipts', () => {
  test('has the leaves of entries with and without a seal, and says which places are recorded', async () => {
    const store = await openTestStore();
    await commit(store, ...insertFragment(fragment('fr_a'), { probe: false, digest: '01' }));
    const old = fragment('fr_old');
    await commit(
      store,
      { kind: 'insert', space: 'fragments', key: bytes('fr_old'), value: encodeFragment(old) },
      { kind: 'append', log: 'fragments', value: encodeReceipt('fr_old') },
    );
    const seal = Buffer.alloc(32, 0xab);
    const leaves = [
      { receipt: 'fr_a', seal, placed: true },
      { receipt: 'fr_old', seal, placed: false },
    ];
    const plain = async (start: number, limit: number) =>
      (await readLeaves(store, start, limit)).map((leaf) => ({ ...leaf, seal: Buffer.from(leaf.seal) }));
    assert.deepEqual(await plain(0, 9), leaves);
    assert.deepEqual(await plain(1, 9), leaves.slice(1));
    assert.deepEqual(await plain(0, 1), leaves.slice(0, 1));
    assert.deepEqual(
      [await findLeaf(store, 'fr_a'), await findLeaf(store, 'fr_old'), await findLeaf(store, 'fr_none')],
      [0, undefined, undefined],
    );
    await commit(store, placeLeaf('fr_old', 1));
    await commit(store, placeLeaf('fr_old', 1));
    assert.equal(await findLeaf(store, 'fr_old'), 1);
  });

  test('is refused if an entry, or its receipt, is gone', async () => {
    const store = await openTestStore();
    for (const name of ['fr_1', 'fr_2', 'fr_3']) {
      await commit(store, { kind: 'append', log: 'fragments', value: encodeReceipt(name) });
    }
    await assert.rejects(readLeaves(store, 0, 9), /Entry 1 of the log names a receipt that is not there$/);
    const [first] = await store.read('fragments', { after: 1, limit: 1 });
    const from = first?.value ?? bytes('');
    await commit(store, { kind: 'amend', log: 'fragments', position: 2, from, to: undefined });
    await assert.rejects(readLeaves(store, 1, 9), /has a gap before position 3$/);
  });

  test('says when a leaf was first in a checkpoint', async () => {
    const store = await openTestStore();
    const root = Buffer.alloc(32);
    await commit(store, keepCheckpoint(2, { root, atMs: 20 }), keepCheckpoint(5, { root, atMs: 50 }));
    // A process that was killed records the same one again.
    assert.equal((await commit(store, keepCheckpoint(2, { root, atMs: 20 }))).kind, 'done');
    const times = await Promise.all([0, 1, 2, 4, 5].map((leaf) => includedAtMs(store, leaf)));
    assert.deepEqual(times, [20, 20, 50, 50, undefined]);
    const { seen, read } = counting(store);
    assert.equal(await includedAtMs(seen, 0), 20);
    assert.equal(read.entries, 1, 'however many there are');
  });

  test('has tiles by level and number, which grow', async () => {
    const store = await openTestStore();
    const tile = (level: number, index: number, text: string) =>
      writeTile({ level, index, hashes: bytes(text) });
    await commit(store, tile(0, 0, 'a'), tile(0, 1, 'b'), tile(1, 0, 'c'));
    await commit(store, tile(0, 1, 'bb'));
    const found = async (level: number, index: number): Promise<string> =>
      (await findTile(store, level, index)).toString();
    assert.deepEqual(
      [await found(0, 0), await found(0, 1), await found(1, 0), await found(1, 1)],
      ['a', 'bb', 'c', ''],
    );
  });
});
