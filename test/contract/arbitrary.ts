/** Values that nearly fit a shape: right, at a bound, just over it, or of another type. */
import fc from 'fast-check';
import type { Shape } from '../../src/contract/schema/shape.js';

const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown[]>(null, true, false, 0, 1, -1, 5, 5.5, 1e300, '', 'x', '5', 'true', '1e3'),
  fc.constantFrom<unknown[]>([], [1], ['a', 1], [null], {}, { a: 1 }, { a: 'b' }, [[]], [{}], { '': '' }),
);

const letter = fc.constantFrom('a', 'é', '漢', '😀', '\u0000', 'ſ');

function repeated(counts: readonly number[]): fc.Arbitrary<string> {
  const chosen = fc.constantFrom(...counts.filter((count) => count >= 0 && Number.isFinite(count)));
  return fc.tuple(letter, chosen).map(([char, count]) => char.repeat(count));
}

/** Fitting values of a shape, and values of its type that break a bound (none when it has no bound). */
interface Sides {
  fitting: fc.Arbitrary<unknown>;
  breaking?: fc.Arbitrary<unknown>;
}

function text(min: number, max: number): Sides {
  const short = fc.string({ unit: 'binary', maxLength: Math.min(max, 8) });
  if (min === 0 && max === Infinity) return { fitting: short };
  // Long strings are costly and all alike: one in a few is enough.
  const weight = max > 10000 ? 1 : 6;
  const fitting =
    min > 8
      ? repeated([min, max])
      : fc.oneof({ weight, arbitrary: repeated([min, max]) }, { weight: 8, arbitrary: short });
  return { fitting, breaking: repeated([min - 1, max + 1]) };
}

function number(integer: boolean, min: number, max: number): Sides {
  const bounds = [min - 1, min, min + 1, max - 1, max, max + 1].filter(Number.isFinite);
  const values = [...bounds, ...bounds.map((bound) => bound + 0.5), 0, 1, 7, 2.5, 1e10, 1e16, -1e300, 5e-324];
  const fits = (value: number) => value >= min && value <= max && (!integer || Number.isInteger(value));
  const wrong = values.filter((value) => !fits(value));
  const fitting = fc.constantFrom(...values.filter(fits));
  const [least, most] = [Math.ceil(Math.max(min, -1e6)), Math.floor(Math.min(max, 1e6))];
  const inside = least <= most ? fc.integer({ min: least, max: most }) : fc.double({ min, max, noNaN: true });
  const both = fc.oneof(fitting, inside);
  return wrong.length === 0 ? { fitting: both } : { fitting: both, breaking: fc.constantFrom(...wrong) };
}

function list(items: Shape, min: number, max: number): Sides {
  const few = fc.array(nearly(items), { minLength: min, maxLength: 3 });
  const many = (count: number) =>
    nearly(items).map((item) => Array.from({ length: count }, () => (typeof item === 'string' ? 'x' : item)));
  const empty = min === 0 ? [] : [fc.constant([])];
  if (max === Infinity) return min === 0 ? { fitting: few } : { fitting: few, breaking: fc.oneof(...empty) };
  const fitting = fc.oneof({ weight: 12, arbitrary: few }, { weight: 1, arbitrary: many(max) });
  return { fitting, breaking: fc.oneof(...empty, many(max + 1)) };
}

function object(shape: Extract<Shape, { kind: 'object' }>): Sides {
  // Of many fields each is wrong less often, so that all are right as often as of few.
  const weight = Math.max(30, 8 * shape.fields.length);
  const fields = Object.fromEntries(shape.fields.map((field) => [field.name, nearly(field.shape, weight)]));
  const requiredKeys = shape.fields.filter((field) => field.required).map(({ name }) => name);
  const fitting = fc.record(fields, { requiredKeys });
  const extra = fc
    .tuple(fitting, fc.constantFrom('zzz', 'toString', '0', ''), junk)
    .map(([value, name, member]) => ({ ...value, [name]: member }));
  return { fitting, breaking: fc.oneof(fc.record(fields, { requiredKeys: [] }), extra) };
}

function sides(shape: Shape): Sides {
  switch (shape.kind) {
    case 'any':
      return { fitting: junk };
    case 'boolean':
      return { fitting: fc.boolean() };
    case 'string':
      return text(shape.min, shape.max);
    case 'integer':
    case 'number':
      return number(shape.kind === 'integer', shape.min, shape.max);
    case 'literal':
      return { fitting: fc.constantFrom(...shape.values) };
    case 'union':
      return { fitting: fc.oneof(...shape.shapes.map((one) => nearly(one))) };
    case 'list':
      return list(shape.items, shape.min, shape.max);
    case 'map':
      return { fitting: fc.dictionary(fc.string({ maxLength: 4 }), nearly(shape.values), { maxKeys: 3 }) };
    case 'object':
      return object(shape);
  }
}

/**
 * Values near a shape: mostly fitting, so that a good part of the requests made of them is valid.
 * `weight`: that of fitting values.
 */
export function nearly(shape: Shape, weight = 30): fc.Arbitrary<unknown> {
  const { fitting, breaking } = sides(shape);
  const weighted = [
    { weight, arbitrary: fitting },
    { weight: 1, arbitrary: junk },
  ];
  if (breaking !== undefined) weighted.push({ weight: shape.kind === 'object' ? 3 : 1, arbitrary: breaking });
  if (shape.nullable) weighted.push({ weight: 6, arbitrary: fc.constant(null) });
  return fc.oneof(...weighted);
}
