/** Answers of the services that the rails ask: the node that knows the chain, LND, and Stripe. */

/** There is no answer, or not a valid one. The reason is a sentence part for the operator. */
export interface Failed {
  readonly kind: 'failed';
  readonly reason: string;
}

/** There is a valid answer. */
export interface Answered<Value> {
  readonly kind: 'answer';
  readonly value: Value;
}

/** The outcome of a question. */
export type NodeAnswer<Value> = Answered<Value> | Failed;

/** The outcome of a question with a valid answer. */
export function answered<Value>(value: Value): Answered<Value> {
  return { kind: 'answer', value };
}

/** The outcome of a question without one. */
export function failed(reason: string): Failed {
  return { kind: 'failed', reason };
}
