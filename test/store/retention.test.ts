/**
 * What GET /privacy says about retention, by the settings, and that interests and leads are kept equally
 * long.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { removeExpired, storedData } from '../../src/store/retention.js';
import { appendInterest, interestsAfter } from '../../src/store/tables/interests.js';
import { collect } from '../support/collect.js';
import { newUnitId } from '../support/openStore.js';
import { openTestStore } from '../support/serving.js';

const settings = { clicksRetentionDays: 90, leadsRetentionDays: 30, embedCacheStore: false };

/** The row about some data, which begins with these words. */
function row(begin: string, given: Parameters<typeof storedData>[0]) {
  const found = storedData(given).filter(({ what }) => what.startsWith(begin));
  assert.equal(found.length, 1, begin);
  return found[0];
}

describe('the description of retention', () => {
  test('has the days of leads and of interest, or says that they are kept', () => {
    for (const begin of ['Leads', 'Interest']) {
      const said = (leadsRetentionDays: number) => row(begin, { ...settings, leadsRetentionDays })?.retention;
      assert.equal(said(0), 'Until it is forgotten on request.');
      assert.equal(said(1), '1 day, or until it is forgotten on request.');
      assert.equal(said(2), '2 days, or until it is forgotten on request.');
    }
  });

  test('has the days of clicks, or says that they are kept', () => {
    const said = (clicksRetentionDays: number) =>
      row('Clicks', { ...settings, clicksRetentionDays })?.retention;
    assert.equal(said(0), 'For ever.');
    assert.equal(said(90), '90 days.');
  });

  test('names the store besides the file only if it holds vectors or previews', () => {
    const vectors = (embedCacheStore: boolean) =>
      row('Vectors that a model', { ...settings, embedCacheStore });
    const used = 'Until vectors used later take their place.';
    assert.deepEqual(
      [vectors(false)?.retention, vectors(false)?.where],
      [used, 'File embeddings of the data folder.'],
    );
    assert.deepEqual(
      [vectors(true)?.retention, vectors(true)?.where],
      [
        `${used} In the store 30 to 60 days after the text was last sent.`,
        'File embeddings of the data folder, and table embeddings of the store.',
      ],
    );
    const shared = row('Previews', { ...settings, isStoreShared: true });
    assert.deepEqual(
      [shared?.retention, shared?.where],
      [
        'Found for 30 minutes; in the store for about an hour more.',
        'File previews of the data folder, and table previews of the store.',
      ],
    );
    const own = row('Previews', { ...settings, isStoreShared: false });
    assert.deepEqual(
      [own?.retention, own?.where],
      ['30 minutes at the longest; none survives a restart.', 'File previews of the data folder.'],
    );
    assert.deepEqual(row('Previews', settings), own, 'a store is not shared unless it is said to be');
  });

  test('names each table that has what people sent, or what was made of it', () => {
    const everything = storedData({ ...settings, embedCacheStore: true, isStoreShared: true });
    const named = everything.flatMap(({ where }) => {
      const [, names = ''] = /[Tt]ables? ([\w, ]+?) of the store\.$/.exec(where) ?? [];
      return names.split(/, | and /).filter((name) => name !== '');
    });
    const sent = [
      'leads',
      'interests',
      'optouts',
      'clicks',
      'orders',
      'orderEvents',
      'ledger',
      'keys',
      'usage',
    ];
    const texts = ['embeddings', 'fragments', 'legacyReceipts', 'previews', 'profiles'];
    const learned = ['corpora', 'corpusVersions', 'corpusLearning', 'corpusSamples'];
    assert.deepEqual(named.toSorted(), [...sent, ...texts, ...learned].sort());
  });

  test('says of all data what it is, why it is stored, how long and where', () => {
    for (const { what, why, retention, where } of storedData({ ...settings, isStoreShared: true })) {
      for (const sentence of [what, why, retention, where]) assert.match(sentence, /^[A-Z0-9].*\.$/);
    }
  });
});

test('interest is removed at the same age as leads, and not before', async () => {
  const store = await openTestStore();
  const none = { company: null, cloud: null, monthlyChars: null, timeline: null, compliance: null };
  const lead = { id: 'i', email: 'a@b.example', message: null, source: null, receivedAtMs: 10 };
  const sent = { ...lead, segment: null, campaign: null, eventId: null };
  const interest = { ...sent, ...none, deliveryModel: 'oem_embedded' };
  await appendInterest(store, newUnitId(), interest);
  const day = 86_400_000;
  const left = async (leadsRetentionDays: number, nowMs: number): Promise<number> => {
    await removeExpired(store, { clicksRetentionDays: 0, leadsRetentionDays }, nowMs);
    return (await collect(interestsAfter(store, 0))).length;
  };
  assert.equal(await left(0, 1e15), 1, '0 days is for ever');
  assert.equal(await left(2, 2 * day + 10), 1);
  assert.equal(await left(2, 2 * day + 11), 0);
});
