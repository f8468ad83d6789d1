/**
 * Stores fragments (contract, POST /dream). There is one original, however often and concurrently it is sent.
 * An outcome that names a stored record was read from the store: the record is on disk before any client
 * learns of it.
 */
import type { AcceptedDigests, CryptographicVerification, Fragment } from '../contract/fragment.js';
import type { SealedFragment } from '../native/index.js';
import {
  findBinding,
  findDuplicate,
  findFragment,
  insertBinding,
  insertFragment,
  type KeyBinding,
  type StoredFragment,
} from '../store/tables/fragments.js';
import type { Operation, Store } from '../store/store.js';
import { timeText, type Clock } from '../system/clock.js';
import { inSlice } from '../system/slices.js';
import { receiptId } from '../store/receiptId.js';
import type { FragmentRoom } from './total.js';
import { verify } from './verify.js';

/** Accepts a fragment and makes its digests, in one call of the native module. */
export type SealFragment = (
  title: string,
  content: string,
  mechanism: string,
  test: string,
  kind: string,
  visitor: string,
  receipt: string,
  receivedAt: string,
) => SealedFragment;

/** Dependencies of storing fragments. */
export interface SubmitParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly sealFragment: SealFragment;
  /** The fragments' share of the disk. */
  readonly room: FragmentRoom;
}

/** The six fields as received; null and undefined mean absent. */
export type GivenFragment = { readonly [Field in keyof Fragment]?: string | null | undefined };

/** A fragment's accepted strings and digests, without a seal. */
export interface Accepted {
  readonly fragment: Fragment;
  readonly digests: AcceptedDigests;
  /** True if the kind is one of the eight, or absent. */
  readonly knownKind: boolean;
  readonly probe: boolean;
}

/** A stored fragment as read back. */
export interface Receipt {
  readonly stored: StoredFragment;
  /** The envelope's members. */
  readonly envelope: Readonly<Record<string, string>>;
  readonly verification: CryptographicVerification;
}

/** A submission that has a receipt. */
export type Received =
  | { readonly kind: 'stored'; readonly receipt: Receipt }
  /** The original's receipt; `replayed`: found by the idempotency key, not by content. */
  | { readonly kind: 'duplicate'; readonly receipt: Receipt; readonly replayed: boolean };

/** Outcome of a submission. */
export type Submitted =
  | Received
  /** The idempotency key was used before with other content. */
  | { readonly kind: 'conflict' }
  /** Fragments have reached their limit on the disk, and this one is new. */
  | { readonly kind: 'full' };

function accepted({ canonical, digests, knownKind, probe }: SealedFragment): Accepted {
  return {
    fragment: JSON.parse(canonical) as Fragment,
    digests: {
      content_sha256: digests.content,
      content_bytes_sha256: digests.content,
      submission_payload_sha256: digests.submission,
      canonical_payload_sha256: digests.canonical,
      dedupe_key_sha256: digests.dedupe,
      confirmation_binding_sha256: digests.binding,
      confirmation_token_sha256: digests.token,
    },
    knownKind,
    probe,
  };
}

function seal(sealFragment: SealFragment, given: GivenFragment, receipt: string, at: string): SealedFragment {
  const { title, content, mechanism, test, kind, visitor } = given;
  return sealFragment(
    title ?? '',
    content ?? '',
    mechanism ?? '',
    test ?? '',
    kind ?? '',
    visitor ?? '',
    receipt,
    at,
  );
}

/** The accepted strings and digests of the given fields; nothing is stored. */
export function accept(sealFragment: SealFragment, given: GivenFragment): Accepted {
  return accepted(seal(sealFragment, given, '', ''));
}

/** A stored fragment with its envelope read and verified. */
export function receiptOf(receipt: string, stored: StoredFragment): Receipt {
  const envelope = JSON.parse(stored.envelope) as Record<string, string>;
  const { fragment, seal: sealed } = stored;
  return { stored, envelope, verification: verify({ receipt, fragment, envelope, seal: sealed }) };
}

/** Reads a receipt whose id another record holds. */
async function readBack(store: Store, receipt: string): Promise<Receipt> {
  const found = await findFragment(store, receipt);
  if (found === undefined) throw new Error(`The store names receipt ${receipt}, which is not there`);
  // In slices: the receipts of one transaction are all read back at the same time.
  return inSlice(() => receiptOf(receipt, found));
}

