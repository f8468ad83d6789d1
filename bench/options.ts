/** Options that every benchmark has. */
export interface RecordOptions {
  /** True: one JSON document is printed instead of text. */
  readonly json: boolean;
  /** True: the result is written to bench/record. */
  readonly record: boolean;
}
