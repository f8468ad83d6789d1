/**
 * Audits a whole log from outside (`fusegate log audit`): reads every entry, recomputes every hash, and
 * compares every tile and the signed root.
 */
import { openCheckpoint, type Checkpoint, type VerifierKey } from './note.js';
import { tilePath, type TilePath } from './tilePath.js';
import { edgeOf, hashBytes, laidOver, rootOf, tileWidth, widthOf, type TreeParts } from './tree.js';

/** Dependencies of an audit. */
export interface AuditParts {
  readonly tree: TreeParts;
  /** The bytes at a path of the log. @throws Error with the reason */
  readonly fetch: (path: string) => Promise<Buffer>;
  readonly progress: (leaves: number, of: number) => void;
}

/** Outcome of an audit; `wrong` is a sentence. */
export type Audited = { readonly checkpoint: Checkpoint; readonly note: string } | { readonly wrong: string };

/** Bundles that are fetched, and hashed, together. */
const together = 64;

/** The entries of a bundle; undefined if they are not entries of 32 bytes. */
function entriesOf(bundle: Buffer, count: number): Buffer | undefined {
  const entryBytes = 2 + hashBytes;
  if (bundle.byteLength !== count * entryBytes) return undefined;
  const entries: Buffer[] = [];
  for (let at = 0; at < bundle.byteLength; at += entryBytes) {
    if (bundle.readUInt16BE(at) !== hashBytes) return undefined;
    entries.push(bundle.subarray(at + 2, at + entryBytes));
  }
  return Buffer.concat(entries);
}

const url = (path: TilePath): string => `tile/${tilePath(path)}`;

/** The recomputed tree, compared with the served one on the way. */
class Auditing {
  private size = 0;
  private edge: Buffer[] = [];

  constructor(
    private readonly parts: AuditParts,
    private readonly of: number,
  ) {}

  /** Continues to `size` leaves; returns a sentence if something is wrong. */
  async advance(size: number): Promise<string | undefined> {
    while (this.size < size) {
      const wrong = await this.step(Math.min(size, this.size + together * tileWidth));
      if (wrong !== undefined) return wrong;
      this.parts.progress(this.size, this.of);
    }
    return undefined;
  }

  /** The root of the leaves so far. */
  root(): Promise<Buffer | undefined> {
    return rootOf(this.parts.tree, this.size, (level) =>
      Promise.resolve(this.edge[level] ?? Buffer.alloc(0)),
    );
  }

  private async step(to: number): Promise<string | undefined> {
    const { tree, fetch } = this.parts;
    const first = Math.floor(this.size / tileWidth);
    const bundles = Array.from({ length: Math.ceil(to / tileWidth) - first }, (_, at) => {
      const index = first + at;
      return { level: 'entries', index, width: widthOf(this.of, 0, index) } as const;
    });
    const read = await Promise.all(
      bundles.map(async (path) => ({ path, entries: entriesOf(await fetch(url(path)), path.width) })),
    );
    for (const { path, entries } of read) {
      if (entries === undefined) return `${url(path)} is no bundle of ${path.width} entries of 32 bytes.`;
    }
    const all = Buffer.concat(read.flatMap(({ entries }) => entries ?? []));
    const begin = (this.size - first * tileWidth) * hashBytes;
    const tiles = tree.logGrow(
      this.size,
      this.edge,
      all.subarray(begin, begin + (to - this.size) * hashBytes),
    );
    const wrong = await Promise.all(tiles.map((tile) => this.compare(tile)));
    this.edge =
      (await edgeOf(
        to,
        laidOver(tiles, (level) => this.edgeTile(level)),
      )) ?? [];
    this.size = to;
    return wrong.find((each) => each !== undefined);
  }

  private edgeTile(level: number): Promise<Buffer> {
    return Promise.resolve(this.edge[level] ?? Buffer.alloc(0));
  }

  /** Compares a computed tile with the served one, if the audited size includes it. */
  private async compare(tile: {
    level: number;
    index: number;
    hashes: Uint8Array;
  }): Promise<string | undefined> {
    const width = tile.hashes.byteLength / hashBytes;
    if (width !== widthOf(this.of, tile.level, tile.index)) return undefined;
    const path = url({ level: tile.level, index: tile.index, width });
    const served = await this.parts.fetch(path);
    return Buffer.compare(served, tile.hashes) === 0
      ? undefined
      : `${path} is not made of the log's entries.`;
  }
}

async function agrees(auditing: Auditing, known: Checkpoint, what: string): Promise<string | undefined> {
  const wrong = await auditing.advance(known.size);
  if (wrong !== undefined) return wrong;
  const root = await auditing.root();
  if (root !== undefined && Buffer.compare(root, known.root) === 0) return undefined;
  return `The log's first ${known.size} entries do not have the root of ${what}.`;
}

/** Audits the log of a key. `since`: an earlier checkpoint, which the log must extend. */
export async function auditLog(parts: AuditParts, key: VerifierKey, since?: string): Promise<Audited> {
  const note = (await parts.fetch('checkpoint')).toString();
  const checkpoint = openCheckpoint(note, key);
  if ('wrong' in checkpoint) return { wrong: `The log's checkpoint ${checkpoint.wrong}.` };
  const auditing = new Auditing(parts, checkpoint.size);
  if (since !== undefined) {
    const kept = openCheckpoint(since, key);
    if ('wrong' in kept) return { wrong: `The checkpoint to compare with ${kept.wrong}.` };
    if (kept.size > checkpoint.size) {
      return { wrong: `The log went back: it had ${kept.size} entries and has ${checkpoint.size}.` };
    }
    const wrong = await agrees(auditing, kept, 'the checkpoint to compare with');
    if (wrong !== undefined) return { wrong };
  }
  const wrong = await agrees(auditing, checkpoint, 'its checkpoint');
  return wrong === undefined ? { checkpoint, note } : { wrong };
}
