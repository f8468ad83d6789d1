/** A served door with a log that is signed when a test says so. */
import assert from 'node:assert/strict';
import { verifierText } from '../../src/log/note.js';
import { signRound } from '../../src/log/signer.js';
import { native } from '../../src/native/addon.js';
import type { ReceiptResponse } from '../../src/contract/receipt.js';
import { acquireLease } from '../../src/store/leases.js';
import type { Store } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { startDoor, type DoorClient } from '../support/door.js';
import { exchange, head } from '../support/raw.js';
import { openTestStore } from '../support/serving.js';
import { keyOf, MemoryFile, receiptUnit, sealOf } from './world.js';

/** The door, its store, and what is done to its log. */
export interface ServedLog {
  readonly store: Store;
  readonly door: DoorClient;
  readonly vkey: string;
  /** Stores receipts until the log has so many leaves. */
  readonly fill: (leaves: number) => Promise<void>;
  /** Submits a fragment; its id. */
  readonly submit: (fragment: Readonly<Record<string, string>>) => Promise<string>;
  /** Signs a checkpoint over all leaves. */
  readonly sign: () => Promise<void>;
  readonly receipt: (id: string) => Promise<ReceiptResponse>;
  readonly text: (path: string) => Promise<string>;
}

/** Starts it; it ends with the tests. */
export async function startLog(origin: string): Promise<ServedLog> {
  const store = await openTestStore();
  const door = await startDoor({ store });
  const key = keyOf(1);
  const parts = { store, clock: systemClock, tree: native, key, origin, seen: new MemoryFile() };
  const lease = await acquireLease({ store, clock: systemClock }, 'receipt log', 'test', 1e9);
  assert.ok(lease.kind === 'held');
  const { token } = lease.lease.record;
  return {
    store,
    door,
    vkey: verifierText({ name: origin, publicKey: key.publicKey }),
    async fill(leaves) {
      for (let at = await store.last('fragments'); at < leaves; at += 1) {
        await store.commit(receiptUnit(at, sealOf(at)));
      }
    },
    submit: async (fragment) => (await door.post<{ receipt: string }>('/dream', fragment)).body.receipt,
    async sign() {
      assert.equal((await signRound(parts, { lease: 'receipt log', token })).kind, 'signed');
    },
    receipt: async (id) => (await door.get<ReceiptResponse>(`/receipt/${id}`)).body,
    text: async (path) => (await exchange(door.port, head('GET', path))).body.toString(),
  };
}
