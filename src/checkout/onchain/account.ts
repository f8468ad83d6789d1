/** An account's receiving addresses. The arithmetic behind them is loaded only with the key's reader. */
import { inSlice } from '../../system/slices.js';
import type { Network } from '../../store/tables/orderRow.js';

/** An account whose receiving addresses are derived. */
export interface Account {
  /** Its id in the store: 16 bytes of SHA-256 over chain code and public key. */
  readonly digest: Buffer;
  readonly network: Network;
  /** The receiving address of an index (m/84'/coin'/account'/0/index). */
  readonly address: (index: number) => string;
}

/** The addresses of several indexes, which may be hundreds; each takes a millisecond, so they take turns. */
export function addressesOf(
  { address }: Pick<Account, 'address'>,
  indexes: readonly number[],
): Promise<string[]> {
  return Promise.all(indexes.map((index) => inSlice(() => address(index))));
}
