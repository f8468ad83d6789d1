/** The modules of a Rust crate as its files have them: what each imports, and how long its functions are. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file of a crate, without its comments, its strings and its tests. */
export interface Module {
  /** `fuse::request` of `fuse/request.rs`; empty: the root. */
  readonly name: string;
  readonly text: string;
  /** Names that its imports bring into it, and what they stand for. */
  readonly imported: ReadonlyMap<string, readonly string[]>;
  /** Paths that it names, from the root, without those that it only hands on from its children. */
  readonly named: readonly (readonly string[])[];
}

const quoted =
  /\/\/[^\n]*|\/\*[^]*?\*\/|\bb?r(#*)"[^]*?"\1|b?"(?:\\[^]|[^"\\])*"|b?'(?:\\(?:x..|u\{\w+\}|.)|[^\\'\n])'/g;

/** A file's code: comments, strings and characters are blank, lines stay where they are. */
export function codeOf(text: string): string {
  return text.replace(quoted, (match) => match.replaceAll(/[^\n]/g, ' '));
}

/** End of the item that begins at a place: after its braces, or after the semicolon of one without any. */
function endOf(code: string, from: number): number {
  let depth = 0;
  for (let at = from; at < code.length; at += 1) {
    const character = code.charAt(at);
    if ('([{'.includes(character)) depth += 1;
    else if (')]}'.includes(character)) {
      depth -= 1;
      if (depth === 0 && character === '}') return at + 1;
    } else if (character === ';' && depth === 0) return at + 1;
  }
  return code.length;
}

function withoutTests(code: string): string {
  const found = /#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*/.exec(code);
  if (found === null) return code;
  const end = endOf(code, found.index + found[0].length);
  return withoutTests(code.slice(0, found.index) + code.slice(end));
}

/** The functions of a file, each with the number of its lines. */
export function functionsOf(text: string): { name: string; lines: number }[] {
  const code = codeOf(text);
  return [...code.matchAll(/\bfn (\w+)/g)].map((match) => {
    const body = code.slice(match.index, endOf(code, match.index));
    return { name: match[1] ?? '', lines: body.split('\n').length };
  });
}

/** The paths of a tree such as `crate::a::{b, c as d}`, each with the name that it is known by. */
function pathsOf(tree: string): (readonly [path: string, name: string])[] {
  const text = tree.trim();
  const open = text.indexOf('{');
  if (open < 0) {
    const [path = '', name] = text.split(/\s+as\s+/);
    const last = path.split('::').at(-1) ?? '';
    return path === '' ? [] : [[path, name ?? (last === 'self' ? (path.split('::').at(-2) ?? '') : last)]];
  }
  const parts: string[] = [''];
  let depth = 0;
  for (const character of text.slice(open + 1, text.lastIndexOf('}'))) {
    if (character === ',' && depth === 0) parts.push('');
    else parts.push((parts.pop() ?? '') + character);
    depth += character === '{' ? 1 : character === '}' ? -1 : 0;
  }
  return parts.flatMap((part) => (part.trim() === '' ? [] : pathsOf(text.slice(0, open) + part.trim())));
}

/** The modules written within a file that are open at a place. */
function openAt(code: string, at: number): string[] {
  return [...code.matchAll(/\bmod (\w+)\s*\{/g)]
    .filter((match) => match.index < at && at < endOf(code, match.index))
    .map((match) => match[1] ?? '');
}

/** A path from the root; undefined: one of another crate, or of a name that an import brought. */
function fromRoot(path: string, base: readonly string[], children: readonly string[]) {
  const [first = '', ...rest] = path.replaceAll(/\s/g, '').split('::');
  if (first === 'crate') return rest;
  if (first === 'self') return [...base, ...rest];
  if (first === 'super') {
    const above = 1 + rest.findIndex((name) => name !== 'super');
    return [...base.slice(0, base.length - above), ...rest.slice(above - 1)];
  }
  return children.includes(first) ? [...base, first, ...rest] : undefined;
}

function moduleOf(name: string, text: string, children: readonly string[]): Module {
  const code = withoutTests(codeOf(text).replaceAll(/\bpub\([^)]*\)/g, 'pub'));
  const own = name === '' ? [] : name.split('::');
  const imported = new Map<string, readonly string[]>();
  const named: (readonly string[])[] = [];
  for (const match of code.matchAll(/\b(pub )?use ([^;]+);/g)) {
    const inside = openAt(code, match.index);
    for (const [path, known] of pathsOf(match[2] ?? '')) {
      const target = fromRoot(path, [...own, ...inside], inside.length > 0 ? [] : children);
      if (target === undefined) continue;
      if (inside.length === 0) imported.set(known, target);
      const isOwn = own.every((each, at) => target[at] === each);
      if (match[1] === undefined || !isOwn) named.push(target);
    }
  }
  const rest = code.replaceAll(/\buse [^;]+;/g, (match) => match.replaceAll(/[^\n]/g, ' '));
  for (const match of rest.matchAll(/(?<![\w:])(?:\w+)(?:::\w+)+/g)) {
    const target = fromRoot(match[0], [...own, ...openAt(code, match.index)], children);
    if (target !== undefined) named.push(target);
  }
  return { name, text: code, imported, named };
}

/** Files under a folder of sources, without those of tests. */
function filesUnder(folder: string, under = ''): string[] {
  return readdirSync(join(folder, under), { withFileTypes: true }).flatMap((entry) => {
    const path = join(under, entry.name);
    if (entry.isDirectory()) return filesUnder(folder, path);
    return path.endsWith('.rs') && entry.name !== 'tests.rs' ? [path] : [];
  });
}

/** The modules of a crate by their names. */
export function modulesOf(folder: string): Map<string, Module> {
  const files = filesUnder(folder);
  const nameOf = (file: string): string =>
    file === 'lib.rs' ? '' : file.replace(/\.rs$/, '').replaceAll('/', '::');
  const names = files.map(nameOf);
  return new Map(
    files.map((file) => {
      const name = nameOf(file);
      const prefix = name === '' ? '' : `${name}::`;
      const children = names
        .filter((each) => each !== '' && each.startsWith(prefix))
        .map((each) => each.slice(prefix.length))
        .filter((each) => !each.includes('::'));
      return [name, moduleOf(name, readFileSync(join(folder, file), 'utf8'), children)];
    }),
  );
}

/** The module that defines what a path names: what a module only imports is followed to its place. */
function definedIn(modules: ReadonlyMap<string, Module>, path: readonly string[]): string {
  for (let length = path.length; length > 0; length -= 1) {
    const module = modules.get(path.slice(0, length).join('::'));
    if (module === undefined) continue;
    const from = module.imported.get(path[length] ?? '');
    return from === undefined ? module.name : definedIn(modules, [...from, ...path.slice(length + 1)]);
  }
  return '';
}

/** The other modules that a module uses. */
export function usedBy(modules: ReadonlyMap<string, Module>, { name, named }: Module): string[] {
  const used = new Set(named.map((path) => definedIn(modules, path)));
  return [...used].filter((each) => each !== name && each !== '');
}
