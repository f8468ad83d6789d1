/** Receiving addresses of an account (BIP 32, BIP 84, BIP 173), from its extended public key alone. */
import { createHash } from 'node:crypto';
import * as secp256k1 from '@bitcoinerlab/secp256k1';
import { BIP32Factory, type BIP32Interface } from 'bip32';
import { networks, payments, type Network as Params } from 'bitcoinjs-lib';
import type { Network } from '../../store/tables/orderRow.js';
import { BoundedMap } from '../../system/boundedMap.js';
import type { Account } from './account.js';

const bip32 = BIP32Factory(secp256k1);

/** Address parameters of each network; signet's addresses are testnet's. */
export const addressParameters: Readonly<Record<Network, Params>> = {
  mainnet: networks.bitcoin,
  testnet: networks.testnet,
  signet: networks.testnet,
  regtest: networks.regtest,
};

/** Version bytes of extended keys, public and private (BIP 32, SLIP 132). */
const versions = [
  { name: 'xpub', main: true, public: 0x0488b21e, private: 0x0488ade4 },
  { name: 'zpub', main: true, public: 0x04b24746, private: 0x04b2430c },
  { name: 'tpub', main: false, public: 0x043587cf, private: 0x04358394 },
  { name: 'vpub', main: false, public: 0x045f1cf6, private: 0x045f18bc },
] as const;

/** Parses an extended key in base58, with its entry of {@link versions}; undefined if the text is not one. */
function readKey(
  text: string,
): { readonly key: BIP32Interface; readonly version: (typeof versions)[number] } | undefined {
  for (const version of versions) {
    try {
      return { key: bip32.fromBase58(text, { ...networks.bitcoin, bip32: version }), version };
    } catch {
      // Another version, or not an extended key.
    }
  }
  return undefined;
}

/** Size of the address cache: deriving one takes about a millisecond, and an order needs its own twice. */
const maxDerived = 2_048;

/** Reads an account's extended public key. `wrong` is a sentence part, and reveals nothing of the key. */
export function readAccount(
  text: string,
  network: Network,
): { readonly account: Account } | { readonly wrong: string } {
  const read = readKey(text);
  if (read === undefined) return { wrong: 'must be an extended public key: zpub, vpub, xpub or tpub' };
  const { key, version } = read;
  if (!key.isNeutered())
    return { wrong: 'is a private key: never give one to a server. Export the public one' };
  if (version.main !== (network === 'mainnet')) {
    return { wrong: `is a ${version.name}, which is not of BTC_NETWORK ${network}` };
  }
  const receiving = key.derive(0);
  const derived = new BoundedMap<number, string>(maxDerived);
  const digest = createHash('sha256').update(key.chainCode).update(key.publicKey).digest().subarray(0, 16);
  const address = (index: number): string => {
    const known = derived.get(index);
    if (known !== undefined) return known;
    const found = payments.p2wpkh({
      pubkey: receiving.derive(index).publicKey,
      network: addressParameters[network],
    }).address;
    if (found === undefined) throw new Error(`Index ${index} has no address`);
    derived.set(index, found);
    return found;
  };
  return { account: { digest, network, address } };
}
