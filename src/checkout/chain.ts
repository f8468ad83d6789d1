/** What a rail needs to know of the chain; `btcd.ts` asks a node. */
import type { Output } from './orders.js';

/** What a node answered. The reason is a sentence part for the operator. */
export type ChainAnswer<Value> =
  { readonly kind: 'answer'; readonly value: Value } | { readonly kind: 'failed'; readonly reason: string };

/** A view of the chain, unconfirmed payments included. */
export interface Chain {
  /** The network that the node is on. */
  readonly network: () => Promise<ChainAnswer<string>>;
  /** Every payment to an address that the node knows now. */
  readonly lookup: (address: string) => Promise<ChainAnswer<readonly Output[]>>;
  /** Ends the connections. */
  readonly close: () => void;
}
