/** The style of the code, as a test: imports, cycles, dead files, line lengths, where clocks are read. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Folders of `src` in steps: a file imports from its own folder and from those of earlier steps only. */
const steps: readonly (readonly string[])[] = [
  ['system', 'contract', 'native'],
  ['store', 'telemetry'],
  ['models'],
  ['search', 'text', 'access', 'log'],
  ['checkout', 'outreach', 'receipts', 'explore', 'corpora', 'profiles'],
  ['info', 'mcp', 'pages'],
  ['http'],
  ['configuration.ts'],
  ['processes', 'commands'],
  ['compose'],
  ['main.ts', 'child.ts'],
];

/** Packages with one home: nobody else names them. */
const homes: Readonly<Record<string, string>> = {
  typia: 'src/contract/',
  'uws-20': 'src/http/',
  'uws-24': 'src/http/',
  lmdb: 'src/store/engines/lmdb/',
  postgres: 'src/store/engines/postgres/',
  'cli-progress': 'src/commands/',
  'onnxruntime-node': 'src/models/',
  stripe: 'src/checkout/card/',
  '@noble': 'src/receipts/',
  '@opentelemetry': 'src/telemetry/',
};

/** Functions that are longer, each with its reason. */
const longFunctions: ReadonlySet<string> = new Set([]);

const MOST_COLUMNS = 110;
const mostLines = (file: string): number => (file.startsWith('src/') ? 60 : 70);

/** Longest files, but generated ones. */
const MOST_FILE_LINES = { typescript: 450, rust: 600 } as const;

/** Files that are longer, each with its own bound: they only get shorter. */
const longFiles: Readonly<Record<string, number>> = {};

/**
 * Names of what CONTRIBUTING.md says how to add, and the files that may name one: those that are all about
 * it, and the lists. A name elsewhere is one more file to touch for the next of its kind.
 */
const namedIn: readonly (readonly [string, RegExp, readonly RegExp[]])[] = [
  [
    'a way to pay',
    /'(btc|lightning|card)'/,
    [
      ...[/contract\/(pricing|bitcoin|lightning|card)\.ts$/, /tables\/(orders|cardEvents|\w+Order)\.ts$/],
      /checkout\/(onchain|lightning|card)\//,
      // What opens the rails, what looks after bitcoin, and the rules.
      /checkout\/(recover|checkout|order\/orders)\.ts$/,
    ],
  ],
  ['a tokenizer', /'ngram'/, [/contract\/fuse\.ts$/]],
  ['a kind of model', /'(onnx|static)'/, [/models\/install\.ts$/, /explore\/embedding\.ts$/]],
  [
    'a store engine',
    /'(lmdb|postgres)'|startsWith\('(lmdb|postgres)/,
    [/store\/engines\//, /text\/stacks\.ts$/],
  ],
];

/** Files nobody imports because something else runs them. */
const entryPoints = [
  /^src\/(main|child)\.ts$/,
  /Thread\.ts$/,
  /\.test\.ts$/,
  /^bench\/main\.ts$/,
  /^test\/attack\/(main|nodes|opener)\.ts$/,
  /^test\/cluster\/main\.ts$/,
  /^test\/processes\/(program|keyMaker)\.ts$/,
  /^test\/mutants\/(run|worker|hooks)\.ts$/,
  /^test\/(coverage|loaded)\/run\.ts$/,
  /^test\/commands\/hurried\.ts$/,
  /^test\/models\/embedderProgram\.ts$/,
  /^test\/store\/(peer|workload|bareLmdb|promise)\.ts$/,
  /^(bench|test)\/peers\//,
  // Rewrite the generated documents, and the oracle's table.
  /^test\/contract\/writeDocuments\.ts$/,
  /^test\/reference\/writeUnicode\.ts$/,
];

function filesUnder(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules') return [];
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesUnder(path);
    return path.endsWith('.ts') && !path.endsWith('.d.ts') ? [path] : [];
  });
}

const files = ['src', 'test', 'bench'].flatMap(filesUnder);
const sources = new Map(
  files.map((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return [file, ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true)];
  }),
);

