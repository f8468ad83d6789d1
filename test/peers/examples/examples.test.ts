/** The programs under `examples`, run as they are: they print what is written next to them. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { run, temporaryFolder } from '../../support/run.js';
import { ended, environmentFolder, missingUnless, startServer } from '../program.js';
import { projectRoot } from '../../support/python.js';

const examples = join(projectRoot, 'examples');
const modules = join(projectRoot, 'test/peers/tools/node_modules');
const tools = join(environmentFolder('tools'), 'bin/python');
const libraries = join(environmentFolder('clients'), 'bin/python');
const withDatabase = join(projectRoot, 'test/peers/examples/with_pgvector.py');
const mostLines = 40;

/** Each program's command; the file that it needs, and where that comes from. */
const programs: Readonly<Record<string, readonly [readonly string[], string, string]>> = {
  'elasticsearch.mjs': [[process.execPath], process.execPath, ''],
  'elasticsearch-legs.mjs': [[process.execPath], process.execPath, ''],
  'qdrant.mjs': [[process.execPath], process.execPath, ''],
  'pgvector.py': [[tools, withDatabase], tools, 'see test/peers/tools/requirements.txt'],
  'with_langchain.py': [[libraries], libraries, 'see test/peers/clients/requirements.txt'],
  'with_llama_index.py': [[libraries], libraries, 'see test/peers/clients/requirements.txt'],
};

function outputBeside(name: string): string {
  return readFileSync(join(examples, `${name.replace(/\.\w+$/, '')}.out`), 'utf8');
}

describe('examples', () => {
  let base = '';
  before(async () => {
    base = await startServer();
  });

  test(`are all run, and have less than ${mostLines} lines`, () => {
    const written = readdirSync(examples).filter((name) => /\.(mjs|py|ts)$/.test(name));
    assert.deepEqual(written.sort(), [...Object.keys(programs), 'search-backend.ts'].sort());
    for (const name of written) {
      const lines = readFileSync(join(examples, name), 'utf8').split('\n').length - 1;
      assert.ok(lines < mostLines, `${name} has ${lines}`);
    }
  });

  for (const [name, [command, needs, install]] of Object.entries(programs)) {
    test(name, { skip: missingUnless(needs, install) }, async () => {
      const [file = '', ...before] = command;
      const env = { FUSEGATE_URL: base, PYTHONPATH: join(projectRoot, 'clients/python') };
      const { out } = await ended(file, [...before, join(examples, name)], { env });
      assert.equal(out, outputBeside(name));
    });
  }

  test(
    'search-backend.ts',
    {
      skip: missingUnless(join(modules, 'typescript/package.json'), 'npm install --prefix test/peers/tools'),
    },
    async () => {
      const made = temporaryFolder();
      const compiler = join(modules, 'typescript/bin/tsc');
      const client = join(made, 'node_modules/fusegate-client');
      mkdirSync(client, { recursive: true });
      cpSync(join(projectRoot, 'clients/typescript/package.json'), join(client, 'package.json'));
      const source = join(projectRoot, 'clients/typescript');
      await ended(process.execPath, [compiler, '-p', source, '--outDir', join(client, 'dist')]);
      symlinkSync(join(projectRoot, 'node_modules/@types'), join(made, 'node_modules/@types'));
      symlinkSync(join(projectRoot, 'node_modules/undici-types'), join(made, 'node_modules/undici-types'));
      const program = join(made, 'search-backend.mts');
      cpSync(join(examples, 'search-backend.ts'), program);
      const options = ['--module', 'nodenext', '--target', 'es2022', '--strict', '--skipLibCheck'];
      await ended(process.execPath, [compiler, ...options, '--types', 'node', program], { cwd: made });
      const backend = run(join(made, 'search-backend.mjs'), [], { FUSEGATE_URL: base, PORT: '0' });
      const [, port = ''] = await backend.prints(/"port":(\d+)/);
      const answer = await fetch(`http://127.0.0.1:${port}/?q=how+long+does+delivery+take`);
      assert.equal(`${await answer.text()}\n`, outputBeside('search-backend.ts'));
    },
  );
});
