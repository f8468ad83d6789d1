/** What follows a chunked body on its connection. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startServer } from '../support/http.js';
import { head, RawClient } from '../support/raw.js';
import { until } from '../support/until.js';

describe('after a chunked body', () => {
  const fields = { 'Transfer-Encoding': 'chunked' };
  const body = '3\r\nabc\r\n0\r\n\r\n';

  for (const [method, path, status, length] of [
    ['HEAD', '/hello', 200, '17'],
    ['HEAD', '/nothing', 204, undefined],
    ['OPTIONS', '/echo', 204, undefined],
    ['GET', '/nothing', 204, undefined],
    ['GET', '/hello', 200, '17'],
    ['POST', '/echo', 200, '3'],
  ] as const) {
    test(`${method} ${path} ends the connection`, async () => {
      const { port, metric } = await startServer();
      const client = await RawClient.open(port);
      client.send(head(method, path, fields) + body);
      const { status: given, headers } = await client.response({ bodyless: method === 'HEAD' });
      assert.deepEqual(
        [given, headers.get('content-length'), headers.get('connection')?.toLowerCase()],
        [status, length, 'close'],
      );
      assert.ok(Date.parse(headers.get('date') ?? '') > 0);
      client.send(head('GET', '/hello'));
      await client.end();
      assert.equal(client.received.length, 0);
      await until(() => metric('fusegate_http_requests_in_flight') === 0);
    });
  }
});