/** Module names that a file imports, `import()` and type imports included. */
function imported(source: ts.SourceFile): string[] {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    const specifier =
      ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
        ? node.moduleSpecifier
        : ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
          ? node.arguments[0]
          : ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)
            ? node.argument.literal
            : undefined;
    if (specifier !== undefined && ts.isStringLiteral(specifier)) names.push(specifier.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}

/** The project's own files that each file imports. */
const imports = new Map(
  [...sources].map(([file, source]) => {
    const own = imported(source).filter((name) => name.startsWith('.'));
    return [file, own.map((name) => normalize(join(dirname(file), name)).replace(/\.js$/, '.ts'))];
  }),
);

/** The project's own files that a file imports. */
function importedFiles(file: string): readonly string[] {
  return imports.get(file) ?? [];
}

function stepOf(file: string): number {
  const folder = file.split('/')[1] ?? '';
  return steps.findIndex((step) => step.includes(folder));
}

/** Every import in `src` that the rule forbids. */
function forbiddenImports(file: string): string[] {
  const folder = file.split('/')[1];
  return importedFiles(file)
    .filter((target) => {
      if (!target.startsWith('src/')) return true;
      return target.split('/')[1] !== folder && stepOf(target) >= stepOf(file);
    })
    .map((target) => `${file} imports ${target}`);
}

/** A cycle of imports that begins and ends at `file`, if there is one. */
function cycleFrom(file: string): string[] | null {
  const seen = new Set<string>();
  const search = (at: string, path: readonly string[]): string[] | null => {
    for (const next of importedFiles(at)) {
      if (next === file) return [...path, file];
      if (seen.has(next)) continue;
      seen.add(next);
      const found = search(next, [...path, next]);
      if (found !== null) return found;
    }
    return null;
  };
  return search(file, [file]);
}

function nameOf(node: ts.FunctionLikeDeclaration): string {
  if (node.name !== undefined) return node.name.getText();
  return ts.isVariableDeclaration(node.parent) ? node.parent.name.getText() : 'a function without a name';
}

/** Functions of a file that are too long. `describe` and `test` bodies are lists, not functions. */
function tooLong(file: string, source: ts.SourceFile): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const first = source.getLineAndCharacterOfPosition(node.getStart()).line;
      const lines = source.getLineAndCharacterOfPosition(node.end).line - first + 1;
      const name = `${file}: ${nameOf(node)}`;
      const listed = ts.isCallExpression(node.parent) && /^(describe|suite)\b/.test(node.parent.getText());
      if (lines > mostLines(file) && !listed && !longFunctions.has(name)) {
        found.push(`${name} has ${lines} lines`);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Lines of a file's text that match, with their numbers. */
function lines(pattern: RegExp | ((line: string) => boolean), chosen: readonly string[]): string[] {
  const matches = typeof pattern === 'function' ? pattern : (line: string) => pattern.test(line);
  return chosen.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return text
      .split('\n')
      .flatMap((line, at) => (matches(line) ? [`${file}:${at + 1}: ${line.trim()}`] : []));
  });
}

