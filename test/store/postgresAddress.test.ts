/** The URL of a PostgreSQL server: its address, its user, and how the server is verified. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import {
  parsePostgresUrl,
  serverName,
  type PostgresAddress,
} from '../../src/store/engines/postgres/postgresAddress.js';

const certificate = 'test/vectors/certificate.pem';

function addressOf(url: string): PostgresAddress {
  const parsed = parsePostgresUrl(url);
  return 'wrong' in parsed ? assert.fail(`${url} ${parsed.wrong}`) : parsed.address;
}

function wrongOf(url: string): string {
  const parsed = parsePostgresUrl(url);
  return 'wrong' in parsed ? parsed.wrong : assert.fail(`${url} was accepted`);
}

/** TLS of a URL with these parameters, as what of it decides anything. */
function tlsOf(query: string, host = 'db.example') {
  const { tls } = addressOf(`postgres://u@${host}/d${query}`);
  if (typeof tls !== 'object') return tls;
  const { rejectUnauthorized, checkServerIdentity, servername, ca, cert, key } = tls;
  const isAnyName =
    checkServerIdentity !== undefined && checkServerIdentity('another', {} as never) === undefined;
  return { rejectUnauthorized, isAnyName, host: tls.host, servername, ca, cert, key };
}

describe('an address', () => {
  test('has the defaults of libpq', () => {
    assert.deepEqual(addressOf('postgres://'), {
      ...{ host: 'localhost', port: 5432, user: 'postgres', password: '', database: 'postgres' },
      ...{ applicationName: 'fusegate', tls: 'prefer' },
    });
    assert.deepEqual(addressOf('postgresql://me@db.example'), {
      ...{ host: 'db.example', port: 5432, user: 'me', password: '', database: 'me' },
      ...{ applicationName: 'fusegate', tls: 'prefer' },
    });
  });

  test('has each of its parts, decoded', () => {
    assert.deepEqual(
      addressOf('postgres://m%40e:p%2Fw%3A@[2001:db8::1]:6432/my%20db?sslmode=disable&application_name=shop'),
      {
        ...{ host: '2001:db8::1', port: 6432, user: 'm@e', password: 'p/w:', database: 'my db' },
        ...{ applicationName: 'shop', tls: false },
      },
    );
    const { host, port } = addressOf('postgres://me@/d?host=other.example&port=1');
    assert.deepEqual([host, port], ['other.example', 1]);
    for (const url of ['postgres://me@/d', 'postgres://me@?application_name=a', 'postgres://me@'])
      assert.deepEqual([addressOf(url).host, addressOf(url).user], ['localhost', 'me'], url);
  });

  test('of a socket has no encryption, whatever the URL asks for', () => {
    const { host, tls } = addressOf('postgres://me@/d?host=/run/postgresql&sslmode=verify-full');
    assert.deepEqual([host, tls], ['/run/postgresql', false]);
  });

  test('is refused without repeating it if it is invalid', () => {
    for (const url of ['https://u:pw@h/d', 'postgres:/u', 'xpostgres://u', 'postgres://u:pw@h:x/d']) {
      assert.match(
        wrongOf(url),
        /^must be a URL such as postgres:\/\/user:password@host:port\/database\?/,
        url,
      );
    }
    assert.equal(
      wrongOf('postgres://u:pw@h/d?sslmod=require'),
      'has a parameter it does not know; known are host, port, sslmode, sslrootcert, sslcert, sslkey, ' +
        'application_name',
    );
    assert.equal(
      wrongOf('postgres://u:pw@h/d?sslmode=allow'),
      'has an sslmode that is not one of disable, prefer, require, verify-ca, verify-full',
    );
    for (const url of ['postgres://u:%zz@h/d', 'postgres://u@h/d?sslmode=require&sslrootcert=/no/such']) {
      assert.equal(
        wrongOf(url),
        'names a certificate or key file that cannot be read, or has a wrong %-escape',
      );
    }
  });

  test('is shown as its host and port, or as its folder', () => {
    assert.equal(serverName(addressOf('postgres://u:pw@db.example/d')), 'PostgreSQL at db.example:5432');
    assert.equal(serverName(addressOf('postgres://u:pw@[::1]:1/d')), 'PostgreSQL at [::1]:1');
    assert.equal(serverName(addressOf('postgres://u:pw@/d?host=/run/pg')), 'PostgreSQL at /run/pg');
  });
});

describe('the connection', () => {
  const none = { ca: undefined, cert: undefined, key: undefined };
  const named = { host: 'db.example', servername: 'db.example', ...none };

  test('is encrypted and verified as sslmode says', () => {
    assert.equal(tlsOf('?sslmode=disable'), false);
    assert.equal(tlsOf('?sslmode=prefer'), 'prefer');
    assert.deepEqual(tlsOf('?sslmode=require'), { ...named, rejectUnauthorized: false, isAnyName: true });
    assert.deepEqual(tlsOf('?sslmode=verify-ca'), { ...named, rejectUnauthorized: true, isAnyName: true });
    assert.deepEqual(tlsOf('?sslmode=verify-full'), { ...named, rejectUnauthorized: true, isAnyName: false });
  });

  test('is verified if a root certificate is given, by that certificate or the system’s', () => {
    const ca = readFileSync(certificate);
    const verified = { ...named, rejectUnauthorized: true, isAnyName: true };
    assert.deepEqual(tlsOf(`?sslmode=require&sslrootcert=${certificate}`), { ...verified, ca });
    assert.deepEqual(tlsOf('?sslmode=verify-full&sslrootcert=system'), { ...verified, isAnyName: false });
  });

  test('has the certificate and the key of the client', () => {
    const bytes = readFileSync(certificate);
    const files = `sslcert=${certificate}&sslkey=${certificate}`;
    const expected = { ...named, rejectUnauthorized: false, isAnyName: true, cert: bytes, key: bytes };
    assert.deepEqual(tlsOf(`?sslmode=require&${files}`), expected);
  });

  test('names the server by its host name, and never by an IP address', () => {
    for (const [host, address] of [
      ['127.0.0.1', '127.0.0.1'],
      ['[::1]', '::1'],
    ] as const) {
      const tls = tlsOf('?sslmode=verify-full', host);
      assert.deepEqual(tls, {
        ...named,
        host: address,
        servername: undefined,
        rejectUnauthorized: true,
        isAnyName: false,
      });
    }
  });
});