/** A pending submission. */
interface Candidate extends Accepted {
  readonly stored: StoredFragment;
  readonly key: string | undefined;
}

function duplicateKey({ probe, digests }: Accepted): { readonly probe: boolean; readonly digest: string } {
  return { probe, digest: digests.dedupe_key_sha256 };
}

function bindingOf({ digests }: Candidate, receipt: string): KeyBinding {
  return { payload: Buffer.from(digests.canonical_payload_sha256, 'hex'), receipt };
}

async function duplicateOf(store: Store, receipt: string, replayed: boolean): Promise<Received> {
  return { kind: 'duplicate', receipt: await readBack(store, receipt), replayed };
}

/** The submission bound to the key; undefined if the key is new, or absent. */
async function byKey(store: Store, candidate: Candidate): Promise<Submitted | undefined> {
  if (candidate.key === undefined) return undefined;
  const found = await findBinding(store, candidate.key);
  if (found === undefined) return undefined;
  const own = bindingOf(candidate, found.receipt);
  if (Buffer.compare(found.payload, own.payload) !== 0) return { kind: 'conflict' };
  return duplicateOf(store, found.receipt, true);
}

/** The earlier receipt of a key, with its `canonical_payload_sha256`; undefined if the key is new. */
export async function replay(
  store: Store,
  key: string,
): Promise<{ readonly payload: string; readonly received: Received } | undefined> {
  const found = await findBinding(store, key);
  if (found === undefined) return undefined;
  const received = await duplicateOf(store, found.receipt, true);
  return { payload: Buffer.from(found.payload).toString('hex'), received };
}

/**
 * The original with the same content, after binding the key to it; undefined: none. `full`: there is no room
 * for the binding, without which the key would be free for another payload. `changed`: look again.
 */
async function byContent(
  store: Store,
  candidate: Candidate,
  room: FragmentRoom,
): Promise<Submitted | 'changed' | undefined> {
  const found = await findDuplicate(store, duplicateKey(candidate));
  if (found === undefined) return undefined;
  if (candidate.key !== undefined) {
    if (room.isFull()) return { kind: 'full' };
    const operations = [insertBinding(candidate.key, bindingOf(candidate, found))];
    const outcome = await store.commit(operations);
    if (outcome.kind !== 'done') return 'changed';
    room.countBinding();
  }
  return duplicateOf(store, found, false);
}

/** One round: finds the stored receipt, or commits the unit that stores it; `changed` after a conflict. */
async function attempt(
  store: Store,
  candidate: Candidate,
  room: FragmentRoom,
): Promise<Submitted | 'changed'> {
  const known = (await byKey(store, candidate)) ?? (await byContent(store, candidate, room));
  if (known !== undefined) return known;
  if (room.isFull()) return { kind: 'full' };
  const { key, stored } = candidate;
  const bindings: Operation[] =
    key === undefined ? [] : [insertBinding(key, bindingOf(candidate, stored.receipt))];
  const operations = [...bindings, ...insertFragment(stored, duplicateKey(candidate))];
  const outcome = await store.commit(operations);
  if (outcome.kind !== 'done') return 'changed';
  return { kind: 'stored', receipt: await readBack(store, stored.receipt) };
}

/**
 * Submits a fragment with a non-empty title and content. `key`: the idempotency key, which is then bound to
 * this payload for good. Resolves to the accepted fragment and its outcome.
 */
export async function submit(
  { store, clock, sealFragment, room }: SubmitParts,
  given: GivenFragment,
  key: string | undefined,
): Promise<{ readonly accepted: Accepted; readonly submitted: Submitted }> {
  const receipt = receiptId(store.newUnitId());
  const sealed = await inSlice(() => seal(sealFragment, given, receipt, timeText(clock.wallMs())));
  const own = accepted(sealed);
  const stored = { receipt, fragment: own.fragment, envelope: sealed.envelope, seal: sealed.seal };
  for (;;) {
    const submitted = await attempt(store, { stored, key, ...own }, room);
    if (submitted !== 'changed') return { accepted: own, submitted };
  }
}
