/**
 * Decides if a node can be trusted: it must be on the account's network and have all blocks. If blocks are
 * missing, it looks as if the chain had been reorganised, and buyers who have paid would lose their keys.
 */
import {
  finalDepth,
  outpointOf,
  tipOf,
  type BtcOrder,
  type FoundOutput,
} from '../../store/tables/bitcoinOrder.js';
import type { Clock } from '../../system/clock.js';
import type { Account } from './account.js';
import type { Chain } from './chain.js';
import { failed, type Failed } from '../nodeAnswer.js';

/**
 * Age of the last block from which a node counts as catching up (ms), as for LND. It may not know of payments
 * that blocks since then have, so that one from before an order would pay it.
 */
const maxTipAgeMs = 2 * 3_600_000;

/**
 * Most blocks that a node can lack whose last block is younger than that. A block's time may be two hours
 * ahead, and 24 blocks are expected in four hours: three times as many do not come. A height that is further
 * above the node's was never true.
 */
const maxLackedBlocks = 72;

/** The node, and what its view is for. */
export interface NodeTrustParts {
  readonly chain: Chain;
  readonly account: Pick<Account, 'network'>;
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** An answer that is not applied to its order, though the node answers; the reason is a sentence part. */
export interface Doubted {
  readonly kind: 'doubted';
  readonly reason: string;
}

/** A fault of a node, as a failed answer. */
export function failedBy(fault: string | Failed): Failed {
  return typeof fault === 'string' ? failed(fault) : fault;
}

/** Why the node cannot be relied on, a sentence, or that it does not answer; undefined if it can. */
export async function nodeFault({
  chain,
  account,
  clock,
}: NodeTrustParts): Promise<string | Failed | undefined> {
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
 * a known payment is applied only if the chain was reorganised: the node has as many blocks as there were
 * when the payment was stored. `failed`: the node cannot be relied on for any order.
 */
export async function doubtOf(
  parts: NodeTrustParts,
  order: BtcOrder,
  found: readonly FoundOutput[],
): Promise<Doubted | Failed | undefined> {
  const lacking = deepestLacking(order, found);
  // On regtest, blocks are taken back by hand.
  if (lacking === undefined || parts.account.network === 'regtest') return undefined;
  if (lacking >= finalDepth(order)) {
    return { kind: 'doubted', reason: 'it does not know a payment that was final' };
  }
  const fault = await nodeFault(parts);
  if (fault !== undefined) return failedBy(fault);
  const tip = await viewedTip(parts.chain, found);
  if (typeof tip !== 'number') return tip;
  const seen = seenHeight(order, lacking);
  if (tip >= seen || seen - tip > maxLackedBlocks) return undefined;
  return { kind: 'doubted', reason: `it is behind, at block ${tip}: the payment was seen at ${seen}` };
}

/** Height of the last block of the view that an answer was made from, or else of the node's chain now. */
async function viewedTip(chain: Chain, found: readonly FoundOutput[]): Promise<number | Failed> {
  for (const each of found) {
    const tip = tipOf(each);
    if (tip !== null) return tip;
  }
  const answer = await chain.tip();
  return answer.kind === 'failed' ? answer : answer.value;
}

/** The most confirmations, by the order, of a payment that an answer gives fewer; undefined: none. */
function deepestLacking({ outputs }: BtcOrder, found: readonly FoundOutput[]): number | undefined {
  const now = new Map(found.map((each) => [outpointOf(each), each.confirmations]));
  const lacking = outputs.filter((each) => each.confirmations > (now.get(outpointOf(each)) ?? 0));
  return lacking.length === 0 ? undefined : Math.max(...lacking.map(({ confirmations }) => confirmations));
}

/**
 * Height of the chain when an order's payments were stored. Records of formats 1 to 3 do not have it: their
 * payments are in blocks after the one at which the order was made.
 */
function seenHeight({ seenHeight: seen, createdHeight }: BtcOrder, lacking: number): number {
  return seen ?? (createdHeight === null ? -Infinity : createdHeight + lacking);
}
