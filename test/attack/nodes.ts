/**
 * Payment nodes and a card processor for the server that is attacked, in a process of their own: what they do
 * takes no time of an attacker or of the customer. Prints their settings as JSON, then serves until killed.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/system/clock.js';
import { LndServer } from '../support/lndServer.js';
import { StripeServer } from '../checkout/stripeServer.js';

/** The first block of regtest, which names the network. */
const firstBlock = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206';

/** An Esplora server that knows of no payment. */
async function startChain(): Promise<string> {
  const nothing = { chain_stats: { tx_count: 0 }, mempool_stats: { tx_count: 0 } };
  const server = createServer(({ url = '' }, response) => {
    if (url === '/block-height/0') response.end(firstBlock);
    else if (url === '/blocks/tip/height') response.end('200');
    else response.end(url.endsWith('/txs') ? '[]' : JSON.stringify(nothing));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return `esplora+http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The account of BIP 84's vectors for networks of tests. */
function account(): string {
  const { vectors } = JSON.parse(readFileSync('test/vectors/payments/bip84.json', 'utf8')) as {
    readonly vectors: readonly { readonly network: string; readonly account_public: string }[];
  };
  const found = vectors.find(({ network }) => network !== 'mainnet');
  if (found === undefined) throw new Error('no account for regtest');
  return found.account_public;
}

const [, , folder = ''] = process.argv;
const lnd = await LndServer.start(systemClock.wallMs);
const stripe = await StripeServer.start();
const certificate = join(folder, 'lnd.cert');
writeFileSync(certificate, lnd.place.certificate);
const settings = {
  RATE_SOURCE: 'fixed:100000',
  BTC_NETWORK: 'regtest',
  BTC_XPUB: account(),
  BTC_CHAIN: await startChain(),
  LND_REST_URL: lnd.place.url,
  LND_TLS_CERT: certificate,
  LND_MACAROON_HEX: lnd.place.macaroon,
  STRIPE_SECRET_KEY: stripe.secretKey,
  STRIPE_WEBHOOK_SECRET: 'whsec_of_the_attack',
  STRIPE_API_BASE: stripe.apiBase,
};
console.log(`nodes ${JSON.stringify(settings)}`);
