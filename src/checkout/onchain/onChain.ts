/**
 * The account and the view of the chain that the operator has set up. The checkout loads this only for
 * payments on chain: the libraries of addresses and transactions add a tenth of a second to a start.
 */
import type { Clock } from '../../system/clock.js';
import type { Account } from './account.js';
import { readAccount } from './addresses.js';
import { Btcd } from './btcd.js';
import type { Chain } from './chain.js';
import { Esplora } from './esplora.js';
import type { Lnd } from '../lnd.js';
import { LndChain } from './lndChain.js';
import type { BitcoinChain, NodeValues } from '../nodeSettings.js';

/** Settings of payments on chain. */
export interface OnChainValues extends Pick<NodeValues, 'btcNetwork'> {
  readonly btcXpub: string;
  readonly btcChain: BitcoinChain;
}

/** An account, and where its payments are seen. */
export interface OnChain {
  readonly account: Account;
  readonly chain: Chain;
}

/** Opens the view of the chain; `wrong` is a sentence about a setting. */
export function openOnChain(
  { btcXpub, btcNetwork, btcChain }: OnChainValues,
  lnd: Lnd | undefined,
  clock: Clock,
): OnChain | { readonly wrong: string } {
  const read = readAccount(btcXpub, btcNetwork);
  if ('wrong' in read) return { wrong: `BTC_XPUB ${read.wrong}.` };
  const { account } = read;
  return { account, chain: chainOf(btcChain, account, lnd, clock) };
}

function chainOf(chain: BitcoinChain, account: Account, lnd: Lnd | undefined, clock: Clock): Chain {
  switch (chain.kind) {
    case 'btcd':
      return new Btcd(chain, clock, account.network);
    case 'esplora':
      return new Esplora(chain.url, clock);
    case 'lnd':
      if (lnd === undefined) throw new Error('The configuration names an account of no LND');
      return new LndChain(lnd, chain.account, account, clock);
  }
}
