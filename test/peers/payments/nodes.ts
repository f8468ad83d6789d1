/**
 * Real payment nodes on this machine, with a chain of their own (regtest): btcd, two LND nodes with a channel
 * between them, a merchant's and a buyer's, and Stripe's stripe-mock. Built from their Go modules, whose
 * versions stand in `go.mod` of each; needs Go. `npm run test:peers` builds and uses them.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePorts } from '../../support/ports.js';
import { until } from '../../support/until.js';
import { buildPrograms, programs } from '../go.js';

/** Why the tests on real nodes do not run, or false. */
export const nodesSkip: string | false =
  process.env['FUSEGATE_PAYMENT_NODES'] === undefined
    ? 'real payment nodes are not asked for; run: npm run test:peers (needs Go, takes minutes at first)'
    : false;

/**
 * The buyer's wallet is made from a key that everybody knows, worth nothing, so that its first address is
 * known before it runs: btcd mines to the address it is given at its start.
 */
const buyerKey =
  'tprv8ZgxMBicQKsPdptghaLboZt2EHxdV4YC3HBYXPPxfAPvRxj8PxYpiFpu4cU1' +
  'xq89H2S1gtnX9me9zCkGycWdsm1SLDTuXJELfp8gLm33WkC';
const buyerAddress = 'bcrt1qszu8detsvg5gum4q9x2pf9tnf4lvj209fk7xan';
const rpcUser = 'nodes';
const rpcPassword = 'nodes';

/** The channel from the buyer to the merchant, and what of it is the merchant's from the start (sat). */
const channelSat = 10_000_000;
const pushedSat = 1_000_000;

type Json = Readonly<Record<string, unknown>>;

/** Tries again until it succeeds. */
async function eventually<Value>(
  what: string,
  attempt: () => Promise<Value>,
  timeoutMs = 60_000,
): Promise<Value> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > end) throw new Error(`${what} did not come`, { cause: error });
      await pause(100);
    }
  }
}

function assertThat(condition: boolean, what: string): void {
  if (!condition) throw new Error(what);
}

/** How long a node has for an answer, of which a payment's comes when it is through (ms). */
const askedMs = 30_000;

