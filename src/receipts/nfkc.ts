/**
 * Normalization form KC (UAX #15) on tables of one Unicode version, whatever the runtime's. It shares only
 * the data with the native module.
 */
import {
  classEdges,
  classValues,
  composeFrom,
  composeTo,
  decomposeFrom,
  decomposeTo,
} from './unicodeTables.js';

/** Reads ascending numbers from their differences in base 36. */
export function readDeltas(text: string): number[] {
  let last = 0;
  return text.split(' ').map((digits) => (last += Number.parseInt(digits, 36)));
}

/** Reads texts of code points in hex. */
function readSequences(text: string): number[][] {
  return text.split(' ').map((one) => one.split('-').map((digits) => Number.parseInt(digits, 16)));
}

/** Reads a mapping from code points to code points. */
export function readMapping(from: string, to: string): Map<number, readonly number[]> {
  const sequences = readSequences(to);
  return new Map(readDeltas(from).map((code, index) => [code, sequences[index] ?? []]));
}

const decompositions = new Map(
  [...readMapping(decomposeFrom, decomposeTo)].map(([code, to]) => [
    String.fromCodePoint(code),
    String.fromCodePoint(...to),
  ]),
);

/** Canonical combining classes except 0. */
const classes = readClasses();

function readClasses(): Map<number, number> {
  const edges = readDeltas(classEdges);
  const values = classValues.split(' ').map(Number);
  const all = new Map<number, number>();
  edges.forEach((first, index) => {
    const value = values[index] ?? 0;
    const end = edges[index + 1] ?? first;
    for (let code = first; value !== 0 && code < end; code += 1) all.set(code, value);
  });
  return all;
}

/** Primary composites by first and then by second character. */
const composites = readComposites();

function readComposites(): Map<number, Map<number, number>> {
  const all = new Map<number, Map<number, number>>();
  for (const [code, [first = 0, second = 0]] of readMapping(composeFrom, composeTo)) {
    const byFirst = all.get(first) ?? new Map<number, number>();
    all.set(first, byFirst.set(second, code));
  }
  return all;
}

/** Hangul syllables and their parts (Unicode Standard, section 3.12). */
const hangul = {
  syllable: 0xac00,
  leading: 0x1100,
  vowel: 0x1161,
  trailing: 0x11a7,
  leadingCount: 19,
  vowelCount: 21,
  trailingCount: 28,
  blockCount: 588,
  count: 11_172,
} as const;

/** A bit for each code point that normalization may change, or combine with another. */
const active = markActive();

function markActive(): Uint8Array {
  const bits = new Uint8Array(0x11_0000 / 8);
  const mark = (code: number): void => {
    bits[code >> 3] = (bits[code >> 3] ?? 0) | (1 << (code & 7));
  };
  for (const character of decompositions.keys()) mark(character.codePointAt(0) ?? 0);
  for (const code of classes.keys()) mark(code);
  for (const bySecond of composites.values()) for (const code of bySecond.keys()) mark(code);
  for (let code = hangul.vowel; code < hangul.trailing + hangul.trailingCount; code += 1) mark(code);
  return bits;
}

/** True if a text has no active code point: normalization leaves it as it is. */
function isInert(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    // A low surrogate, which comes after its code point, has no bit.
    const code = text.codePointAt(at) ?? 0;
    if (code >= 0xa0 && ((active[code >> 3] ?? 0) & (1 << (code & 7))) !== 0) return false;
  }
  return true;
}

/** The full decomposition, except of Hangul syllables, whose parts would compose again in any case. */
function decompose(text: string): string {
  let out = '';
  for (const character of text) out += decompositions.get(character) ?? character;
  return out;
}

function classOf(code: number): number {
  return classes.get(code) ?? 0;
}

/** Sorts combining marks that follow each other by class (canonical ordering algorithm). */
function order(codes: number[]): void {
  for (let at = 1; at < codes.length; at += 1) {
    const own = classOf(codes[at] as number);
    if (own > 0 && classOf(codes[at - 1] as number) > own) at = orderAround(codes, at);
  }
}

/** Sorts the marks around a place; marks of one class keep their order. Returns the place after them. */
function orderAround(codes: number[], at: number): number {
  let [from, end] = [at, at];
  while (from > 0 && classOf(codes[from - 1] as number) > 0) from -= 1;
  while (end < codes.length && classOf(codes[end] as number) > 0) end += 1;
  const marks = codes.slice(from, end).sort((first, second) => classOf(first) - classOf(second));
  for (const mark of marks) codes[from++] = mark;
  return end;
}

function composed(first: number, second: number): number | undefined {
  const leading = first - hangul.leading;
  const vowel = second - hangul.vowel;
  if (leading >= 0 && leading < hangul.leadingCount && vowel >= 0 && vowel < hangul.vowelCount) {
    return hangul.syllable + leading * hangul.blockCount + vowel * hangul.trailingCount;
  }
  const syllable = first - hangul.syllable;
  const trailing = second - hangul.trailing;
  const open = syllable >= 0 && syllable < hangul.count && syllable % hangul.trailingCount === 0;
  if (open && trailing > 0 && trailing < hangul.trailingCount) return first + trailing;
  return composites.get(first)?.get(second);
}

/** Composes each character that is not blocked from the last starter (canonical composition algorithm). */
function compose(codes: readonly number[]): number[] {
  const out: number[] = [];
  // A text that begins with marks has no starter there; but nothing composes with a mark in that place.
  let starter = 0;
  let lastClass = 0;
  for (const code of codes) {
    const own = classOf(code);
    const first = out[starter];
    const isBlocked = out.length - 1 !== starter && lastClass >= own;
    const joined = first === undefined || isBlocked ? undefined : composed(first, code);
    if (joined !== undefined) {
      out[starter] = joined;
      continue;
    }
    if (own === 0) starter = out.length;
    lastClass = own;
    out.push(code);
  }
  return out;
}

/** Text of any number of code points. */
export function textOf(codes: readonly number[]): string {
  const pieces: string[] = [];
  for (let at = 0; at < codes.length; at += 4096) {
    pieces.push(String.fromCodePoint(...codes.slice(at, at + 4096)));
  }
  return pieces.join('');
}

/** The NFKC form of a text without lone surrogates. */
export function nfkc(text: string): string {
  if (isInert(text)) return text;
  const decomposed = decompose(text);
  if (isInert(decomposed)) return decomposed;
  const codes = Array.from(decomposed, (character) => character.codePointAt(0) ?? 0);
  order(codes);
  return textOf(compose(codes));
}
