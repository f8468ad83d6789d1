/** The `sslmode`s of a PostgreSQL URL, against a server with a certificate of its own (made by openssl). */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openStore } from '../../src/store/open.js';
import { whenUnavailable } from '../../src/store/store.js';
import { newUnitId, testParts } from '../support/openStore.js';
import { giveToServer, PostgresServer, postgresMissing } from '../support/postgresServer.js';
import { bytes, commit } from './subject.js';

const noOpenssl = spawnSync('openssl', ['version']).error === undefined ? false : 'openssl is not installed';
const skip = postgresMissing() || noOpenssl;

/** Makes a key and a certificate for the loopback names in a folder; their paths. */
function certificate(folder: string): { readonly key: string; readonly cert: string } {
  chmodSync(folder, 0o755);
  const [key, cert] = [`${folder}/key.pem`, `${folder}/cert.pem`];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const kind = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'];
  execFileSync('openssl', [...kind, '-keyout', key, '-out', cert, ...names], { stdio: 'ignore' });
  giveToServer(key);
  return { key, cert };
}

describe('TLS to PostgreSQL', { skip }, () => {
  let server: PostgresServer;
  let cert = '';
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-tls-'));
  before(async () => {
    const made = certificate(folder);
    cert = made.cert;
    server = await PostgresServer.start({ ssl: 'on', ssl_cert_file: made.cert, ssl_key_file: made.key });
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  async function encrypted(query: string, host = '127.0.0.1'): Promise<string> {
    const url = await server.database();
    const opening = openStore(`${url.replace('127.0.0.1', host)}?${query}`, testParts);
    const store = await whenUnavailable(opening, ({ message }) => message);
    if (typeof store === 'string') return store;
    const value = Buffer.alloc(100_000, 'x');
    assert.equal((await commit(store, { kind: 'append', log: 'leads', value })).kind, 'done');
    assert.equal((await store.read('leads', { after: 0, limit: 1 })).length, 1);
    const database = url.slice(url.lastIndexOf('/') + 1);
    const rows = await server.query(
      database,
      'SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) ' +
        `WHERE application_name = 'fusegate' AND datname = '${database}'`,
    );
    // A connection that goes while nothing is under way is opened anew without anybody noticing.
    const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`;
    await server.query('postgres', `${cut} AND application_name = 'fusegate'`);
    const unit = {
      id: newUnitId(),
      operations: [{ kind: 'append', log: 'leads', value: bytes('y') } as const],
    };
    assert.deepEqual(await store.commit(unit.operations, unit.id), { kind: 'done', positions: [2] });
    await store.close();
    return rows.map(([ssl]) => (ssl === 't' || ssl === true ? 'encrypted' : 'plain')).join();
  }

  test('disable, prefer and require', async () => {
    assert.equal(await encrypted('sslmode=disable'), 'plain');
    assert.equal(await encrypted('sslmode=prefer'), 'encrypted');
    assert.equal(await encrypted('sslmode=require'), 'encrypted');
  });

  test('verify-ca and verify-full accept only the given root', async () => {
    assert.match(await encrypted('sslmode=verify-full'), /self-signed certificate/);
    assert.equal(await encrypted(`sslmode=verify-ca&sslrootcert=${cert}`), 'encrypted');
    assert.equal(await encrypted(`sslmode=verify-full&sslrootcert=${cert}`), 'encrypted');
    assert.equal(await encrypted(`sslmode=verify-full&sslrootcert=${cert}`, 'localhost'), 'encrypted');
    assert.match(
      await encrypted('sslmode=verify-full&sslrootcert=none'),
      /certificate or key file that cannot/,
    );
  });
});
