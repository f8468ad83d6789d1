/** The command line: help, examples, completion, the manual page, and messages about wrong lines. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CommanderError, type Command } from 'commander';
import { completionScript, shells } from '../../src/commands/completion.js';
import { commandsUnder, examples, groups, helpArguments } from '../../src/commands/guide.js';
import { manPage } from '../../src/commands/manPage.js';
import { buildProgram } from '../../src/commands/program.js';
import { barFor } from '../../src/commands/progress.js';
import { SERVICE_VERSION } from '../../src/info/version.js';
import { commands } from '../../src/compose/commands.js';
import { temporaryFolder } from '../support/run.js';
import { wrongCommandLines } from '../vectors/wrongCommandLines.js';

const folder = temporaryFolder();
const bound = await commands();

/** No colours, whatever runs the tests. */
const plain = { getOutHasColors: () => false, getErrHasColors: () => false };

/** The program, whose commands do nothing, and what it writes. */
function program() {
  const made = buildProgram(bound);
  const said = { text: '' };
  const write = (text: string): void => void (said.text += text);
  for (const command of [made, ...commandsUnder(made).map((each) => each.command), ...made.commands]) {
    command.configureOutput({ writeOut: write, writeErr: write, ...plain });
    if (command.commands.length === 0) command.action(() => undefined);
  }
  return { made, said };
}

/** What a command line comes to: its exit code and what is said. */
async function line(...args: readonly string[]): Promise<{ code: number; said: string }> {
  const { made, said } = program();
  try {
    await made.parseAsync(helpArguments(made, args) ?? args, { from: 'user' });
    return { code: 0, said: said.text };
  } catch (error) {
    assert.ok(error instanceof CommanderError, String(error));
    return { code: error.exitCode === 0 ? 0 : 2, said: said.text };
  }
}

/** Commands that do something. */
function leaves(made: Command) {
  return commandsUnder(made).filter(({ command }) => command.commands.length === 0);
}

describe('help', () => {
  test('has every command in a group, and an example for each', async () => {
    const { made } = program();
    const grouped = Object.values(groups).flat();
    assert.deepEqual(
      made.commands.flatMap((each) => (grouped.includes(each.name()) ? [] : [each.name()])),
      [],
    );
    assert.deepEqual(
      leaves(made)
        .map(({ path }) => path)
        .sort(),
      Object.keys(examples).sort(),
    );
    const { said } = await line('--help');
    for (const heading of Object.keys(groups)) assert.ok(said.includes(`\n${heading}\n`), heading);
    assert.doesNotMatch(said, /\nCommands:/);
  });

  for (const [path, example] of Object.entries(examples)) {
    test(`of ${path} ends with an example that is a valid command line`, async () => {
      const { said } = await line(...path.split(' '), '--help');
      assert.ok(said.includes(`\nExample:\n  ${example}\n`), said);
      const [words = ''] = example.split(' > ');
      const args = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
      assert.equal(args[0], 'fusegate');
      assert.deepEqual(await line(...args.slice(1)), { code: 0, said: '' });
    });
  }

  test('takes a path of commands', async () => {
    for (const args of [
      ['help', 'keys', 'create'],
      ['keys', 'create', '--help'],
      ['keys', 'help', 'create'],
    ]) {
      const { code, said } = await line(...args);
      assert.equal(code, 0, args.join(' '));
      assert.match(said, /^Usage: fusegate keys create \[options\]/);
    }
    assert.match((await line('help', 'keys')).said, /^Usage: fusegate keys \[options\] \[command\]/);
    const unknown = await line('help', 'keys', 'creat');
    assert.equal(unknown.code, 2);
    assert.match(unknown.said, /unknown command 'creat'\n\(Did you mean create\?\)/);
  });
});

describe('a call loads', () => {
  const whole = buildProgram(bound);
  /** The command's own help, and that of all below it. */
  const helpOf = (command: Command): string[] => [
    command.helpInformation(),
    ...commandsUnder(command).map(({ command: each }) => each.helpInformation()),
  ];
  const named = (made: Command): string[] => made.commands.map((each) => each.name());
  const own = ['serve', 'store', 'version', 'completion', 'man'];
  const files = [
    ['leads', 'interests', 'optouts', 'clicks'],
    ['backup', 'restore'],
    ['models', 'tune', 'calibrate'],
    ['receipts', 'fragments'],
  ];

  for (const command of whole.commands) {
    const name = command.name();
    if (['completion', 'man'].includes(name)) continue;
    test(`for ${name} what it needs, and no other command`, async () => {
      const made = buildProgram(await commands(undefined, name));
      const alike = made.commands.find((each) => each.name() === name);
      assert.deepEqual(helpOf(alike ?? made), helpOf(command));
      const beside = own.includes(name) ? [] : (files.find((each) => each.includes(name)) ?? [name]);
      assert.deepEqual(named(made).sort(), [...own, ...beside].sort());
    });
  }

  for (const first of [undefined, 'help', 'man', 'completion', '--help', '--config', 'constructor', 'kesy']) {
    test(`for ${first ?? 'no word'} all of them`, async () => {
      assert.deepEqual(named(buildProgram(await commands(undefined, first))), named(whole));
    });
  }
});

