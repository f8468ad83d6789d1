/** What a rail needs to know of the chain; btcd, an Esplora server or an account of LND is asked. */
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
  /**
   * Makes sure that the node knows the account's addresses up to this index: before one is shown. Undefined
   * where it knows every address.
   */
  readonly prepare?: (index: number) => Promise<ChainAnswer<undefined>>;
  /** Starts to be told of changes; undefined where the node tells of nothing by itself. */
  readonly follow?: (hints: ChainHints) => Following;
  /** Ends the connections. */
  readonly close: () => void;
}

/** What a node tells of by itself. Each is a hint to look something up, and may come twice. */
export interface ChainHints {
  /** From now on it tells of everything; what came before may have been missed. No address is watched yet. */
  readonly onConnected: () => void;
  /** Something was paid to these addresses, of which some may be watched. */
  readonly onAddresses: (addresses: readonly string[]) => void;
  /** A block came, or was taken back: depths are others than before. */
  readonly onBlock: () => void;
  /** It tells of nothing until it is connected again. */
  readonly onLost: () => void;
}

/** A node that is being followed. */
export interface Following {
  /** Tells of payments to these addresses, too. */
  readonly watch: (addresses: readonly string[]) => void;
  readonly stop: () => void;
}
