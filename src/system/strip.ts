/**
 * Text without certain characters at its ends. Regular expressions for this take time that grows with the
 * square of a run of such characters.
 */

/** `text` without the `characters` (of one UTF-16 unit each) at its end. */
export function stripEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** `text` without the `characters` (of one UTF-16 unit each) at both ends. */
export function strip(text: string, characters: string): string {
  let start = 0;
  while (start < text.length && characters.includes(text.charAt(start))) start += 1;
  return stripEnd(text.slice(start), characters);
}
