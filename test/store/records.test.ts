/** Records as earlier versions wrote them, kept in test/vectors/store: every one must still be read. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  decodeBinding,
  decodeFragment,
  decodeLogged,
  decodeReceipt,
  decodeReceived,
  encodeBinding,
  encodeFragment,
  encodeLogged,
  encodeReceipt,
} from '../../src/store/tables/fragments.js';
import { decodeLegacyReceipt, encodeLegacyReceipt } from '../../src/store/tables/legacyReceipts.js';
import { decodeNotice, encodeNotice } from '../../src/store/tables/notices.js';
import { decodePreview, encodePreview } from '../../src/store/tables/previews.js';
import { decodeStamp, encodeStamp } from '../../src/store/tables/logStamps.js';
import { decodePast, decodeSigned, encodePast, encodeSigned } from '../../src/store/tables/receiptLog.js';
import { decodeLease, encodeLease } from '../../src/store/leaseRecord.js';

interface Kept {
  /** Bytes in hex and what they say, in every format there ever was; the last entry's format is today's. */
  readonly valid: readonly { readonly bytes: string; readonly record: unknown }[];
  readonly invalid: readonly { readonly why: string; readonly bytes: string }[];
}

/** Each kind of record: its file, and how it is read and written again. */
const kinds = [
  {
    name: 'lease',
    decode: decodeLease,
    rewrite: (bytes: Uint8Array) => encodeLease(decodeLease(bytes)),
  },
  {
    name: 'preview',
    decode: decodePreview,
    rewrite: (bytes: Uint8Array) => encodePreview(decodePreview(bytes)),
  },
  {
    name: 'fragment',
    decode: decodeFragment,
    rewrite: (bytes: Uint8Array) => encodeFragment(decodeFragment(bytes)),
  },
  {
    name: 'fragmentKey',
    decode: (bytes: Uint8Array) => {
      const { payload, receipt } = decodeBinding(bytes);
      return { payload: Buffer.from(payload).toString('hex'), receipt };
    },
    rewrite: (bytes: Uint8Array) => encodeBinding(decodeBinding(bytes)),
  },
  {
    name: 'fragmentReceipt',
    decode: decodeReceipt,
    rewrite: (bytes: Uint8Array) => encodeReceipt(decodeReceipt(bytes)),
  },
  {
    name: 'loggedReceipt',
    decode: (bytes: Uint8Array) => {
      const { receipt, seal } = decodeLogged(bytes);
      return { receipt, seal: seal === undefined ? null : Buffer.from(seal).toString('hex') };
    },
    rewrite: (bytes: Uint8Array) => {
      const { receipt, seal } = decodeLogged(bytes);
      return encodeLogged(receipt, seal ?? Buffer.alloc(0));
    },
  },
  {
    name: 'signedCheckpoint',
    decode: (bytes: Uint8Array) => {
      const { publicKey, root, retiredKeys, ...signed } = decodeSigned(bytes);
      const [key, hash, ...retired] = [publicKey, root, ...retiredKeys].map((each) =>
        Buffer.from(each).toString('hex'),
      );
      return { ...signed, publicKey: key, root: hash, retiredKeys: retired };
    },
    rewrite: (bytes: Uint8Array) => encodeSigned(decodeSigned(bytes)),
  },
  {
    name: 'pastCheckpoint',
    decode: (bytes: Uint8Array) => {
      const { root, atMs } = decodePast(bytes);
      return { root: Buffer.from(root).toString('hex'), atMs };
    },
    rewrite: (bytes: Uint8Array) => encodePast(decodePast(bytes)),
  },
  {
    name: 'stamp',
    decode: (bytes: Uint8Array) => {
      const { transaction, header, timestamp, feeSat, ...stamp } = decodeStamp(bytes);
      const [raw, head, proof] = [transaction, header, timestamp].map((each) =>
        Buffer.from(each).toString('hex'),
      );
      return { ...stamp, transaction: raw, feeSat: String(feeSat), header: head, timestamp: proof };
    },
    rewrite: (bytes: Uint8Array) => encodeStamp(decodeStamp(bytes)),
  },
  {
    name: 'fragmentNotice',
    decode: decodeNotice,
    rewrite: (bytes: Uint8Array) => encodeNotice(decodeNotice(bytes)),
  },
  {
    name: 'legacyReceipt',
    decode: decodeLegacyReceipt,
    rewrite: (bytes: Uint8Array) => encodeLegacyReceipt(decodeLegacyReceipt(bytes)),
  },
] as const;

/** What errors call a record whose file has another name. */
const named: Readonly<Record<string, string>> = { loggedReceipt: 'fragment receipt' };

for (const { name, decode, rewrite } of kinds) {
  const kept = JSON.parse(readFileSync(`test/vectors/store/${name}.json`, 'utf8')) as Kept;

  test(`kept ${name} records are read`, () => {
    for (const { bytes, record } of kept.valid) assert.deepEqual(decode(Buffer.from(bytes, 'hex')), record);
  });

  test(`${name} records are written in their stored form`, () => {
    const format = kept.valid.at(-1)?.bytes.slice(0, 2);
    const present = kept.valid.filter(({ bytes }) => bytes.startsWith(format ?? ''));
    for (const { bytes } of present) {
      assert.equal(Buffer.from(rewrite(Buffer.from(bytes, 'hex'))).toString('hex'), bytes);
    }
  });

  test(`a ${name} record that cannot be read is named in the error`, () => {
    const known = kept.valid.map(({ bytes }) => Buffer.from(bytes, 'hex')[0] ?? 0);
    const words = named[name] ?? name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
    for (const format of [99, ...known]) {
      const record = Buffer.concat([Buffer.of(format), Buffer.from('{}')]);
      const said = new RegExp(`^Error: A record of the store \\(${words}\\) cannot be read: `);
      assert.throws(() => decode(record), said);
    }
  });

  test(`damaged ${name} records are refused`, () => {
    for (const { why, bytes } of kept.invalid) {
      assert.throws(() => decode(Buffer.from(bytes, 'hex')), Error, why);
    }
  });
}

test('exploration reads the same of a fragment as is in the whole fragment, in every format', () => {
  const kept = JSON.parse(readFileSync('test/vectors/store/fragment.json', 'utf8')) as Kept;
  const formats = new Set<string>();
  for (const { bytes } of kept.valid) {
    formats.add(bytes.slice(0, 2));
    const record = Buffer.from(bytes, 'hex');
    const { fragment, envelope } = decodeFragment(record);
    const sealed = JSON.parse(envelope) as Record<string, string>;
    const {
      receivedAt,
      status,
      title,
      content,
      mechanism,
      test: claim,
      kind,
      visitor,
    } = decodeReceived(record);
    assert.deepEqual({ title, content, mechanism, test: claim, kind, visitor }, fragment);
    assert.deepEqual([receivedAt, status], [sealed['received_at'], sealed['status']]);
  }
  assert.ok(formats.size > 1);
});
