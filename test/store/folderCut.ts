/**
 * A folder on a disk that loses power. Bytes are safe after a sync of their file, a name after a sync of
 * the folder that it stands in (POSIX, fsync); of everything since, any part may be there.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { laidOver, pieces, type Choose } from './powerCut.js';
import { changedFile, pathsIn, Positions, type Call } from './trace.js';

type Change<State> = (state: State) => State;

/** A file or a folder: what is safe of it, and what happened to it since. */
class Kept<State> {
  constructor(
    private durable: State,
    private loose: Change<State>[] = [],
  ) {}

  change(...changes: readonly Change<State>[]): void {
    this.loose.push(...changes);
  }

  sync(): void {
    this.durable = this.now();
    this.loose = [];
  }

  now(): State {
    return this.with((changes) => changes);
  }

  /** The state with a part of what is not safe. */
  with(part: <Each>(changes: readonly Each[]) => readonly Each[]): State {
    return part(this.loose).reduce((state, change) => change(state), this.durable);
  }
}

type Names = ReadonlyMap<string, Inode>;

class File extends Kept<Buffer> {}

class Folder extends Kept<Names> {}

type Inode = File | Folder;

function named(name: string, inode: Inode | undefined): Change<Names> {
  return (names) => {
    const changed = new Map(names);
    if (inode === undefined) changed.delete(name);
    else changed.set(name, inode);
    return changed;
  };
}

/** A folder as it may be found. */
export interface Found {
  readonly files: ReadonlyMap<string, Buffer>;
  readonly folders: ReadonlyMap<string, Found>;
}

type Part = <Each>(changes: readonly Each[]) => readonly Each[];

function found(folder: Folder, names: Part, bytes: Part): Found {
  const [files, folders] = [new Map<string, Buffer>(), new Map<string, Found>()];
  for (const [name, inode] of folder.with(names)) {
    if (inode instanceof File) files.set(name, inode.with(bytes));
    else folders.set(name, found(inode, names, bytes));
  }
  return { files, folders };
}

/** Writes a folder as it was found to a path, which is made. */
export function layOut(path: string, { files, folders }: Found): void {
  mkdirSync(path, { mode: 0o700 });
  for (const [name, bytes] of files) writeFileSync(join(path, name), bytes, { mode: 0o600 });
  for (const [name, folder] of folders) layOut(join(path, name), folder);
}

/** What is on the disk below a folder before the trace begins: safe, or only written. */
function present(path: string, synced: boolean): Folder {
  const folder = new Folder(new Map());
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const at = join(path, entry.name);
    const inode = entry.isDirectory() ? present(at, synced) : new File(readFileSync(at));
    folder.change(named(entry.name, inode));
  }
  if (synced) folder.sync();
  return folder;
}

/** What a call does to the bytes of a file. */
function fileChanges(call: Call, positions: Positions): Change<Buffer>[] {
  if (call.name === 'ftruncate') {
    const length = Number(/(\d+)\s*$/.exec(call.args)?.[1]);
    return [(image) => Buffer.concat([image.subarray(0, length)], length)];
  }
  const written = positions.written(call);
  if (written === undefined) throw new Error(`${call.name} changes ${changedFile(call)}`);
  return pieces(written).map((piece) => (image) => laidOver(Buffer.from(image), piece));
}

/** Calls whose arguments are paths. */
const opensOrNames = /^(openat|mkdir|link|rename|unlink|rmdir)/;

/** A folder on a disk. */
export class Disk {
  private readonly top: Folder;

  /** Begins with what lies in the folder `root`; its names are safe unless `namesSynced` is false. */
  constructor(
    private readonly root: string,
    { namesSynced = true } = {},
  ) {
    this.top = present(root, namesSynced);
  }

  /** What is at a path below the root; undefined: it lies elsewhere, or nothing does. */
  private at(path: string): Inode | undefined {
    if (path === this.root) return this.top;
    if (!path.startsWith(`${this.root}/`)) return undefined;
    const folder = this.at(dirname(path));
    return folder instanceof Folder ? folder.now().get(basename(path)) : undefined;
  }

