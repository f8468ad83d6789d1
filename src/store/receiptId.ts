/** Receipt ids: `fr_` and a ULID (48 bits of milliseconds, 80 random bits, in Crockford's base 32). */

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Digits of a ULID. */
const digitCount = 26;
const form = /^fr_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** The receipt id of 16 bytes; the first 6 are wall time, as in unit ids. */
export function receiptId(bytes: Uint8Array): string {
  let number = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let digits = '';
  for (let count = 0; count < digitCount; count += 1) {
    digits = alphabet.charAt(Number(number & 31n)) + digits;
    number >>= 5n;
  }
  return `fr_${digits}`;
}

const anyForm = /^[A-Za-z0-9_-]{1,64}$/;

/** True if a text has the form of a receipt id of any contract, legacy ones included. */
export function mayBeReceiptId(text: string): boolean {
  return anyForm.test(text);
}

/** True if a text has the form of a receipt id. */
export function isReceiptId(text: string): boolean {
  return form.test(text);
}
