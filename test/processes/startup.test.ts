/** What a worker loads at its start: each module takes processor time, again for every worker. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const built = fileURLToPath(new URL('../../src', import.meta.url));

/** Modules that a built file imports as it is loaded; types are gone from it. */
function staticImports(file: string): string[] {
  const { statements } = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2022);
  return statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const { moduleSpecifier: specifier } = statement;
    return specifier !== undefined && ts.isStringLiteral(specifier) ? [specifier.text] : [];
  });
}

/** Packages that are loaded with some files, and the chain of files that leads to each. */
function packagesOf(programs: readonly string[]): Map<string, string> {
  const packages = new Map<string, string>();
  const seen = new Set<string>();
  const visit = (file: string, way: readonly string[]): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const here = [...way, relative(built, file)];
    for (const name of staticImports(file)) {
      if (name.startsWith('.')) visit(join(dirname(file), name), here);
      else if (!name.startsWith('node:')) packages.set(name, here.join(' -> '));
    }
  };
  for (const program of programs) visit(join(built, program), []);
  return packages;
}

test('a worker loads no package that only a setting asks for', () => {
  const packages = packagesOf(['child.js', 'compose/server.js']);
  const small = ['pino', 'ipaddr.js', 'light-bolt11-decoder', '@noble/hashes', 'isbot'];
  const others = [...packages].filter(([name]) => !small.some((each) => `${name}/`.startsWith(`${each}/`)));
  assert.deepEqual(others, []);
  assert.ok(packages.size >= small.length);
  // The chain of payments on chain loads the arithmetic of keys: the walk finds it.
  assert.ok(packagesOf(['checkout/onchain/onChain.js']).has('bitcoinjs-lib'));
});
