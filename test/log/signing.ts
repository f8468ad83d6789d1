/** A process that stores receipts and signs checkpoints, and reports on its standard output what is done. */
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { signRound, type Round } from '../../src/log/signer.js';
import { seenFile } from '../../src/log/seen.js';
import { native } from '../../src/native/addon.js';
import { acquireLease } from '../../src/store/leases.js';
import { findSigned } from '../../src/store/tables/receiptLog.js';
import type { Store } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { storeAt } from '../support/openStore.js';
import { keyOf, receiptUnit, sealOf } from './world.js';

const lease = 'receipt log';

/** Receipts that come between two checkpoints: tiles are filled, and begun, on two levels. */
export const roundLeaves = 150;

/** Signs until nothing is left, as a machine with this data folder; the last round. */
export async function signAll(store: Store, data: string, nowMs: number): Promise<Round> {
  const clock = { ...systemClock, wallMs: () => nowMs };
  const held = await acquireLease({ store, clock }, lease, 'signing', 1_000);
  if (held.kind !== 'held') throw new Error(`the lease is ${held.kind}`);
  const { token } = held.lease.record;
  const seen = seenFile(data, 'own');
  const parts = { store, clock, tree: native, key: keyOf(1), origin: 'log.example', seen };
  for (;;) {
    const round = await signRound(parts, { lease, token });
    if (round.kind !== 'signed') return round;
  }
}

/** Stores a few receipts and signs, `rounds` times, each later than the lease before lasts. */
async function work(folder: string, rounds: number): Promise<void> {
  const store = await storeAt(`lmdb:${join(folder, 'store')}`);
  for (let round = 1; round <= rounds; round += 1) {
    const before = await store.last('fragments');
    const numbers = Array.from({ length: roundLeaves }, (_, at) => before + at);
    await store.commit(numbers.flatMap((number) => receiptUnit(number, sealOf(number))));
    writeSync(1, `ACK leaves ${await store.last('fragments')}\n`);
    await signAll(store, join(folder, 'data'), round * 10_000);
    writeSync(1, `ACK signed ${(await findSigned(store))?.signed.size}\n`);
  }
  await store.close();
}

const [, file, folder, rounds] = process.argv;
if (file?.endsWith('signing.js') === true && folder !== undefined) await work(folder, Number(rounds));
