/** The numbers of spaces and logs, which are on every disk: none ever changes, and none is reused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logs, spaces } from '../../src/store/spaces.js';

/** Spaces as they were first written; a new one is added here, too. */
const writtenSpaces = {
  units: 1,
  heads: 2,
  leases: 3,
  secrets: 4,
  state: 5,
  keys: 16,
  keysById: 17,
  usage: 18,
  orders: 19,
  orderPlaces: 20,
  openOrders: 21,
  orderEvents: 22,
  addressIndexes: 23,
  heldCardEvents: 24,
  cardMarks: 25,
  rates: 26,
  embeddings: 27,
  corpora: 28,
  corpusVersions: 29,
  corpusLearning: 30,
  corpusSamples: 31,
  webhooks: 36,
  webhookPlaces: 37,
  webhookDeliveries: 38,
  keyNotices: 39,
  profiles: 40,
  optouts: 32,
  fragments: 48,
  fragmentKeys: 49,
  fragmentDuplicates: 50,
  fragmentNotices: 51,
  legacyReceipts: 52,
  leafPlaces: 53,
  logTiles: 54,
  logCheckpoints: 55,
  previews: 56,
  logStamps: 57,
} as const;

/** The same of logs. */
const writtenLogs = {
  keyChanges: 128,
  leads: 129,
  interests: 130,
  clicks: 131,
  ledger: 132,
  corpusChanges: 133,
  events: 134,
  history: 135,
  fragments: 136,
  profileChanges: 137,
} as const;

test('spaces and logs have the numbers with which they were written', () => {
  assert.deepEqual([spaces, logs], [writtenSpaces, writtenLogs]);
  const numbers = [...Object.values(writtenSpaces), ...Object.values(writtenLogs)];
  assert.equal(new Set(numbers).size, numbers.length);
  assert.ok(Object.values(spaces).every((number) => number > 0 && number < 128));
  assert.ok(Object.values(logs).every((number) => number >= 128 && number < 255));
});
