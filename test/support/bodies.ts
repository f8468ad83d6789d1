/**
 * Random ways of writing one value as JSON (RFC 8259): escapes, white space, order, repeated and unknown
 * members, spellings of numbers. What a body means must not depend on them.
 */
import fc from 'fast-check';

/** How a body is written: each number is the share of the places where the habit could show. */
export interface Style {
  readonly seed: number;
  /** Characters of free text that are written as escapes of four hex digits. */
  readonly escaped: number;
  /** Characters of member names and of enumerated values that are. */
  readonly escapedNames: number;
  /** Places between tokens that hold white space, and numbers that are spelt unusually. */
  readonly spaced: number;
  /** Objects with a member that no contract knows. */
  readonly extra: number;
  /** Members that stand twice, the last of which is meant. */
  readonly repeated: number;
  readonly shuffled: boolean;
}

const share = fc.constantFrom(0, 0, 0.05, 0.5, 1);

export const style: fc.Arbitrary<Style> = fc.record({
  seed: fc.integer({ min: 1, max: 0x7ffffffe }),
  escaped: share,
  escapedNames: fc.constantFrom(0, 0, 0.05, 1),
  spaced: share,
  extra: fc.constantFrom(0, 0, 0.3),
  repeated: fc.constantFrom(0, 0, 0.2),
  shuffled: fc.boolean(),
});

/** The style of JSON.stringify. */
export const plainStyle: Style = {
  ...{ seed: 1, escaped: 0, escapedNames: 0, spaced: 0, extra: 0, repeated: 0, shuffled: false },
};

/** A seeded source of choices: Park and Miller's minimal standard generator, the same everywhere. */
interface Dice {
  readonly chance: (share: number) => boolean;
  readonly pick: <T>(from: readonly [T, ...T[]]) => T;
  readonly shuffle: <T>(items: T[]) => T[];
}

function diceOf(seed: number): Dice {
  let state = seed;
  const random = (): number => (state = (state * 48271) % 0x7fffffff) / 0x7fffffff;
  return {
    chance: (share) => random() < share,
    pick: (from) => from[Math.floor(random() * from.length)] ?? from[0],
    shuffle: (items) => {
      const keyed = items.map((item) => ({ item, key: random() }));
      return keyed.sort((left, right) => left.key - right.key).map(({ item }) => item);
    },
  };
}

/** What stands where only the last member of a name, or no member at all, is read. */
const IGNORED: readonly [unknown, ...unknown[]] = [
  ...([null, true, false, -0, 1.5e300, '', '\u0000"\\', 'dense_score', '😀'] as const),
  ...[[], {}, [[[]], { a: [1, 'x'] }], { id: 'no', text: 'no', docs: [{ dense_score: 9 }] }],
];

const UNKNOWN_NAMES = [
  ...(['x', '', 'Query', 'dense_scores', '__proto__', '日本', 'ids', 'toString'] as const),
  ...(['x"y', '\\', 'text\n', '\u0000', 'docs/', 'query\ud83d\ude00'] as const),
] as const;
const WHITE_SPACE = [' ', '\t', '\n', '\r', '  \n'] as const;
const ENUMERATED = new Set(['method', 'tokenizer', 'mode', 'format', 'use_case', 'surface']);
const SHORT_ESCAPES = new Map<string, string>([
  ...([
    ['"', '\\"'],
    ['\\', '\\\\'],
    ['/', '\\/'],
    ['\b', '\\b'],
    ['\f', '\\f'],
  ] as const),
  ...([
    ['\n', '\\n'],
    ['\r', '\\r'],
    ['\t', '\\t'],
  ] as const),
]);

/** One character (code point) as an escape, beyond the BMP as a surrogate pair; digits in either case. */
function escapeOf(character: string, dice: Dice): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  const digits = units.map((unit) => unit.toString(16).padStart(4, '0'));
  return digits.map((hex) => `\\u${dice.chance(0.5) ? hex : hex.toUpperCase()}`).join('');
}

function writeString(text: string, escaped: number, dice: Dice): string {
  const written = Array.from(text, (character) => {
    if (dice.chance(escaped)) return escapeOf(character, dice);
    const short = SHORT_ESCAPES.get(character);
    if (short !== undefined && (character !== '/' || dice.chance(escaped))) return short;
    return character < ' ' ? escapeOf(character, dice) : character;
  });
  return `"${written.join('')}"`;
}

/** A number, perhaps in another spelling of the same binary64. */
function writeNumber(value: number, { spaced }: Style, dice: Dice): string {
  const sign = Object.is(value, -0) ? '-' : '';
  const plain = `${sign}${JSON.stringify(value)}`;
  if (!dice.chance(spaced)) return plain;
  const exponential = `${sign}${value.toExponential()}`;
  const whole = /^-?\d+$/.test(plain) ? [`${plain}.0`, `${plain}e0`, `${plain}.000E+00`] : [];
  return dice.pick([plain, exponential, exponential.toUpperCase(), ...whole]);
}

/** Members whose own members may have any names. */
const DICTIONARIES = new Set(['entity_map', 'chinese_glosses', 'legs', 'scores', 'values', 'df']);

/** How a member's value is written: enumerated values as names are, and no unknown names among any names. */
function styleInside(name: string, style: Style): Style {
  if (DICTIONARIES.has(name)) return { ...style, extra: 0 };
  return ENUMERATED.has(name) ? { ...style, escaped: style.escapedNames } : style;
}

function writeObject(value: object, style: Style, dice: Dice): string[] {
  const entries = style.shuffled ? dice.shuffle(Object.entries(value)) : Object.entries(value);
  const colon = (): string => `${space(style, dice)}:${space(style, dice)}`;
  const nameOf = (name: string): string => writeString(name, style.escapedNames, dice);
  const written = entries.flatMap(([name, inside]: [string, unknown]) => {
    const inner = styleInside(name, style);
    const meant = `${nameOf(name)}${colon()}${writeValue(inside, inner, dice)}`;
    if (!dice.chance(style.repeated)) return [meant];
    return [`${nameOf(name)}${colon()}${writeValue(dice.pick(IGNORED), style, dice)}`, meant];
  });
  if (!dice.chance(style.extra)) return written;
  const unknown = `${nameOf(dice.pick(UNKNOWN_NAMES))}:${writeValue(dice.pick(IGNORED), style, dice)}`;
  return dice.chance(0.5) ? [unknown, ...written] : [...written, unknown];
}

function space({ spaced }: Style, dice: Dice): string {
  return dice.chance(spaced) ? dice.pick(WHITE_SPACE) : '';
}

function writeValue(value: unknown, style: Style, dice: Dice): string {
  if (typeof value === 'string') return writeString(value, style.escaped, dice);
  if (typeof value === 'number') return writeNumber(value, style, dice);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const items = Array.isArray(value)
    ? value.map((item) => writeValue(item, style, dice))
    : writeObject(value, style, dice);
  const comma = (): string => `${space(style, dice)},${space(style, dice)}`;
  const joined = items.map((item, at) => (at === 0 ? item : `${comma()}${item}`)).join('');
  return `${open ?? ''}${space(style, dice)}${joined}${space(style, dice)}${close ?? ''}`;
}

/** Writes a value as JSON in UTF-8, in a style. Equal arguments give equal bytes. */
export function writeBody(value: unknown, style: Style): Uint8Array {
  const dice = diceOf(style.seed);
  const written = writeValue(value, style, dice);
  return new TextEncoder().encode(`${space(style, dice)}${written}${space(style, dice)}`);
}
