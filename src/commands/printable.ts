/**
 * Stored text on a terminal: strangers wrote it, and control characters would be obeyed there (CWE-150;
 * ECMA-48 for C0 and C1, UAX #9 for what turns the direction).
 */

/** Whatever moves a cursor, ends a line, rings, or turns the direction of reading. */
const obeyed = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** A text with its control characters as `\u` and four hexadecimal digits, on one line. */
export function printable(text: string): string {
  return text.replace(obeyed, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
