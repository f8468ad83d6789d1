/**
 * Decides if a node can be trusted: it must be on the account's network and have all blocks. If blocks are
 * missing, it looks as if the chain had been reorganised, and buyers who have paid would lose their keys.
 */
import { finalDepth, outpointOf, type BtcOrder, type FoundOutput } from '../../store/tables/bitcoinOrder.js';
import type { Clock } from '../../system/clock.js';
import type { Account } from './addresses.js';
import type { Chain, Failed } from './chain.js';

/**
 * Age of the last block from which a node counts as catching up (ms), as for LND. It may not know of payments
 * that blocks since then have, so that one from before an order would pay it.
 */
const maxTipAgeMs = 2 * 3_600_000;

/** The node, and what its view is for. */
export interface NodeTrustParts {
  readonly chain: Chain;
  readonly account: Pick<Account, 'network'>;
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** Checks a node, and remembers its highest block, in one process. */
export class NodeTrust {
  /** The highest block that the node is known to have had. */
  private highest = -Infinity;

  constructor(private readonly parts: NodeTrustParts) {}

  /** Why the node cannot be relied on, a sentence, or that it does not answer; undefined if it can. */
  async fault(): Promise<string | Failed | undefined> {
    const { chain, account, clock } = this.parts;
    const network = await chain.network();
    if (network.kind === 'failed') return network;
    if (network.value !== account.network) {
      return `The Bitcoin node is on ${network.value}, not on ${account.network}.`;
    }
    // Blocks of regtest are made by hand.
    const tip = account.network === 'regtest' ? undefined : await chain.tipAtMs?.();
    if (tip?.kind === 'failed') return tip;
    const isBehind = tip !== undefined && tip.value < clock.wallMs() - maxTipAgeMs;
    return isBehind ? 'The Bitcoin node is catching up with the chain.' : undefined;
  }

  /**
   * Why an answer about an order's address cannot be applied; undefined if it can. One that takes blocks from
   * a known payment is applied only if the chain was reorganised: the node has as many blocks as it, or the
   * payment, showed before.
   */
  async doubt(order: BtcOrder, found: readonly FoundOutput[]): Promise<string | undefined> {
    let tip = tipOf(found);
    const lacking = deepestLacking(order, found);
    // On regtest, blocks are taken back by hand.
    if (lacking === undefined || this.parts.account.network === 'regtest') {
      if (tip !== undefined) this.saw(tip);
      return undefined;
    }
    if (lacking >= finalDepth(order)) return 'it does not know a payment that was final';
    const fault = await this.fault();
    if (fault !== undefined) return typeof fault === 'string' ? fault : fault.reason;
    if (tip === undefined) {
      const answer = await this.parts.chain.tip();
      if (answer.kind === 'failed') return answer.reason;
      tip = answer.value;
    }
    if (order.createdHeight !== null) this.saw(order.createdHeight + lacking);
    this.saw(tip);
    return tip < this.highest ? `it is behind, at block ${tip}: it was at ${this.highest}` : undefined;
  }

  private saw(height: number): void {
    this.highest = Math.max(this.highest, height);
  }
}

/** Height of the last block of the view that an answer was made from; undefined: no payment is in a block. */
function tipOf(found: readonly FoundOutput[]): number | undefined {
  for (const { height, confirmations } of found) if (height !== null) return height + confirmations - 1;
  return undefined;
}

/** The most confirmations, by the order, of a payment that an answer gives fewer; undefined: none. */
function deepestLacking({ outputs }: BtcOrder, found: readonly FoundOutput[]): number | undefined {
  const now = new Map(found.map((each) => [outpointOf(each), each.confirmations]));
  const lacking = outputs.filter((each) => each.confirmations > (now.get(outpointOf(each)) ?? 0));
  return lacking.length === 0 ? undefined : Math.max(...lacking.map(({ confirmations }) => confirmations));
}
