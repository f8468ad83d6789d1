/** A self-signed certificate as LND makes its own: X.509 version 3 (RFC 5280), ECDSA on P-256, in DER. */
import { generateKeyPairSync, sign } from 'node:crypto';

/** A certificate and its key, PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** A DER element: tag, length, contents. */
function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  const long = body.length < 256 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...(body.length < 128 ? [body.length] : long)]), body]);
}

const sequence = (...contents: readonly Uint8Array[]): Buffer => der(0x30, ...contents);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const utcTime = (text: string): Buffer => der(0x17, Buffer.from(text));

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));

/** The name of somebody (CN). */
const nameOf = (common: string): Buffer =>
  sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(common)))));

const ownName = 'localhost';

/** It is an authority, as it signs itself; and it is of localhost and 127.0.0.1. */
const extensions = sequence(
  sequence(oid('551d13'), der(0x01, Buffer.of(0xff)), der(0x04, sequence(der(0x01, Buffer.of(0xff))))),
  sequence(
    oid('551d11'),
    der(0x04, sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.of(127, 0, 0, 1)))),
  ),
);

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}

/** Makes a key and its certificate, signed by itself, or by another of these under another name. */
export function makeCertificate(issuer?: Certificate): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1)),
    ecdsaWithSha256,
    nameOf(ownName),
    sequence(utcTime('200101000000Z'), utcTime('491231235959Z')),
    nameOf(issuer === undefined ? ownName : 'issued'),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = sign('sha256', body, issuer?.key ?? privateKey);
  const signed = sequence(body, ecdsaWithSha256, der(0x03, Buffer.of(0), signature));
  return {
    cert: pem('CERTIFICATE', signed),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
