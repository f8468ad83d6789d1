/**
 * Asks the witnesses of the policy (`WITNESSES`) to cosign checkpoints (C2SP tlog-witness), and adds their
 * signatures to the stored checkpoint. Nothing waits for a witness: one that does not answer is not asked for
 * a while, and its line is missing.
 */
import type { Clock } from '../system/clock.js';
import type { Log } from '../system/log.js';
import { reasonOf } from '../system/reason.js';
import { findSigned, writeSigned, type SignedCheckpoint } from '../store/tables/receiptLog.js';
import type { Fence, Store } from '../store/store.js';
import { cosignaturesOf, openCosignature } from './cosignature.js';
import { noteParts } from './note.js';
import type { PolicyWitness } from './policy.js';
import { hashBytes, proofOf, storedTiles, type TreeParts } from './tree.js';

/** Posts a text; rejects if no answer comes in time. */
export type Post = (url: string, body: string) => Promise<{ readonly status: number; readonly body: string }>;

/** Dependencies of asking witnesses. */
export interface WitnessingParts {
  readonly store: Store;
  readonly tree: TreeParts;
  readonly witnesses: readonly PolicyWitness[];
  readonly post: Post;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Pick<Log, 'warn'>;
}

/** Pause after a witness' first failure (ms); doubles with each further failure, up to the longest. */
const firstRestMs = 5_000;
const lastRestMs = 600_000;

/** The state of one witness, as this process knows it. */
interface Known {
  /** Leaves of the checkpoint that it cosigned last. */
  size: number;
  restMs: number;
  restsUntilMs: number;
}

/** The witness' answer: a line, or a sentence part that says why there is none. */
type Asked = { readonly line: string } | { readonly wrong: string };

/** Asks witnesses. */
export class Witnessing {
  private readonly known = new Map<string, Known>();

  constructor(private readonly parts: WitnessingParts) {}

  /**
   * Gets the last checkpoint cosigned by the witnesses that have not signed it yet. @throws StoreUnavailable
   */
  async cosign(fence: Fence): Promise<void> {
    const { store, witnesses } = this.parts;
    const found = await findSigned(store);
    if (found === undefined || found.signed.restored || found.signed.publicKey.byteLength === 0) return;
    const { signed, record } = found;
    const missing = witnesses.filter(({ key, url }) => {
      return url !== null && cosignaturesOf(signed.note, [key]).length === 0;
    });
    const lines = await Promise.all(missing.map((witness) => this.lineOf(witness, signed)));
    const added = lines.filter((line) => line !== undefined).join('');
    if (added === '') return;
    const next = { ...signed, note: signed.note + added };
    await store.commit([{ kind: 'fence', ...fence }, writeSigned(record, next)]);
  }

  /** A witness' line under a checkpoint; undefined, and logged, if it gave none. */
  private async lineOf(witness: PolicyWitness, signed: SignedCheckpoint): Promise<string | undefined> {
    const { clock, log } = this.parts;
    const { name } = witness;
    const known = this.known.get(name) ?? { size: 0, restMs: firstRestMs, restsUntilMs: -Infinity };
    this.known.set(name, known);
    if (clock.monotonicMs() < known.restsUntilMs) return undefined;
    const asked = await this.ask(witness, known, signed).catch((error: unknown) => ({
      wrong: reasonOf(error),
    }));
    if ('line' in asked) {
      known.restMs = firstRestMs;
      return asked.line;
    }
    log.warn({ witness: name, reason: asked.wrong, restMs: known.restMs }, 'a witness did not cosign');
    known.restsUntilMs = clock.monotonicMs() + known.restMs;
    known.restMs = Math.min(lastRestMs, 2 * known.restMs);
    return undefined;
  }

  /** Asks, and asks once more if the witness says that it knows another size. */
  private async ask({ key, url }: PolicyWitness, known: Known, signed: SignedCheckpoint): Promise<Asked> {
    for (let round = 0; round < 2; round += 1) {
      const path = await this.pathFrom(known.size, signed.size);
      if (path === undefined) return { wrong: 'tiles of the log are missing' };
      const answer = await this.parts.post(
        `${url ?? ''}/add-checkpoint`,
        `old ${known.size}\n${path}\n${signed.note}`,
      );
      if (answer.status === 409) {
        const size = Number(/^(0|[1-9][0-9]{0,15})\n$/.exec(answer.body)?.[1] ?? NaN);
        if (!(size <= signed.size)) {
          return { wrong: `it has seen a checkpoint of ${size} leaves, and this store has ${signed.size}` };
        }
        if (size === known.size) return { wrong: `it knows another history of ${size} leaves` };
        known.size = size;
        continue;
      }
      if (answer.status !== 200) return { wrong: `it answers with status ${answer.status}` };
      known.size = signed.size;
      const text = noteParts(signed.note)?.text ?? '';
      const lines = answer.body.split('\n');
      const line = lines.map((each) => openCosignature(text, each, key)).find((each) => each !== undefined);
      return line === undefined
        ? { wrong: 'its answer is not signed by its key' }
        : { line: `${line.line}\n` };
    }
    return { wrong: 'it names one size after another' };
  }

  /** The lines of the proof that a log of `size` leaves extends one of `old` leaves. */
  private async pathFrom(old: number, size: number): Promise<string | undefined> {
    if (old === 0 || old === size) return '';
    const { tree, store } = this.parts;
    const hashes = await proofOf(tree, 'consistency', old, size, storedTiles(store));
    if (hashes === undefined) return undefined;
    const count = hashes.byteLength / hashBytes;
    return Array.from({ length: count }, (_, at) => {
      return `${hashes.toString('base64', at * hashBytes, (at + 1) * hashBytes)}\n`;
    }).join('');
  }
}
