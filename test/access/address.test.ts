/** The client's address: peers, trusted proxies, and what a client may not make of the forwarding fields. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { clientAddress, proxyLook } from '../../src/access/address.js';
import { headFrom } from '../support/access.js';

const proxy = [10, 0, 0, 1];
const stranger = [198, 51, 100, 7];
const client = clientAddress(['10.0.0.0/8', '2001:db8:ffff::/48']);

type Fields = Parameters<typeof headFrom>[1];
const from = (peer: readonly number[], fields: Fields): number[] => [...client(headFrom(peer, fields))];

describe('X-Forwarded-For', () => {
  const cases: readonly (readonly [string, string | readonly string[], readonly number[]])[] = [
    ['one entry', '192.0.2.1', [192, 0, 2, 1]],
    ['the last counts', '203.0.113.9, 192.0.2.1', [192, 0, 2, 1]],
    ['trusted ones are skipped', '192.0.2.1, 10.1.1.1 ,10.2.2.2', [192, 0, 2, 1]],
    ['nothing behind the first untrusted one is believed', '1.1.1.1, 192.0.2.1, 10.1.1.1', [192, 0, 2, 1]],
    ['all trusted: the first', '10.9.9.9, 10.1.1.1', [10, 9, 9, 9]],
    ['several lines are one list', ['203.0.113.9', '192.0.2.1'], [192, 0, 2, 1]],
    ['a port', '192.0.2.1:4711', [192, 0, 2, 1]],
    ['IPv6 by its /64', '2001:db8:0:1:2:3:4:5', [0x20, 1, 0xd, 0xb8, 0, 0, 0, 1]],
    ['IPv6 with a port', '[2001:db8:0:1::5]:4711', [0x20, 1, 0xd, 0xb8, 0, 0, 0, 1]],
    ['a trusted IPv6 proxy', '192.0.2.1, 2001:db8:ffff::1', [192, 0, 2, 1]],
    ['IPv4-mapped', '::ffff:192.0.2.1', [192, 0, 2, 1]],
    ['no address', 'unknown', []],
    ['an address with a leading zero', '192.0.2.01', []],
    ['a number', '3221225985', []],
    ['a zone', 'fe80::1%eth0', []],
    ['nothing after the comma', '192.0.2.1,', []],
  ];
  for (const [name, value, address] of cases) {
    test(name, () => assert.deepEqual(from(proxy, { 'x-forwarded-for': value }), address));
  }

  test('sent by an untrusted peer is ignored', () => {
    fc.assert(
      fc.property(fc.ipV4(), (value) => {
        assert.deepEqual(from(stranger, { 'x-forwarded-for': value, forwarded: `for=${value}` }), stranger);
      }),
    );
    assert.deepEqual([...clientAddress([])(headFrom(proxy, { 'x-forwarded-for': '192.0.2.1' }))], proxy);
  });
});

describe('Forwarded', () => {
  const cases: readonly (readonly [string, readonly number[]])[] = [
    ['for=192.0.2.1', [192, 0, 2, 1]],
    ['For="192.0.2.1:4711";proto=https;by=10.0.0.1', [192, 0, 2, 1]],
    ['proto=http;for="[2001:db8:0:1::5]:80"', [0x20, 1, 0xd, 0xb8, 0, 0, 0, 1]],
    ['for=203.0.113.9, for=192.0.2.1;by="a, for=1.1.1.1"', [192, 0, 2, 1]],
    ['for=192.0.2.1, for=10.1.1.1', [192, 0, 2, 1]],
    ['host="a;for=6.6.6.6";for=192.0.2.1', [192, 0, 2, 1]],
    ['host="a\\", for=6.6.6.6;b=\\"";for="192.0.2.1"', [192, 0, 2, 1]],
    ['for=192.0.2.1;host="never closed, for=6.6.6.6', [192, 0, 2, 1]],
    ['for=203.0.113.9 , for=192.0.2.1 ;by=a', [192, 0, 2, 1]],
    ['for="192.0.2.\\1"', [192, 0, 2, 1]],
    ['", for=6.6.6.6', []],
    ['for=203.0.113.9;host=a\\, for=192.0.2.1', [192, 0, 2, 1]],
    ['for=unknown', []],
    ['for=_hidden', []],
    ['by=10.0.0.1', []],
  ];
  for (const [value, address] of cases) {
    test(value, () => assert.deepEqual(from(proxy, { forwarded: value }), address));
  }
});

test('past the most proxies that are followed, the address of the last one followed counts', () => {
  const behind = (proxies: number): number[] => {
    const entries = Array.from({ length: proxies }, (_, index) => `10.0.1.${index}`);
    return from(proxy, { 'x-forwarded-for': ['192.0.2.1', ...entries.reverse()].join(', ') });
  };
  assert.deepEqual(behind(31), [192, 0, 2, 1]);
  assert.deepEqual(behind(32), [10, 0, 1, 31]);
  assert.deepEqual(behind(40), [10, 0, 1, 31]);
});

test('a list as long as a request head may be is parsed in next to no time', () => {
  const lists = [
    '10.1.1.1,'.repeat(7000),
    '"\\'.repeat(30_000),
    '\\"'.repeat(30_000),
    ';for="'.repeat(10_000),
  ];
  const beginning = performance.now();
  for (const list of lists) {
    from(proxy, { forwarded: list });
    from(proxy, { 'x-forwarded-for': list });
  }
  assert.ok(performance.now() - beginning < 1000);
});

test('if the two fields disagree, the address is that of the proxy', () => {
  const fields = { 'x-forwarded-for': '192.0.2.1', forwarded: 'for=203.0.113.9' };
  assert.deepEqual(from(proxy, fields), proxy);
  assert.deepEqual(from(proxy, { ...fields, forwarded: 'for=192.0.2.1' }), [192, 0, 2, 1]);
});

test('without these fields the address is that of the peer, or none if the peer has none', () => {
  assert.deepEqual(from(proxy, {}), proxy);
  assert.deepEqual(from([], {}), []);
});

test('of the requests of untrusted peers, the first and every 64th after it are checked for a proxy', () => {
  let reports = 0;
  const find = clientAddress(
    [],
    proxyLook(() => (reports += 1)),
  );
  const send = (requests: number): number => {
    for (let sent = 0; sent < requests; sent += 1) {
      find(headFrom(stranger, { 'x-forwarded-for': '203.0.113.9' }));
    }
    return reports;
  };
  assert.deepEqual([send(1), send(63), send(1), send(63), send(1)], [1, 1, 2, 2, 3]);
  assert.deepEqual(from(stranger, { 'x-forwarded-for': '203.0.113.9' }), stranger, 'nobody listens');
});

test('an untrusted peer that sends forwarding fields is reported as a proxy', () => {
  const told: number[][] = [];
  const find = clientAddress(
    ['10.0.0.0/8'],
    proxyLook((peer) => told.push([...peer])),
  );
  find(headFrom([192, 0, 2, 1]));
  for (let count = 0; count < 64; count += 1) {
    const fields = { 'x-forwarded-for': '203.0.113.9' };
    assert.deepEqual([...find(headFrom([192, 0, 2, 7], fields))], [192, 0, 2, 7]);
  }
  assert.deepEqual(told, [[192, 0, 2, 7]]);
  find(headFrom([10, 0, 0, 1], { 'x-forwarded-for': '203.0.113.9' }));
  assert.equal(told.length, 1, 'a trusted one is not');
});
