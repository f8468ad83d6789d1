/** A log whose store and file are in memory, so that both can go back, crash and be shared by two signers. */
import { createHash } from 'node:crypto';
import { logKey, type LogKey } from '../../src/log/note.js';
import type { Seen, SeenFile, SeenResult } from '../../src/log/seen.js';
import { signRound, type Round, type SignerParts } from '../../src/log/signer.js';
import { native } from '../../src/native/addon.js';
import type { Unit } from '../../src/store/evaluate.js';
import { encodeFragment, encodeLogged, encodeReceipt } from '../../src/store/tables/fragments.js';
import { findSigned, type SignedCheckpoint } from '../../src/store/tables/receiptLog.js';
import type { Operation, Outcome, Store } from '../../src/store/store.js';
import { ReferenceStore } from '../reference/store.js';
import { viewOf } from '../reference/storeView.js';
import { newUnitId } from '../support/openStore.js';

/** Name and fencing number of the lease that is held. */
export const fence = { lease: 'receipt log', token: 7 };

/** The naive store behind the store's contract, with its past. */
export class MemoryStore {
  private reference = new ReferenceStore({ 'receipt log': fence.token });
  private units: Unit[] = [];
  /** Called before each commit, once. */
  before: (() => Promise<void>) | undefined;
  /** How the next commit fails, if it does. */
  fault: 'not written' | 'written' | undefined;

  /** Units so far. */
  get length(): number {
    return this.units.length;
  }

  /** Goes back to what it was after a number of units. */
  restore(length: number): void {
    const kept = this.units.slice(0, length);
    this.reference = new ReferenceStore({ 'receipt log': fence.token });
    this.units = [];
    for (const unit of kept) this.take(unit);
  }

  private take(unit: Unit): Outcome {
    this.units.push(unit);
    return this.reference.commit(unit);
  }

  readonly commit = async (operations: readonly Operation[]): Promise<Outcome> => {
    const { before, fault } = this;
    this.before = undefined;
    this.fault = undefined;
    await before?.();
    if (fault === 'not written') throw new Error('crash');
    const outcome = this.take({ id: newUnitId(), operations });
    if (fault === 'written') throw new Error('crash');
    return outcome;
  };

  /** The store as a signer sees it. */
  readonly seen: Store = viewOf({
    reference: () => this.reference,
    commit: (operations) => this.commit(operations),
    read: (call) => Promise.resolve(call()),
  });
}

/** A machine's file in memory. `crash`: the next write fails, before or after it. */
export class MemoryFile implements SeenFile {
  state: Seen | undefined;
  /** Why it cannot be read, if so. */
  wrong: string | undefined;
  fault: 'not written' | 'written' | undefined;
  readonly read = (): SeenResult => (this.wrong === undefined ? this.state : { wrong: this.wrong });
  readonly writeNow = (seen: Seen): void => {
    const { fault } = this;
    this.fault = undefined;
    if (fault === 'not written') throw new Error('crash');
    this.state = { size: seen.size, root: Buffer.from(seen.root) };
    if (fault === 'written') throw new Error('crash');
  };
  readonly write = async (seen: Seen): Promise<void> => {
    await Promise.resolve();
    this.writeNow(seen);
  };
  readonly remove = (): void => {
    this.state = undefined;
  };
}

/** The seal of a receipt by a number and a branch of history. */
export function sealOf(number: number, branch = ''): Buffer {
  return createHash('sha256').update(`${branch}${number}`).digest();
}

/** The receipt's id by a number. */
export function idOf(number: number): string {
  return `fr_0${String(number).padStart(25, '0')}`;
}

/** The unit of a receipt as submissions write it; `old`: as version 0.4 wrote it. */
export function receiptUnit(number: number, seal: Uint8Array, old = false): Operation[] {
  const receipt = idOf(number);
  if (!old) {
    const place = { space: 'leafPlaces', key: Buffer.from(receipt) } as const;
    return [{ kind: 'append', log: 'fragments', value: encodeLogged(receipt, seal), place }];
  }
  const fragment = { title: 't', content: 'c', mechanism: '', test: '', kind: '', visitor: '' };
  const stored = { receipt, fragment, envelope: '{}', seal: Buffer.from(seal).toString('hex') };
  return [
    { kind: 'put', space: 'fragments', key: Buffer.from(receipt), value: encodeFragment(stored) },
    { kind: 'append', log: 'fragments', value: encodeReceipt(receipt) },
  ];
}

/** A key by a number. */
export function keyOf(number: number): LogKey {
  return logKey(Buffer.alloc(32, number));
}

/** A log with one machine. */
export class World {
  readonly store = new MemoryStore();
  readonly file = new MemoryFile();
  readonly leaves: Buffer[] = [];
  /** Later machines share the store. */
  partsOf(file: SeenFile, key = keyOf(1), origin = 'log.example'): SignerParts {
    return { store: this.store.seen, clock: { wallMs: () => 1_000 }, tree: native, key, origin, seen: file };
  }

  /** Stores receipts. */
  async add(count: number, branch = '', old = false): Promise<void> {
    for (let added = 0; added < count; added += 1) {
      const seal = sealOf(this.leaves.length, branch);
      await this.store.commit(receiptUnit(this.leaves.length, seal, old));
      this.leaves.push(seal);
    }
  }

  /** Stores receipts in one unit. */
  async addAll(count: number): Promise<void> {
    const from = this.leaves.length;
    const seals = Array.from({ length: count }, (_, at) => sealOf(from + at));
    await this.store.commit(seals.flatMap((seal, at) => receiptUnit(from + at, seal)));
    this.leaves.push(...seals);
  }

  round(file = this.file, token = fence.token): Promise<Round> {
    return signRound(this.partsOf(file), { ...fence, token });
  }

  async signed(): Promise<SignedCheckpoint | undefined> {
    return (await findSigned(this.store.seen))?.signed;
  }
}
