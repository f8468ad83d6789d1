/** The key spaces of the store: a closed list. Their numbers are on disk and never change meaning. */

/** Spaces of records, by the first byte of their keys. */
export const spaces = {
  /** Outcomes of recent units, for their retries. Key: unit id. */
  units: 1,
  /** The next position of every log. Key: the log's number. */
  heads: 2,
  /** Leases of background work. Key: the lease's name. */
  leases: 3,
  /** Fingerprints of the secrets in use, all in one record. Key: `master`. */
  secrets: 4,
  /** The store's own state. Key: name of the item. */
  state: 5,
  /** API keys. Key: SHA-256 of the raw key. */
  keys: 16,
  /** API keys by their id. Key: the id; value: SHA-256 of the raw key. */
  keysById: 17,
  /** Characters used in the current month. Key: the subject. */
  usage: 18,
  /** Orders. Key: the order's id. */
  orders: 19,
  /** Orders by their id on the rail. Key: rail, `:`, address, payment hash or session id. */
  orderPlaces: 20,
  /** Orders that may still change. Key: rail, `:`, id; value: id. */
  openOrders: 21,
  /** Events of card orders, by the processor's event id. Key: the event's id. */
  orderEvents: 22,
  /** The next index of every account whose addresses are derived. Key: the account's digest. */
  addressIndexes: 23,
  /** Card events held because their order is unknown. Key: payment intent, `:`, the event's id. */
  heldCardEvents: 24,
  /** Index of card payments by payment intents and disputes, and the time of the last event. */
  cardMarks: 25,
  /** Prices of a bitcoin in cents that were in force. Key: when each was read (64-bit milliseconds). */
  rates: 26,
  /** Vectors of texts by models. Key: period (32 bits), SHA-256 of the model's digest and the text. */
  embeddings: 27,
  /** Named statistics of collections, and their versions. Key: the name. */
  corpora: 28,
  /** Statistics of a version. Key: the name, a zero byte, the number (32 bits). */
  corpusVersions: 29,
  /** Names whose statistics are learned. Key: the name. */
  corpusLearning: 30,
  /** Samples of docs that names learn from. Key: the name. */
  corpusSamples: 31,
  /** Webhooks, by their ids. */
  webhooks: 36,
  /** The position of each webhook in the logs of events. Key: the webhook's id. */
  webhookPlaces: 37,
  /** Events that a webhook has not accepted yet. Key: webhook, `/`, log, `/`, position. */
  webhookDeliveries: 38,
  /** Announced expiries of keys. Key: the expiry (64-bit milliseconds), the key's id. */
  keyNotices: 39,
  /** Profiles: settings of requests, and their versions. Key: the name. */
  profiles: 40,
  /** Addresses that opted out. Key: HMAC of the address. */
  optouts: 32,
  /** Fragments with their sealed envelopes. Key: the receipt's id. */
  fragments: 48,
  /** Submissions by idempotency key. Key: SHA-256 of the idempotency key. */
  fragmentKeys: 49,
  /** Receipts by duplicate key. Key: whether it is a probe, then the dedupe key's digest. */
  fragmentDuplicates: 50,
  /** The operator's decisions about showing a fragment's content. Key: the receipt's id. */
  fragmentNotices: 51,
  /** Receipts of the first hash contract, as they were imported. Key: the receipt's id. */
  legacyReceipts: 52,
  /** Positions of fragments in their log: their places in the log of receipts. Key: the receipt's id. */
  leafPlaces: 53,
  /** Tiles of the log of receipts. Key: level, 64-bit number in the level. */
  logTiles: 54,
  /** Checkpoints of the log of receipts. Key: number of leaves (64 bits). */
  logCheckpoints: 55,
  /** Previews of fragments on a shared store. Key: period of the expiry (32 bits), token (32 bytes). */
  previews: 56,
  /** Stamps of the log of receipts in Bitcoin. Key: the day (`2026-11-23`, UTC). */
  logStamps: 57,
} as const;

/** Name of a space of records. */
export type Space = keyof typeof spaces;

/** Logs, by the first byte of their entries' keys; the entry's position follows it. */
export const logs = {
  /** A key was made or its state changed. */
  keyChanges: 128,
  leads: 129,
  interests: 130,
  clicks: 131,
  /** Money that orders received or returned. */
  ledger: 132,
  /** A name of statistics got a version, or was removed. */
  corpusChanges: 133,
  /** Events of orders and keys, sent by webhooks. */
  events: 134,
  /** Changes by operators' commands. */
  history: 135,
  /** Receipts of fragments in the order in which they were stored. */
  fragments: 136,
  /** A profile got a version, or was removed. */
  profileChanges: 137,
} as const;

/** Name of a log. */
export type Log = keyof typeof logs;
