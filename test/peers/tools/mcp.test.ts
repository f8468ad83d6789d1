/** The official MCP clients, unmodified, both generations in every mode: they list the tools and call one. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { ended, environmentFolder, missingUnless, startServer } from '../program.js';
import { projectRoot } from '../../support/python.js';

const folder = join(projectRoot, 'test/peers/tools');
const python = join(environmentFolder('tools'), 'bin/python');

/** A program, the file without which it cannot run, how to get that, and its clients. */
const programs = [
  {
    command: [process.execPath, join(folder, 'mcp.mjs')],
    needs: join(folder, 'node_modules/@modelcontextprotocol/sdk/package.json'),
    install: 'npm install --prefix test/peers/tools',
    clients: ['sdk 1', 'client 2, default', 'client 2, auto', 'client 2, pinned'],
  },
  {
    command: [python, join(folder, 'mcp_client.py')],
    needs: python,
    install: `python3 -m venv .peers/tools && ${python} -m pip install -r test/peers/tools/requirements.txt`,
    clients: ['python, auto', 'python, legacy', 'python, 2026-07-28'],
  },
] as const;

describe('MCP clients', () => {
  let base = '';
  before(async () => {
    base = await startServer();
  });
  for (const { command, needs, install, clients } of programs) {
    const [file, program] = command;
    test(`of ${program}`, { skip: missingUnless(needs, install) }, async () => {
      const { out } = await ended(file, [program, base]);
      const told = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
      assert.deepEqual(
        told.map(({ client }) => client),
        clients,
      );
      for (const { client, server, tools, isError, first, wrong, unknown } of told) {
        const name = String(client);
        assert.equal(server, 'fusegate', name);
        assert.ok((tools as string[]).includes('receipt_verify'), name);
        assert.ok(!(tools as string[]).includes('fragment_submit'), name);
        assert.deepEqual([isError, first], [false, 'dc'], name);
        assert.match(String(wrong), /documents: Field required/, name);
        assert.match(String(unknown), /Unknown tool: nothing/, name);
      }
    });
  }
});
