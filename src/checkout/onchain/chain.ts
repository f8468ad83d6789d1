/** A rail's view of the chain, by btcd, an Esplora server or an account of LND. */
import type { FoundOutput } from '../../store/tables/bitcoinOrder.js';
import { answered, type Failed, type NodeAnswer } from '../nodeAnswer.js';

/** A view of the chain, unconfirmed payments included. */
export interface Chain {
  /** The network that the node is on. */
  readonly network: () => Promise<NodeAnswer<string>>;
  /** Height of the last block that the node knows. */
  readonly tip: () => Promise<NodeAnswer<number>>;
  /**
   * The addresses with a history: any transaction, confirmed or not. The node is read after the call begins.
   */
  readonly used: (addresses: readonly string[]) => Promise<NodeAnswer<ReadonlySet<string>>>;
  /**
   * Time of the last block that the node knows (ms since 1970). Undefined if `network` fails while the node
   * is catching up.
   */
  readonly tipAtMs?: () => Promise<NodeAnswer<number>>;
  /** Every payment to an address that the node knows now. */
  readonly lookup: (address: string) => Promise<NodeAnswer<readonly FoundOutput[]>>;
  /**
   * Makes sure that the node knows the account's addresses up to this index; called before one is shown.
   * Undefined if the node knows every address.
   */
  readonly prepare?: (index: number) => Promise<NodeAnswer<undefined>>;
  /**
   * The first index that the node has not handed out: buyers of a lost store may know the lower ones.
   * Undefined if the node hands out none.
   */
  readonly firstUnshown?: () => Promise<NodeAnswer<number>>;
  /** Subscribes to changes; undefined if the node sends no notifications. */
  readonly follow?: (hints: ChainHints) => Following;
  /** Closes the connections. */
  readonly close: () => void;
}

/** Notifications of a node. Each is a hint to look something up, and may come twice. */
export interface ChainHints {
  /**
   * The node reports everything from now on; earlier changes may have been missed. No address is watched yet.
   */
  readonly onConnected: () => void;
  /** These addresses received a payment; not all of them need be watched. */
  readonly onAddresses: (addresses: readonly string[]) => void;
  /** A block was added or removed: depths have changed. */
  readonly onBlock: () => void;
  /** The node reports nothing until it is connected again. */
  readonly onLost: () => void;
}

/** A node that is being followed. */
export interface Following {
  /** Watches these addresses, too. */
  readonly watch: (addresses: readonly string[]) => void;
  readonly stop: () => void;
}

/** Addresses queried at once. */
const together = 8;

/** {@link Chain.used} of a node that answers for one address at a time. */
export async function usedEach(
  addresses: readonly string[],
  isUsed: (address: string) => Promise<boolean | Failed>,
): Promise<NodeAnswer<ReadonlySet<string>>> {
  const used = new Set<string>();
  for (let at = 0; at < addresses.length; at += together) {
    const group = addresses.slice(at, at + together);
    const answers = group.map(async (address) => ({ address, answer: await isUsed(address) }));
    for (const { address, answer } of await Promise.all(answers)) {
      if (typeof answer === 'object') return answer;
      if (answer) used.add(address);
    }
  }
  return answered(used);
}