/** The blocks of a kind in ARCHITECTURE.md. */
function blocks(kind: string): string[] {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  return [...text.matchAll(/^```(\w+)\n([^`]*)^```/gm)].flatMap(([, of, block = '']) =>
    of === kind ? [block] : [],
  );
}

/** A call of a way that ARCHITECTURE.md draws. */
interface Call {
  /** `⇢`: passed to its caller; `↩`: the same, and back into a folder that the caller may not import. */
  readonly mark: '' | '⇢' | '↩';
  readonly file: string;
  readonly name: string;
  /** Undefined: nothing in the way calls it. */
  readonly caller: Call | undefined;
}

function wayOf(block: string): Call[] {
  const open: Call[] = [];
  return block
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [, indent = '', mark = '', file = '', name = ''] =
        /^( *)([⇢↩]?) ?([\w/.]+)#(\w+)$/.exec(line) ?? [];
      const path = file.startsWith('native/core/') || file.startsWith('native/node/') ? file : `src/${file}`;
      const call = { mark: mark as Call['mark'], file: path, name, caller: open[indent.length / 2 - 1] };
      open.splice(indent.length / 2, Infinity, call);
      return call;
    });
}

/** Faults of a drawn way: what is not there, a caller that does not name what it calls, a wrong mark. */
function faultsOf(way: readonly Call[]): string[] {
  return way.flatMap(({ mark, file, name, caller }) => {
    const what = `${file}#${name}`;
    if (!existsSync(join(root, file))) return [`${what} is not there`];
    const text = readFileSync(join(root, file), 'utf8');
    const isDefined = new RegExp(
      `(\\b(function|fn|const) ${name}\\b|^ +(\\w+ )*${name}(\\(| = |:))`,
      'm',
    ).test(text);
    if (!isDefined) return [`${what} is not there`];
    if (caller === undefined) return mark === '' ? [] : [`${what} has a mark and no caller`];
    const from = readFileSync(join(root, caller.file), 'utf8');
    if (mark === '' && !new RegExp(`\\b${name}\\b`).test(from))
      return [`${caller.file} does not name ${what}`];
    const isBack =
      file.startsWith('src/') && caller.file.startsWith('src/') && stepOf(file) > stepOf(caller.file);
    return isBack === (mark === '↩') ? [] : [`${what} is ${isBack ? 'a return' : 'no return'}`];
  });
}

/** Files that are kept in version control, or all of ours where there is no repository. */
function tracked(): string[] {
  if (!existsSync(join(root, '.git'))) return files;
  const listed = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' });
  return listed.split('\n').filter((file) => file !== '' && existsSync(join(root, file)));
}

