/**
 * A witness of logs (C2SP tlog-witness): it cosigns a checkpoint if a proof shows that the log only grew
 * since the one that it cosigned before. A cosigned state is durable before its answer is sent, and requests
 * are handled one at a time: no crash and no race makes it sign a contradiction.
 */
import { createHash } from 'node:crypto';
import { cosign } from './cosignature.js';
import { fromBase64, noteParts, openCheckpoint, type LogKey, type VerifierKey } from './note.js';
import { isConsistent } from './proof.js';
import type { SeenFile } from './seen.js';
import { hashBytes } from './tree.js';

/** Dependencies of a witness. */
export interface WitnessParts {
  readonly name: string;
  readonly key: LogKey;
  /** Logs whose checkpoints it accepts. */
  readonly logs: readonly VerifierKey[];
  /** The file of a log's last cosigned state, by the log's name. */
  readonly stateOf: (name: string) => SeenFile;
  readonly clock: { readonly wallMs: () => number };
}

/** An answer of the witness. */
export interface WitnessAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const words = (status: number, body: string): WitnessAnswer => {
  return { status, type: 'text/plain; charset=utf-8', body: `${body}\n` };
};
const conflict = (size: number): WitnessAnswer => {
  return { status: 409, type: 'text/x.tlog.size', body: `${size}\n` };
};

/** Most hashes of a proof. */
const mostHashes = 63;

const emptyRoot = createHash('sha256').digest();

/** A parsed request. */
interface Asked {
  readonly old: number;
  readonly path: readonly Buffer[];
  readonly note: string;
}

function readAsked(body: string): Asked | undefined {
  const end = body.indexOf('\n\n');
  const [first = '', ...lines] = body.slice(0, Math.max(0, end)).split('\n');
  const [, old] = /^old (0|[1-9][0-9]{0,15})$/.exec(first) ?? [];
  const path = lines.map(fromBase64).filter((hash) => hash?.byteLength === hashBytes) as Buffer[];
  if (old === undefined || path.length !== lines.length || path.length > mostHashes) return undefined;
  return { old: Number(old), path, note: body.slice(end + 2) };
}

/** Handles a checkpoint. Calls must not overlap; as it is synchronous, they cannot. */
export function addCheckpoint(parts: WitnessParts, body: string): WitnessAnswer {
  const asked = readAsked(body);
  const note = asked === undefined ? undefined : noteParts(asked.note);
  if (asked === undefined || note === undefined) return words(400, 'This is no request of tlog-witness.');
  const origin = note.text.split('\n')[0] ?? '';
  const keys = parts.logs.filter(({ name }) => name === origin);
  if (keys.length === 0) return words(404, 'This witness does not know that log.');
  const opened = keys.map((key) => openCheckpoint(asked.note, key)).find((each) => 'size' in each);
  if (opened === undefined || 'wrong' in opened)
    return words(403, 'The checkpoint is not signed by the log.');
  const { old, path } = asked;
  const { size, root } = opened;
  if (old > size) return words(400, 'The old size is above that of the checkpoint.');
  const file = parts.stateOf(`witness-${createHash('sha256').update(origin).digest('hex').slice(0, 32)}`);
  const known = file.read() ?? { size: 0, root: emptyRoot };
  if ('wrong' in known) return words(500, 'What this witness knows of the log is damaged.');
  if (known.size !== old) return conflict(known.size);
  if (old === size && Buffer.compare(known.root, root) !== 0) return conflict(known.size);
  const isGrown = old === 0 ? path.length === 0 : isConsistent([old, known.root], [size, root], path);
  if (!isGrown) return words(422, 'The proof does not show that the log only grew.');
  if (old < size) file.writeNow({ size, root });
  const line = cosign(note.text, parts.name, parts.key, Math.floor(parts.clock.wallMs() / 1_000));
  return { status: 200, type: 'text/plain; charset=utf-8', body: line };
}