describe('a wrong command line', () => {
  test('there are 60 of them', () => assert.ok(wrongCommandLines.length >= 60));
  for (const [args, fault, next] of wrongCommandLines) {
    test(`fusegate ${args}`, async () => {
      const words = args === '' ? [] : args.split(' ');
      const { code, said } = await line(...words);
      assert.equal(code, 2, said);
      assert.ok(said.includes(fault), said);
      assert.ok(said.includes(next), said);
    });
  }
});

describe('completion', () => {
  const { made } = program();
  /** What bash would offer after these words. */
  const offered = (...words: readonly string[]): string[] => {
    const script = join(folder, 'completion.bash');
    writeFileSync(script, completionScript(made, 'bash'));
    const typed = ['fusegate', ...words].map((word) => `'${word}'`).join(' ');
    const asked = `. '${script}'; COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _fusegate
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, status, stderr } = spawnSync('bash', ['-c', asked], { cwd: folder, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    return stdout.split('\n').filter((word) => word !== '');
  };

  test('of bash offers commands, their commands, options and choices', () => {
    assert.deepEqual(offered('ser'), ['serve']);
    assert.deepEqual(offered('keys', 'c'), ['create']);
    assert.deepEqual(offered('--config', 'x', 'keys', 'create', '--t').sort(), ['--term-days', '--tier']);
    assert.deepEqual(offered('completion', ''), [...shells, '--help']);
    assert.ok(!offered('').includes('worker'));
  });

  for (const shell of shells) {
    test(`of ${shell} names every command, and the shell can read it`, (context) => {
      const script = completionScript(made, shell);
      for (const { path } of leaves(made)) assert.ok(script.includes(path.split(' ').at(-1) ?? ''), path);
      const file = join(folder, `completion.${shell}`);
      writeFileSync(file, script);
      const found = ['/bin', '/usr/bin', '/usr/local/bin'].find((at) => existsSync(join(at, shell)));
      if (found === undefined) context.skip(`${shell} is not installed`);
      else assert.equal(spawnSync(join(found, shell), ['-n', file]).status, 0);
    });
  }
});

test('the manual page has every command and no line that roff takes for one of its own', () => {
  const { made } = program();
  const page = manPage(made, SERVICE_VERSION);
  for (const { path } of leaves(made)) assert.ok(page.includes(`.SS fusegate ${path}`), path);
  const requests = new Set([...page.matchAll(/^[.'](\S*)/gm)].map(([, request]) => request));
  assert.deepEqual([...requests].sort(), ['B', 'EE', 'EX', 'PP', 'SH', 'SS', 'TH', 'TP']);
});

test('a bar keeps the percentage and the time left, also in 60 columns', () => {
  for (const columns of [40, 60, 80, 100, 200]) {
    const { format, barsize } = barFor(columns);
    assert.match(format, /\{percentage\} %.*\{eta_formatted\} left$/);
    const shown = format
      .replace('{pass}', 'normalize'.padEnd(13))
      .replace('{bar}', '#'.repeat(barsize))
      .replace('{percentage}', '100')
      .replace('{value}/{total} {unit}', '123456789/123456789 records')
      .replace('{eta_formatted}', '1h59m59s');
    if (columns >= 60) assert.ok(shown.length < columns, `${shown.length} in ${columns}`);
  }
  assert.equal(barFor(200).barsize, 40);
});

describe('the program', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const fusegate = (args: readonly string[], input = '') =>
    spawnSync(process.execPath, ['dist/src/main.js', ...args], { cwd: root, input, encoding: 'utf8' });

  test('prints its version without building or loading anything', () => {
    for (const option of ['--version', '-V']) {
      const quick = spawnSync(process.execPath, ['fusegate.mjs', option], { cwd: root, encoding: 'utf8' });
      assert.deepEqual([quick.status, quick.stdout], [0, `${SERVICE_VERSION}\n`]);
    }
    const source = readFileSync(join(root, 'fusegate.mjs'), 'utf8');
    assert.doesNotMatch(source, /^import .*build/m);
    const { stdout } = fusegate(['version']);
    assert.match(stdout, /^fusegate 0\.4\.0\nnative module 0\.4\.0\nUnicode .+, CLDR .+\nNode .+ on .+\n$/);
  });

  test('ends in silence where its reader ends first', () => {
    const piped = `'${process.execPath}' dist/src/main.js man | true`;
    const { stderr, status } = spawnSync('bash', ['-o', 'pipefail', '-c', piped], { cwd: root });
    assert.deepEqual([status, stderr.toString()], [0, '']);
  });

  test('normalizes a file as it does standard input', () => {
    const file = join(folder, 'text.txt');
    writeFileSync(file, '“x”\n');
    assert.equal(fusegate(['normalize', file]).stdout, '"x"\n');
    assert.equal(fusegate(['normalize', '-'], '“y”').stdout, '"y"');
    const { status, stderr } = fusegate(['normalize', join(folder, 'none.txt')]);
    assert.equal(status, 1);
    assert.match(stderr, /none\.txt cannot be read \(/);
  });

  test('audits standard input, and says that it does not know a stack', () => {
    const { status, stdout, stderr } = fusegate(['audit', '-', '--stack', 'elastic'], 'caf\u00e9\nfine\n');
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^\d|records|None|No /);
    assert.match(
      stderr,
      /There is no stack "elastic": it is judged as custom\. Did you mean elasticsearch\?/,
    );
    const known = fusegate(['audit', '-', '--stack', 'Solr'], 'a\n');
    assert.doesNotMatch(known.stderr, /no stack/);
  });
});