describe('tidy', () => {
  test('imports go one way', () => {
    assert.deepEqual(files.filter((file) => file.startsWith('src/')).flatMap(forbiddenImports), []);
    const unknown = files.filter((file) => file.startsWith('src/') && stepOf(file) < 0);
    assert.deepEqual(unknown, [], 'every folder of src has its place in the steps');
  });

  test('the machinery of the contract depends on no resource', () => {
    const upward = files
      .filter((file) => file.startsWith('src/contract/schema/'))
      .flatMap((file) => importedFiles(file).map((target) => `${file} imports ${target}`))
      .filter((arrow) => !/ imports src\/contract\/schema\//.test(arrow));
    assert.deepEqual(upward, []);
  });

  test('an engine, a rail and an order depend on none of their neighbours', () => {
    const arrows = files.flatMap((file) => importedFiles(file).map((target) => [file, target] as const));
    const between = (from: RegExp, to: RegExp): string[] =>
      arrows.flatMap(([file, target]) => {
        const here = from.exec(file)?.[1];
        const there = to.exec(target)?.[1];
        return here !== undefined && there !== undefined && here !== there
          ? [`${file} imports ${target}`]
          : [];
      });
    const rail = /^src\/checkout\/(?!order\/)(\w+)\//;
    assert.deepEqual(between(rail, rail), []);
    assert.deepEqual(between(/^src\/checkout\/(order)\//, rail), []);
    const engine = /^src\/store\/engines\/(\w+)\//;
    const table = /^src\/store\/(tables)\//;
    assert.deepEqual(between(engine, engine), []);
    assert.deepEqual([...between(engine, table), ...between(table, engine)], []);
    assert.deepEqual(between(/^src\/store\/(evaluate|groupCommit|store|engine)\.ts$/, table), []);
    assert.ok(files.filter((file) => rail.test(file) || engine.test(file) || table.test(file)).length > 50);
  });

  test('no cycles', () => {
    assert.deepEqual(
      files.map(cycleFrom).filter((cycle) => cycle !== null),
      [],
    );
  });

  test('a package with one home is named nowhere else', () => {
    const strays = files.flatMap((file) => {
      const source = sources.get(file);
      const names = source === undefined || !file.startsWith('src/') ? [] : imported(source);
      return names
        .filter((name) => !file.startsWith(homes[name.split('/')[0] ?? ''] ?? ''))
        .map((name) => `${file} imports ${name}`);
    });
    assert.deepEqual(strays, []);
  });

  test('no test uses a fixed port, where another program may listen', () => {
    // These read settings and addresses, and connect to none.
    const reading = [
      ...[/^test\/configuration\.test\.ts$/, /^test\/outreach\/destination\.test\.ts$/],
      /^test\/store\/postgresAddress\.test\.ts$/,
    ];
    const fixed = /(?:127\.0\.0\.1|localhost|\[::1\]):[1-9]\d*|\bPORT: '?[1-9]|\bport: [1-9]|\.listen\([1-9]/;
    const checked = files.filter(
      (file) => file.startsWith('test/') && !reading.some((name) => name.test(file)),
    );
    const found = checked.flatMap((file) => {
      const lines = readFileSync(join(root, file), 'utf8').split('\n');
      return lines.flatMap((line, at) => (fixed.test(line) ? [`${file}:${at + 1}`] : []));
    });
    assert.deepEqual(found, []);
    assert.ok(checked.length > 100);
    assert.doesNotMatch(readFileSync(join(root, '.ci/run'), 'utf8'), /PORT=[1-9]/);
  });

  test('generated files, and code that nothing else compiles, are checked by continuous integration', () => {
    const script = readFileSync(join(root, '.ci/run'), 'utf8');
    const generators = readdirSync(join(root, 'native/core/examples')).filter((name) =>
      name.endsWith('_tables.rs'),
    );
    assert.ok(generators.length > 2);
    for (const name of generators) assert.ok(script.includes(`--example ${name.replace('.rs', '')}`), name);
    assert.match(script, /cargo check .*--manifest-path native\/core\/fuzz\/Cargo\.toml/);
  });

  test('what can be added is named only where it is listed', () => {
    const own = files.filter((file) => file.startsWith('src/'));
    for (const [what, name, allowed] of namedIn) {
      const others = own.filter((file) => !allowed.some((place) => place.test(file)));
      assert.ok(others.length < own.length, what);
      assert.deepEqual(lines(name, others), [], what);
    }
  });

  test('helpers of tests in several folders are in test/support', () => {
    // Oracles and vectors have folders of their own; the others are about one subject that few tests share.
    const shared = /^test\/(support|reference|vectors|peers)\//;
    const users = new Map<string, Set<string>>();
    for (const file of files.filter((each) => each.startsWith('test/'))) {
      const folder = file.split('/')[1] ?? '';
      for (const target of importedFiles(file)) {
        if (!target.startsWith('test/') || shared.test(target) || target.split('/')[1] === folder) continue;
        users.set(target, (users.get(target) ?? new Set()).add(folder));
      }
    }
    const many = [...users].filter(([, folders]) => folders.size > 3).map(([file]) => file);
    assert.deepEqual(many, []);
  });

  test('every file is imported or run', () => {
    const used = new Set(files.flatMap(importedFiles));
    const dead = files.filter((file) => !used.has(file) && !entryPoints.some((entry) => entry.test(file)));
    assert.deepEqual(dead, []);
  });

  test('each file begins by saying what it is', () => {
    const silent = files.filter((file) => !/^(#!.*\n)?\/\*\*/.test(sources.get(file)?.text ?? ''));
    assert.deepEqual(silent, []);
  });

  test('lines are short, functions too', () => {
    const rust = tracked().filter((file) => file.endsWith('.rs') && !file.endsWith('_tables.rs'));
    const long = lines((line) => Array.from(line).length > MOST_COLUMNS, [...files, ...rust]);
    assert.deepEqual(long, []);
    assert.deepEqual(
      files.flatMap((file) => tooLong(file, sources.get(file) as ts.SourceFile)),
      [],
    );
  });

  test('files are no longer than their one topic', () => {
    const generated = [/_tables\.rs$/, /unicodeTables\.ts$/];
    const typescript = files.filter((file) => file.startsWith('src/'));
    const rust = tracked().filter((file) => /^native\/(core|node)\/src\/.*\.rs$/.test(file));
    const over = [...typescript, ...rust]
      .filter((file) => !generated.some((name) => name.test(file)))
      .flatMap((file) => {
        const length = readFileSync(join(root, file), 'utf8').split('\n').length - 1;
        const most = file.endsWith('.rs') ? MOST_FILE_LINES.rust : MOST_FILE_LINES.typescript;
        return length > (longFiles[file] ?? most) ? [`${file} has ${length} lines`] : [];
      });
    assert.deepEqual(over, []);
  });

  test('tests wait with `until`, which ends', () => {
    const tests = files.filter((file) => file.startsWith('test/'));
    assert.deepEqual(lines(/\bwhile \(.*\) await (?:pause|new Promise)\b/, tests), []);
  });

  test('nothing is left for later', () => {
    const marks = new RegExp(['TO' + 'DO', 'FIX' + 'ME', '\\bX' + 'XX\\b', 'not imple' + 'mented'].join('|'));
    const written = tracked().filter((file) => /\.(ts|rs|md|mjs|py|lua|sh)$/.test(file));
    assert.deepEqual(lines(marks, written), []);
  });

  test('clocks, timers and randomness are used in system only', () => {
    const world = /\b(Date\.now|Math\.random|new Date\(\)|setTimeout\(|setInterval\(|performance\.now)/;
    const others = files.filter((file) => file.startsWith('src/') && !file.startsWith('src/system/'));
    assert.deepEqual(lines(world, others), []);
  });

  test('no files are called util, helper or index', () => {
    const drawers = /(^|\/)(utils?|helpers?|common|misc|types|index)\.(ts|rs)$/;
    assert.deepEqual(
      tracked().filter((file) => drawers.test(file)),
      [],
    );
  });

  test('nothing names a machine or a registry', () => {
    const written = tracked().filter((file) => !/(package-lock\.json|Cargo\.lock)$/.test(file));
    const text = written.filter((file) => /\.(ts|rs|md|mjs|json|toml|py|lua|sh|yml)$|^\.ci\//.test(file));
    const places =
      /(^|[^A-Za-z0-9_.-])\/(work|home\/[a-z]+|root|Users\/[a-z]+)\/|registry\.npmjs|index\.crates\.io/;
    assert.deepEqual(
      lines(
        places,
        text.filter((file) => file !== 'test/tidy.test.ts'),
      ),
      [],
    );
  });

  test('ARCHITECTURE.md has the imports of every folder', () => {
    const drawn = blocks('rooms')
      .join('')
      .replaceAll(/,\n +/g, ', ')
      .split('\n')
      .filter((line) => line !== '');
    const folders = steps.flat();
    const imports = folders.map((folder) => {
      const own = files.filter((file) => file.startsWith('src/') && file.split('/')[1] === folder);
      const to = new Set(own.flatMap(importedFiles).map((file) => file.split('/')[1] ?? ''));
      return [folder, ...folders.filter((each) => each !== folder && to.has(each))];
    });
    assert.deepEqual(
      drawn.map((line) => line.split(/\s+→\s+|, /).map((each) => each.trim())),
      imports,
    );
  });

  test('the ways in ARCHITECTURE.md are those of the code, and rarely return', () => {
    const ways = blocks('ways').map(wayOf);
    assert.ok(ways.length >= 7);
    assert.deepEqual(ways.flatMap(faultsOf), []);
    const returns = ways.map((way) => way.filter(({ mark }) => mark === '↩').length);
    assert.ok(Math.max(...returns) <= 2, `${returns.join(', ')} returns`);
  });

  test('ARCHITECTURE.md has a heading for every folder and no other', () => {
    const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
    const named = [...text.matchAll(/^### `(.+?)\/?`/gm)].map((match) => match[1] ?? '').sort();
    const inside = (folder: string): string[] =>
      readdirSync(join(root, folder), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => `${folder}/${entry.name}`);
    const native = ['native/core', 'native/node'];
    const others = [...native, 'models', 'bench', 'test', 'clients', 'examples', 'packaging', 'docs'];
    const folders = [...inside('src'), ...others].sort();
    assert.deepEqual(named, folders);
  });
});
