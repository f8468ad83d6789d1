/** View of the chain for a rail, by btcd, an Esplora server or an account of LND. */
import type { FoundOutput } from './orders.js';

/** Answer of a node. The reason is a sentence part for the operator. */
export type ChainAnswer<Value> = { readonly kind: 'answer'; readonly value: Value } | Failed;

/** The node did not answer, or not as it should. */
export interface Failed {
  readonly kind: 'failed';
  readonly reason: string;
}

/** A view of the chain, unconfirmed payments included. */
export interface Chain {
  /** The network that the node is on. */
  readonly network: () => Promise<ChainAnswer<string>>;
  /** Height of the last block that the node knows. */
  readonly tip: () => Promise<ChainAnswer<number>>;
  /**
   * Those of the addresses that have a history: any transaction, in a block or in none, by an answer that the
   * node began after the call.
   */
  readonly used: (addresses: readonly string[]) => Promise<ChainAnswer<ReadonlySet<string>>>;
  /** Every payment to an address that the node knows now. */
  readonly lookup: (address: string) => Promise<ChainAnswer<readonly FoundOutput[]>>;
  /**
   * Makes sure that the node knows the account's addresses up to this index: before one is shown. Undefined
   * where it knows every address.
   */
  readonly prepare?: (index: number) => Promise<ChainAnswer<undefined>>;
  /**
   * The first index that the node has handed out to nobody: lower ones may be known to buyers of a store that
   * is lost. Undefined where the node hands out none.
   */
  readonly firstUnshown?: () => Promise<ChainAnswer<number>>;
  /** Subscribes to changes; undefined where the node reports nothing by itself. */
  readonly follow?: (hints: ChainHints) => Following;
  /** Ends the connections. */
  readonly close: () => void;
}

/** Notices of a node. Each is a hint to look something up, and may come twice. */
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

/** Addresses asked about at once. */
const together = 8;

/** {@link Chain.used} of a node that is asked about one address at a time. */
export async function usedEach(
  addresses: readonly string[],
  isUsed: (address: string) => Promise<ChainAnswer<boolean>>,
): Promise<ChainAnswer<ReadonlySet<string>>> {
  const used = new Set<string>();
  for (let at = 0; at < addresses.length; at += together) {
    const group = addresses.slice(at, at + together);
    const answers = await Promise.all(group.map(isUsed));
    for (const [index, answer] of answers.entries()) {
      if (answer.kind === 'failed') return answer;
      const address = group[index];
      if (answer.value && address !== undefined) used.add(address);
    }
  }
  return { kind: 'answer', value: used };
}
