/**
 * Clients that generators of others make from the OpenAPI documents: they compile, import and call a server.
 */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { before, describe, test } from 'node:test';
import { temporaryFolder } from '../../support/run.js';
import { ended, environmentFolder, missingUnless, startServer } from '../program.js';
import { projectRoot } from '../../support/python.js';

const folder = join(projectRoot, 'test/peers/tools');
const bin = join(environmentFolder('tools'), 'bin');
const python = join(bin, 'python');
const list = 'test/peers/tools/requirements.txt';
const installPython = `python3 -m venv .peers/tools && ${python} -m pip install -r ${list}`;
const modules = join(folder, 'node_modules');
const paths = { gateway: '/openapi.json', door: '/api/agent/openapi' } as const;

/** Routes whose lines, bodies of any type, or images openapi-python-client cannot take; it warns of each. */
const leftOut = [
  ...['/v1/fuse/batch', '/v1/normalize/batch'],
  ...['/v1/checkout/card/webhook', '/buy', '/buy/{rail}/{order}', '/unsubscribe'],
  ...['/usage', '/v1/corpora/{name}'],
  ...['/v1/checkout/btc/{order_id}/qr.svg', '/v1/checkout/lightning/{payment_hash}/qr.svg'],
];

const pythonProgram = `
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import gateway, door
for package in (gateway, door):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
from gateway import AuthenticatedClient, Client
from gateway.api.fuse import fuse, rerank_v2
from gateway.api.normalize import normalize
from gateway.models import FuseDoc, FuseRequest, NormalizeRequest, Problem, RerankRequest, RerankFailure
client = Client(base_url=sys.argv[2])
asked = FuseRequest(query="boots", docs=[FuseDoc(id="a", text="a hat"), FuseDoc(id="b", text="boots")])
assert asked.to_dict().keys() == {"query", "docs"}
print(fuse.sync(client=client, body=asked).results[0].id)
broken = NormalizeRequest(text="Caf\\u00c3\\u00a9", max_changes=0)
print(normalize.sync(client=client, body=broken).changes_truncated)
order = RerankRequest(query="boots", documents=["a hat", "boots"])
print(rerank_v2.sync(client=client, body=order).results[0].index)
refused = AuthenticatedClient(base_url=sys.argv[2], token="fg_wrong")
print(type(fuse.sync(client=refused, body=asked)).__name__)
`;

const typeScript = `
import type { components, operations, paths } from './gateway.js';
import type { paths as doorPaths } from './door.js';

const asked: components['schemas']['FuseRequest'] = { query: 'boots', docs: [{ id: 'a', text: 'boots' }] };
const body: operations['fuse']['requestBody']['content']['application/json'] = asked;
const truncated: components['schemas']['NormalizeResponse']['changes_truncated'] = false;
type Refused = paths['/v1/fuse']['post']['responses'][429]['content']['application/json'];
const code: Refused['code'] = 'queue_full';
type Fragment = doorPaths['/dream']['post']['requestBody']['content']['application/json'];
const fragment: Fragment = { title: 'a', content: 'b' };
console.log(body, truncated, code, fragment);
`;

describe('generated clients', () => {
  let base = '';
  const made = temporaryFolder();
  before(async () => {
    base = await startServer();
    for (const [name, path] of Object.entries(paths)) {
      writeFileSync(join(made, `${name}.json`), await (await fetch(`${base}${path}`)).text());
    }
  });

  test(
    'openapi-python-client: they import, call, and warn of nothing else',
    {
      skip: missingUnless(python, installPython),
    },
    async () => {
      const env = { PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}` };
      for (const name of Object.keys(paths)) {
        const output = ['--output-path', join(made, name), '--meta', 'none'];
        const args = ['generate', '--path', join(made, `${name}.json`), ...output];
        const { out, errors } = await ended(join(bin, 'openapi-python-client'), args, { cwd: made, env });
        const warned = [...`${out}${errors}`.matchAll(/WARNING parsing \w+ (\S+)/g)].map(([, path]) => path);
        assert.deepEqual(warned.sort(), name === 'gateway' ? [...leftOut].sort() : [], name);
      }
      const { out } = await ended(python, ['-c', pythonProgram, made, base]);
      assert.deepEqual(out.trim().split('\n'), ['b', 'True', '1', 'Problem']);
    },
  );

  test(
    'openapi-typescript: a request needs no field that has a default',
    {
      skip: missingUnless(
        join(modules, 'openapi-typescript/package.json'),
        'npm install --prefix test/peers/tools',
      ),
    },
    async () => {
      const own = join(made, 'typescript');
      mkdirSync(own);
      rmSync(join(own, 'node_modules'), { force: true });
      symlinkSync(modules, join(own, 'node_modules'));
      const generator = join(modules, 'openapi-typescript/bin/cli.js');
      for (const name of Object.keys(paths)) {
        const args = [generator, join(made, `${name}.json`), '-o', join(own, `${name}.d.ts`)];
        await ended(process.execPath, args, { cwd: folder });
      }
      writeFileSync(join(own, 'program.ts'), typeScript);
      const options = [
        '--noEmit',
        '--strict',
        '--module',
        'nodenext',
        '--target',
        'es2022',
        '--skipLibCheck',
      ];
      const compiler = join(modules, 'typescript/bin/tsc');
      await ended(process.execPath, [compiler, ...options, join(own, 'program.ts')], { cwd: own });
    },
  );
});