  private folderOf(path: string): Folder | undefined {
    const folder = this.at(dirname(path));
    return folder instanceof Folder ? folder : undefined;
  }

  private name(path: string, inode: Inode | undefined): boolean {
    const folder = this.folderOf(path);
    folder?.change(named(basename(path), inode));
    return folder !== undefined;
  }

  private rename(from: string, to: string): boolean {
    const inode = this.at(from);
    const [source, target] = [this.folderOf(from), this.folderOf(to)];
    if (source !== target || source === undefined) {
      return [this.name(to, inode), this.name(from, undefined)].includes(true);
    }
    const [taken, given] = [named(basename(from), undefined), named(basename(to), inode)];
    source.change((names) => given(taken(names)));
    return true;
  }

  private open(path: string, flags: string): boolean {
    const inode = this.at(path);
    if (inode === undefined) return flags.includes('O_CREAT') && this.name(path, new File(Buffer.alloc(0)));
    if (inode instanceof Folder || !flags.includes('O_TRUNC') || inode.now().byteLength === 0) return false;
    inode.change(() => Buffer.alloc(0));
    return true;
  }

  /** Whether a call names what lies below the root. */
  concerns(call: Call): boolean {
    const paths = opensOrNames.test(call.name) ? pathsIn(call.args) : [changedFile(call)];
    return paths.some((path) => path === this.root || path.startsWith(`${this.root}/`));
  }

  /** Lets a call happen; whether it changed what may be found. */
  see(call: Call, positions: Positions): boolean {
    if (call.result < 0) return false;
    const [path = '', other = ''] = pathsIn(call.args);
    switch (call.name) {
      case 'openat':
        positions.see(call);
        return this.open(path, call.args);
      case 'mkdir':
      case 'mkdirat':
        return this.name(path, new Folder(new Map()));
      case 'link':
      case 'linkat':
        return this.name(other, this.at(path));
      case 'rename':
      case 'renameat':
      case 'renameat2':
        return this.rename(path, other);
      case 'unlink':
      case 'unlinkat':
      case 'rmdir':
        return this.name(path, undefined);
      default:
        return this.seeFile(call, positions);
    }
  }

  private seeFile(call: Call, positions: Positions): boolean {
    const inode = this.at(changedFile(call));
    if (inode === undefined) return false;
    if (call.name === 'lseek') positions.see(call);
    else if (call.name === 'fsync' || call.name === 'fdatasync') inode.sync();
    else if (inode instanceof File) inode.change(...fileChanges(call, positions));
    return call.name !== 'lseek';
  }

  /** What a cut at this moment may leave, `random` times by chance among it. */
  *remains(random: number, choose: Choose): Generator<{ readonly folder: Found; readonly how: string }> {
    const none: Part = () => [];
    const all: Part = (changes) => changes;
    const some: Part = (changes) => changes.filter(() => choose(2) === 0);
    yield { folder: found(this.top, none, none), how: 'all since dropped' };
    yield { folder: found(this.top, all, all), how: 'all since kept' };
    yield { folder: found(this.top, all, none), how: 'bytes since dropped' };
    yield { folder: found(this.top, none, all), how: 'names since dropped' };
    for (let round = 0; round < random; round += 1) {
      yield { folder: found(this.top, some, some), how: `a part since kept, ${round}` };
    }
  }
}

/** A folder as it may be found. */
export interface FolderRemains {
  readonly folder: Found;
  /** Everything that was said before this line of the trace must be true of it. */
  readonly line: number;
  readonly how: string;
}

/** The remains of cuts before each change of the folder that a trace has, and after the last. */
export function* folderCuts(
  disk: Disk,
  calls: readonly Call[],
  random: number,
  choose: Choose,
): Generator<FolderRemains> {
  const positions = new Positions(calls);
  const remainsAt = (line: number): FolderRemains[] =>
    [...disk.remains(random, choose)].map((each) => ({ ...each, line }));
  for (const call of calls.filter((each) => disk.concerns(each))) {
    const before = remainsAt(call.begun);
    if (disk.see(call, positions)) yield* before;
  }
  yield* remainsAt(Infinity);
}
