/** Answers of other servers: commands read no more of one than a receipt or a file of a log can have. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { getBytes, getPage } from '../../src/compose/outbound.js';
import { here } from '../support/here.js';

const kib = 1_024;

describe('answers of other servers', () => {
  /** Answers `/N` with N spaces, compressed. */
  const server = createServer(({ url = '' }, answer) => {
    const length = Number(url.split('/')[1]);
    answer.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(length, ' ')));
  });
  let origin = '';

  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  after(() => {
    server.closeAllConnections();
    server.close();
  });

  test('are read up to their limit, decompressed', async () => {
    assert.equal((await getPage(`${origin}/${256 * kib}`)).length, 256 * kib);
    await assert.rejects(getPage(`${origin}/${256 * kib + 1}`), /^Error: its answer has more than 256 KiB$/);
    assert.equal((await getBytes(`${origin}/${kib * kib}`)).byteLength, kib * kib);
    await assert.rejects(
      getBytes(`${origin}/${kib * kib + 1}`),
      /^Error: its answer has more than 1024 KiB$/,
    );
  });

  test('that are larger end an audit of a log and the check of a receipt', async () => {
    const large = `${origin}/${64 * kib * kib}`;
    for (const args of [
      ['log', 'audit', large],
      ['receipts', 'verify', large],
    ]) {
      const { code, said } = await here(args, {});
      assert.equal(code, 1);
      assert.match(said, /cannot be read \(its answer has more than 1024 KiB\)\.$/m, args.join(' '));
    }
  });
});
