/**
 * What btcd knows of payments to an address (btcd, JSON-RPC API; it must run with --txindex --addrindex). It
 * knows of those that no block has yet, of every payment to an address, and follows reorganisations itself.
 */
import { Agent } from 'node:https';
import type { Clock } from '../system/clock.js';
import { BtcdFollower, type BtcdPlace } from './btcdFollow.js';
import type { Chain, ChainAnswer, ChainHints, Following } from './chain.js';
import { askNode } from './httpsJson.js';
import type { Network } from './lightning.js';
import type { Output } from './orders.js';

/** Transactions in one answer. */
const pageTransactions = 100;

/** What btcd answers for an address that it never saw. */
const nothingKnown = -5;

type Json = Readonly<Record<string, unknown>>;

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A transaction's outputs to an address. @throws Error when it is none */
function outputsOf(transaction: unknown, address: string): Output[] {
  if (!isJson(transaction)) throw new Error('a transaction is none');
  const { txid, confirmations = 0, vout, time, blocktime } = transaction;
  if (typeof txid !== 'string' || !Array.isArray(vout) || !Number.isSafeInteger(confirmations)) {
    throw new Error('a transaction is none');
  }
  const seconds = [blocktime, time].find((each) => typeof each === 'number' && each > 0) as
    number | undefined;
  return vout.filter(isJson).flatMap((output) => {
    const script = output['scriptPubKey'];
    if (!isJson(script) || script['address'] !== address) return [];
    const { value, n } = output;
    if (typeof value !== 'number' || !Number.isSafeInteger(n)) throw new Error('an output is none');
    // Amounts come as bitcoin in binary64, which holds every amount of satoshi exactly enough to round back.
    const sat = BigInt(Math.round(value * 1e8));
    const atMs = seconds === undefined ? null : seconds * 1_000;
    return [{ txid, vout: n as number, sat, confirmations: confirmations as number, atMs }];
  });
}

/** A client of one btcd. */
export class Btcd implements Chain {
  private readonly agent: Agent;

  constructor(
    private readonly place: BtcdPlace,
    private readonly clock: Pick<Clock, 'after' | 'every'>,
    private readonly bitcoinNetwork: Network,
  ) {
    const { certificate } = place;
    this.agent = new Agent({ keepAlive: true, ...(certificate === null ? {} : { ca: certificate }) });
  }

  async network(): Promise<ChainAnswer<string>> {
    const answer = await this.call('getblockchaininfo', []);
    if (answer.kind === 'failed') return answer;
    const chain = isJson(answer.value) ? answer.value['chain'] : undefined;
    const names: Readonly<Record<string, string>> = { testnet3: 'testnet', testnet4: 'testnet' };
    const name = String(chain);
    return { kind: 'answer', value: names[name] ?? name };
  }

  async lookup(address: string): Promise<ChainAnswer<readonly Output[]>> {
    const found: Output[] = [];
    for (let skip = 0; ; skip += pageTransactions) {
      const parameters = [address, 1, skip, pageTransactions, 0, false, [address]];
      const answer = await this.call('searchrawtransactions', parameters);
      if (answer.kind === 'failed') {
        return answer.code === nothingKnown ? { kind: 'answer', value: found } : answer;
      }
      if (!Array.isArray(answer.value)) return failure('its transactions are no list');
      const page: readonly unknown[] = answer.value;
      try {
        found.push(...page.flatMap((each) => outputsOf(each, address)));
      } catch (error) {
        return failure(error instanceof Error ? error.message : String(error));
      }
      if (page.length < pageTransactions) return { kind: 'answer', value: found };
    }
  }

  readonly follow = (hints: ChainHints): Following =>
    new BtcdFollower({ place: this.place, network: this.bitcoinNetwork, clock: this.clock, hints });

  close(): void {
    this.agent.destroy();
  }

  private async call(
    method: string,
    params: readonly unknown[],
  ): Promise<ChainAnswer<unknown> & { readonly code?: number }> {
    try {
      const { url, user, password } = this.place;
      const body = JSON.stringify({ jsonrpc: '1.0', id: 1, method, params });
      const asked = { agent: this.agent, method: 'POST', auth: `${user}:${password}`, body } as const;
      const { status, text } = await askNode(new URL(url), asked, this.clock);
      if (status === 401) return failure('btcd does not know this user or password');
      const json: unknown = JSON.parse(text);
      if (!isJson(json)) return failure('its answer is no JSON object');
      const { error, result } = json;
      if (error === null || error === undefined) return { kind: 'answer', value: result };
      const { code, message } = isJson(error) ? error : {};
      return { ...failure(`btcd says: ${String(message)}`), code: Number(code) };
    } catch (error) {
      return failure(`btcd does not answer (${error instanceof Error ? error.message : String(error)})`);
    }
  }
}

function failure(reason: string): { readonly kind: 'failed'; readonly reason: string } {
  return { kind: 'failed', reason };
}