/** A JSON request over HTTPS to a node with a certificate of its own. */
function ask(
  url: string,
  certificate: string,
  options: { readonly method: string; readonly headers?: Record<string, string>; readonly auth?: string },
  body?: unknown,
): Promise<Json> {
  return new Promise((done, fail) => {
    const signal = AbortSignal.timeout(askedMs);
    const sent = request(url, { ...options, ca: certificate, signal }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', fail);
      response.on('end', () => {
        try {
          // A streaming answer is a line each; the last one counts.
          done(JSON.parse(text.trim().split('\n').at(-1) ?? '') as Json);
        } catch {
          fail(new Error(`${url} answers ${text.slice(0, 200)}`));
        }
      });
    });
    sent.on('error', fail);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** One LND node. */
export class LndNode {
  private child: ChildProcess | undefined;

  constructor(
    readonly name: string,
    readonly folder: string,
    /** Of peers, of gRPC, of REST. */
    readonly ports: readonly [number, number, number],
    private readonly flags: readonly string[],
  ) {}

  get url(): string {
    return `https://127.0.0.1:${this.ports[2]}`;
  }

  get certificatePath(): string {
    return join(this.folder, 'tls.cert');
  }

  start(): void {
    const [p2p, grpc, rest] = this.ports;
    this.child = launch('lnd', this.folder, `${this.name}.log`, [
      `--lnddir=${this.folder}`,
      `--alias=${this.name}`,
      '--bitcoin.regtest',
      '--bitcoin.node=btcd',
      `--listen=127.0.0.1:${p2p}`,
      `--rpclisten=127.0.0.1:${grpc}`,
      `--restlisten=127.0.0.1:${rest}`,
      '--nobootstrap',
      '--trickledelay=50',
      '--bitcoin.defaultchanconfs=1',
      '--healthcheck.diskspace.attempts=0',
      ...this.flags,
    ]);
  }

  /** A call of its REST interface with its own admin macaroon, once there is one. */
  call(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Json> {
    const macaroon = join(this.folder, 'data/chain/bitcoin/regtest/admin.macaroon');
    const headers: Record<string, string> = existsSync(macaroon)
      ? { 'grpc-metadata-macaroon': readFileSync(macaroon, 'hex') }
      : {};
    return ask(`${this.url}${path}`, readFileSync(this.certificatePath, 'utf8'), { method, headers }, body);
  }

  /** Waits until it is in one of some states. */
  async reaches(...states: readonly string[]): Promise<void> {
    await eventually(`${this.name} in state ${states.join(' or ')}`, async () => {
      const { state } = await this.call('GET', '/v1/state');
      assertThat(states.includes(String(state)), String(state));
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  /** Kills it and waits for its end. */
  async kill(): Promise<void> {
    this.child?.kill('SIGKILL');
    await until(() => this.child?.exitCode !== null || this.child.signalCode !== null);
  }
}

const launched = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of launched) child.kill('SIGKILL');
});

function launch(program: string, folder: string, log: string, args: readonly string[]): ChildProcess {
  mkdirSync(folder, { recursive: true });
  const child = spawn(
    'sh',
    ['-c', `exec "$0" "$@" > "${join(folder, log)}" 2>&1`, join(programs, program), ...args],
    {
      env: { HOME: folder, PATH: process.env['PATH'] ?? '' },
      stdio: 'ignore',
    },
  );
  launched.add(child);
  return child;
}

/** All of the nodes, running. */
export class PaymentNodes {
  private btcdProcess: ChildProcess | undefined;

  private constructor(
    private readonly folder: string,
    private readonly btcdPort: number,
    readonly merchant: LndNode,
    readonly buyer: LndNode,
    /** Opens what a server needs of the merchant's node and no more, in hex. */
    readonly macaroon: string,
    readonly stripeMockPort: number,
  ) {}

  /** Builds, starts and funds them: a chain with coins, and a channel from the buyer to the merchant. */
  static async start(): Promise<PaymentNodes> {
    buildPrograms(['btcd', 'lnd', 'stripe-mock']);
    const folder = mkdtempSync(join(tmpdir(), 'fusegate-nodes-'));
    const [btcdPort = 0, a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, http = 0, https = 0] = await freePorts(9);
    launch('stripe-mock', folder, 'stripe-mock.log', [
      `-http-addr=127.0.0.1:${http}`,
      `-https-addr=127.0.0.1:${https}`,
    ]);
    const bitcoind = [
      `--btcd.rpchost=127.0.0.1:${btcdPort}`,
      `--btcd.rpcuser=${rpcUser}`,
      `--btcd.rpcpass=${rpcPassword}`,
      `--btcd.rpccert=${join(folder, 'btcd/rpc.cert')}`,
    ];
    const merchant = new LndNode(
      'merchant',
      join(folder, 'merchant'),
      [a, b, c],
      [...bitcoind, '--noseedbackup'],
    );
    const buyer = new LndNode('buyer', join(folder, 'buyer'), [d, e, f], bitcoind);
    const nodes = new PaymentNodes(folder, btcdPort, merchant, buyer, '', http);
    await nodes.startChain();
    merchant.start();
    buyer.start();
    await nodes.fundBuyer();
    await nodes.openChannel();
    const macaroon = await nodes.bakeMacaroon();
    const ready = new PaymentNodes(folder, btcdPort, merchant, buyer, macaroon, http);
    ready.btcdProcess = nodes.btcdProcess;
    return ready;
  }

  /** A call of btcd's JSON-RPC. */
  async btcd(method: string, ...params: readonly unknown[]): Promise<unknown> {
    const { result, error } = await ask(
      this.btcdUrl,
      readFileSync(this.btcdCertificatePath, 'utf8'),
      { method: 'POST', auth: `${rpcUser}:${rpcPassword}` },
      { jsonrpc: '1.0', id: 1, method, params },
    );
    if (error !== null) throw new Error(JSON.stringify(error));
    return result;
  }

  /** What BTC_CHAIN is to be for this chain. */
  get chain(): string {
    const cert = encodeURIComponent(this.btcdCertificatePath);
    return `btcd+https://${rpcUser}:${rpcPassword}@127.0.0.1:${this.btcdPort}?cert=${cert}`;
  }

  /** The same in its parts. */
  get chainPlace(): {
    readonly url: string;
    readonly user: string;
    readonly password: string;
    readonly certificate: string;
  } {
    const certificate = readFileSync(this.btcdCertificatePath, 'utf8');
    return { url: this.btcdUrl, user: rpcUser, password: rpcPassword, certificate };
  }

  get btcdUrl(): string {
    return `https://127.0.0.1:${this.btcdPort}/`;
  }

  get btcdCertificatePath(): string {
    return join(this.folder, 'btcd/rpc.cert');
  }

  /** Mines blocks; resolves when both nodes have seen them. */
  async mine(blocks: number): Promise<void> {
    await this.btcd('generate', blocks);
    const height = await this.btcd('getblockcount');
    for (const node of [this.merchant, this.buyer]) {
      await eventually(`${node.name} at the tip`, async () => {
        const { block_height, synced_to_chain } = await node.call('GET', '/v1/getinfo');
        assertThat(block_height === height && synced_to_chain === true, 'not yet');
      });
    }
  }

  /** The buyer pays an invoice; again where it has not yet heard of the merchant's side of the channel. */
  async payInvoice(bolt11: string): Promise<void> {
    await eventually(
      'the payment',
      async () => {
        const paid = await this.buyer.call('POST', '/v2/router/send', {
          payment_request: bolt11,
          timeout_seconds: 20,
          fee_limit_sat: '100',
          no_inflight_updates: true,
        });
        const { status, failure_reason: reason } = (paid['result'] ?? paid) as Json;
        // An earlier attempt whose answer did not come in time may have gone through.
        const already = JSON.stringify(paid['error'] ?? '').includes('already paid');
        assertThat(
          already || status === 'SUCCEEDED',
          `${String(status)}: ${String(reason)}, ${JSON.stringify(paid['error'])}`,
        );
      },
      60_000,
    );
  }

  /** The buyer sends satoshi to an address; the transaction's id. It waits for a block until {@link mine}. */
  async payAddress(address: string, sat: number): Promise<string> {
    const sent = await this.buyer.call('POST', '/v1/transactions', {
      addr: address,
      amount: String(sat),
      sat_per_vbyte: '5',
      spend_unconfirmed: true,
    });
    if (typeof sent['txid'] !== 'string') throw new Error(JSON.stringify(sent));
    return sent['txid'];
  }

  /** Signals btcd, as to stop it for a while. */
  signalBtcd(signal: NodeJS.Signals): void {
    this.btcdProcess?.kill(signal);
  }

  /** Stops all and removes their folder. */
  async stop(): Promise<void> {
    for (const child of launched) child.kill('SIGKILL');
    launched.clear();
    await pause(200);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  private async startChain(): Promise<void> {
    const folder = join(this.folder, 'btcd');
    this.btcdProcess = launch('btcd', folder, 'btcd.log', [
      '--regtest',
      '--nolisten',
      '--txindex',
      '--addrindex',
      `--datadir=${folder}/data`,
      `--logdir=${folder}/logs`,
      `--rpclisten=127.0.0.1:${this.btcdPort}`,
      `--rpcuser=${rpcUser}`,
      `--rpcpass=${rpcPassword}`,
      `--rpccert=${folder}/rpc.cert`,
      `--rpckey=${folder}/rpc.key`,
      `--miningaddr=${buyerAddress}`,
    ]);
    await eventually('btcd', () => this.btcd('getblockcount'));
  }

  private async fundBuyer(): Promise<void> {
    const { buyer, merchant } = this;
    await buyer.reaches('NON_EXISTING');
    await buyer.call('POST', '/v1/initwallet', {
      wallet_password: Buffer.from('nodes-of-a-test').toString('base64'),
      extended_master_key: buyerKey,
      extended_master_key_birthday_timestamp: String(Math.floor(Date.now() / 1000)),
    });
    await buyer.reaches('RPC_ACTIVE', 'SERVER_ACTIVE');
    // A wallet watches an address from when it has handed it out.
    const { address } = await buyer.call('GET', '/v1/newaddress');
    assertThat(address === buyerAddress, `the buyer's first address is ${String(address)}`);
    // A block's reward can be spent 100 blocks later.
    await this.btcd('generate', 110);
    await Promise.all([merchant.reaches('SERVER_ACTIVE'), buyer.reaches('SERVER_ACTIVE')]);
    await this.mine(1);
    await eventually('the coins', async () => {
      const { confirmed_balance } = await buyer.call('GET', '/v1/balance/blockchain');
      assertThat(Number(confirmed_balance) > 100_000_000, 'not yet');
    });
  }

  private async openChannel(): Promise<void> {
    const { buyer, merchant } = this;
    const { identity_pubkey: pubkey } = await merchant.call('GET', '/v1/getinfo');
    await eventually('the connection', async () => {
      await buyer.call('POST', '/v1/peers', { addr: { pubkey, host: `127.0.0.1:${merchant.ports[0]}` } });
      const { peers } = await buyer.call('GET', '/v1/peers');
      assertThat(Array.isArray(peers) && peers.length > 0, 'not yet');
    });
    await eventually('the channel', async () => {
      const opened = await buyer.call('POST', '/v1/channels', {
        node_pubkey_string: pubkey,
        local_funding_amount: String(channelSat),
        push_sat: String(pushedSat),
        sat_per_vbyte: '5',
      });
      assertThat('funding_txid_bytes' in opened, JSON.stringify(opened));
    });
    await this.mine(6);
    for (const node of [merchant, buyer]) await this.channelOf(node);
  }

  /** Waits until a node's channel is active. */
  async channelOf(node: LndNode): Promise<void> {
    await eventually(`${node.name}'s channel`, async () => {
      const { channels } = await node.call('GET', '/v1/channels?active_only=true');
      assertThat(Array.isArray(channels) && channels.length === 1, 'not yet');
    });
  }

  private async bakeMacaroon(): Promise<string> {
    const permissions = ['info:read', 'offchain:read', 'onchain:read'].concat([
      'address:read',
      'address:write',
      'invoices:read',
      'invoices:write',
    ]);
    const { macaroon } = await this.merchant.call('POST', '/v1/macaroon', {
      permissions: permissions.map((each) => {
        const [entity, action] = each.split(':');
        return { entity, action };
      }),
    });
    return String(macaroon);
  }
}
