/** IP addresses and networks: what is accepted, what is refused, and what is in a network. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BlockList } from 'node:net';
import fc from 'fast-check';
import { contains, parseAddress, parseNetwork } from '../../src/system/network.js';

test('addresses', () => {
  assert.deepEqual([...(parseAddress('192.0.2.1') ?? [])], [192, 0, 2, 1]);
  assert.deepEqual([...(parseAddress('::ffff:192.0.2.1') ?? [])], [192, 0, 2, 1]);
  assert.deepEqual(parseAddress('2001:db8::1')?.length, 16);
  for (const text of ['', '1.2.3', '1.2.3.256', '01.2.3.4', '0x1.2.3.4', '1.2.3.4 ', '::1%lo', '1::2::3']) {
    assert.equal(parseAddress(text), undefined, text);
  }
});

test('networks', () => {
  for (const text of [
    '10.0.0.0/8',
    '0.0.0.0/0',
    '10.1.2.3',
    '2001:db8::/32',
    '::/0',
    '::ffff:10.0.0.0/104',
  ]) {
    assert.notEqual(parseNetwork(text), undefined, text);
  }
  const [one, whole] = [Uint8Array.of(10, 1, 2, 3), { bytes: Uint8Array.of(10, 0, 0, 0), prefixBits: 8 }];
  assert.deepEqual(parseNetwork('10.1.2.3'), { bytes: one, prefixBits: 32 });
  assert.deepEqual(parseNetwork('::1')?.prefixBits, 128);
  for (const text of ['10.0.0.0/8', '::ffff:10.0.0.0/104']) assert.deepEqual(parseNetwork(text), whole);
  const refused = ['10.0.0.1/8', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/08/1', '/8', '2001:db8::1/64', 'a/8'];
  for (const text of [
    ...refused,
    '::/129',
    '::ffff:10.0.0.0/95',
    '::ffff:0.0.0.0/95',
    '10.0.0.0/-1',
    '10/8',
    '',
  ]) {
    assert.equal(parseNetwork(text), undefined, text);
  }
});

test('an address of one version lies in no network of the other', () => {
  for (const [network, address] of [
    ['10.0.0.0/8', 'a00::'],
    ['0.0.0.0/0', '::'],
    ['a00::/8', '10.0.0.0'],
    ['::/0', '0.0.0.0'],
  ] as const) {
    const [among, asked] = [parseNetwork(network), parseAddress(address)];
    assert.ok(among !== undefined && asked !== undefined);
    assert.equal(contains(among, asked), false, `${address} in ${network}`);
  }
});

test('an address is in a network exactly when Node says so', () => {
  const versions = [
    { address: fc.ipV4(), family: 'ipv4', bits: 32 },
    { address: fc.ipV6(), family: 'ipv6', bits: 128 },
  ] as const;
  for (const { address, family, bits } of versions) {
    fc.assert(
      fc.property(
        address,
        address,
        fc.integer({ min: 0, max: bits }),
        fc.boolean(),
        (one, other, prefix, near) => {
          const base = parseAddress(one);
          const asked = parseAddress(near ? one : other);
          // Node compares mapped addresses as IPv4 in ways of its own.
          if (base?.length !== bits / 8 || asked?.length !== bits / 8) return;
          const bytes = base.map(
            (byte, at) => byte & (0xff << (8 - Math.min(8, Math.max(0, prefix - 8 * at)))),
          );
          const list = new BlockList();
          list.addSubnet(one, prefix, family);
          assert.equal(
            contains({ bytes, prefixBits: prefix }, asked),
            list.check(near ? one : other, family),
          );
        },
      ),
    );
  }
});
