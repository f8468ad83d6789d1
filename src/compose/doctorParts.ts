/** Dependencies of `fusegate doctor`: models, uWebSockets.js, descriptors, and a request to the server. */
import { addressSentence } from '../checkout/onchain/freshAddresses.js';
import type { Configuration } from '../configuration.js';
import { descriptorLimit } from '../http/connections.js';
import { loadUws } from '../http/uws.js';
import { native } from '../native/addon.js';
import type { Store } from '../store/store.js';
import { isRoot, wrongAccount } from './commandParts.js';
import { findModels, tryModel } from './models.js';

/** Time that the doctor waits for the server's answer (ms). */
const askMs = 5_000;

/** The next address of the configured account in a store, as a sentence. */
async function addressSentenceOf(
  { btcXpub, btcNetwork }: Configuration,
  store: Store,
): Promise<string | undefined> {
  if (btcXpub === null) return undefined;
  const { readAccount } = await import('../checkout/onchain/addresses.js');
  const read = readAccount(btcXpub, btcNetwork);
  return 'account' in read ? addressSentence(store, read.account) : undefined;
}

/** Dependencies of the doctor besides the store. */
export const doctorParts = {
  isRoot,
  wrongAccount,
  findModels,
  tryModel,
  addressSentence: addressSentenceOf,
  nativeVersion: native.version,
  nodeVersion: process.versions.node,
  loadServer: () => loadUws(),
  descriptors: () => descriptorLimit(),
  maxConnections: ({ maxConnections }: Configuration) => maxConnections,
  async get(url: string) {
    const response = await fetch(url, { signal: AbortSignal.timeout(askMs) });
    return { status: response.status, body: await response.text() };
  },
};
