/** Constraint tags of the wire types: lengths in Unicode code points, integers (JSON Schema 2020-12). */
import type { tags } from 'typia';

/**
 * A string of at most `Max` Unicode code points. The comparisons of lengths avoid the count for every string
 * that is short in UTF-16 units or cannot be short enough.
 */
export type MaxCodePoints<Max extends number> = tags.TagBase<{
  target: 'string';
  kind: 'maxLength';
  value: Max;
  validate: `($input.length <= ${Max} || ($input.length <= 2 * ${Max} && [...$input].length <= ${Max}))`;
  exclusive: true;
  schema: { maxLength: Max };
}>;

/** A string of at least `Min` Unicode code points. */
export type MinCodePoints<Min extends number> = tags.TagBase<{
  target: 'string';
  kind: 'minLength';
  value: Min;
  validate: `($input.length >= 2 * ${Min} || [...$input].length >= ${Min})`;
  exclusive: true;
  schema: { minLength: Min };
}>;

/** A JSON number without a fractional part: `5` and `5.0`, of any size binary64 holds. */
export type Integer = tags.TagBase<{
  target: 'number';
  kind: 'type';
  value: 'integer';
  validate: 'Number.isInteger($input)';
  exclusive: true;
  schema: { type: 'integer' };
}>;
