/** A copy of the build in which nothing harms the project, and which of its files import which. */
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';

/** Copies the build beside links to everything else; it is removed when this process ends. */
export function makeBox(root: string): string {
  const box = mkdtempSync(join(tmpdir(), 'fusegate-mutants-'));
  process.on('exit', () => rmSync(box, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
  for (const name of readdirSync(root)) {
    if (!['dist', 'target', '.git'].includes(name)) symlinkSync(join(root, name), join(box, name));
  }
  cpSync(join(root, 'dist'), join(box, 'dist'), { recursive: true });
  return box;
}

/** The build's files of JavaScript, with the files that each imports, also late. */
export class Imports {
  private readonly imported = new Map<string, readonly string[]>();
  private readonly digests = new Map<string, string>();

  constructor(private readonly box: string) {
    for (const folder of ['dist/src', 'dist/test']) {
      const names = readdirSync(join(box, folder), { recursive: true, encoding: 'utf8' });
      for (const name of names.filter((each) => each.endsWith('.js'))) this.read(join(box, folder, name));
    }
  }

  private read(file: string): void {
    const text = readFileSync(file, 'utf8');
    const names = [...text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)];
    this.imported.set(
      file,
      names.map(([, name = '']) => resolve(dirname(file), name)),
    );
    this.digests.set(file, createHash('sha256').update(text).digest('hex'));
  }

  /** Files under a folder of the build, in order. */
  under(folder: string): string[] {
    return [...this.imported.keys()].filter((file) => file.startsWith(join(this.box, folder, '/'))).sort();
  }

  /** The file, and all that it imports by way of others for which `through` holds. */
  from(file: string, through: (file: string) => boolean = () => true): ReadonlySet<string> {
    const found = new Set([file]);
    for (const each of found) {
      if (each !== file && !through(each)) continue;
      for (const name of this.imported.get(each) ?? []) found.add(name);
    }
    return found;
  }

  /** The file, and all that import it, directly or by way of others. */
  to(file: string): ReadonlySet<string> {
    const found = new Set([file]);
    for (const each of found) {
      for (const [other, names] of this.imported) if (names.includes(each)) found.add(other);
    }
    return found;
  }

  /** A digest of a file and of all that it imports, as far as `counts` holds. */
  digest(file: string, counts: (file: string) => boolean = () => true): string {
    const hash = createHash('sha256');
    const counted = [...this.from(file)].filter(counts);
    for (const each of counted.sort()) hash.update(this.digests.get(each) ?? '');
    return hash.digest('hex');
  }

  /** Test files for a built file: of the folder of the same name, or importing it, also by their helpers. */
  testsFor(file: string): string[] {
    // A folder of `src` has its tests, those of the folders in it too, in the folder of its name.
    const folder = (path: string): string => relative(join(this.box, 'dist'), path).split(sep)[1] ?? '';
    const isHelper = (path: string): boolean => path.startsWith(join(this.box, 'dist/test/'));
    const all = this.under('dist/test').filter((test) => test.endsWith('.test.js'));
    return all.filter(
      (test) =>
        !test.includes('/peers/') && (folder(test) === folder(file) || this.from(test, isHelper).has(file)),
    );
  }
}
