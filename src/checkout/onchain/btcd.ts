/**
 * Payments to an address that btcd knows of (btcd, JSON-RPC API; it must run with --txindex --addrindex). It
 * knows every payment, unconfirmed ones too, and follows reorganisations itself.
 */
import { Agent } from 'node:https';
import { BoundedMap } from '../../system/boundedMap.js';
import type { Clock } from '../../system/clock.js';
import { isJsonObject, objectsIn, type JsonObject } from '../../system/json.js';
import { reasonOf } from '../../system/reason.js';
import { BtcdFollower } from './btcdFollow.js';
import { usedEach } from './chain.js';
import type { Chain, ChainHints, Following } from './chain.js';
import { askNode } from '../httpsJson.js';
import { answered, failed, type Failed, type NodeAnswer } from '../nodeAnswer.js';
import type { BtcdPlace } from '../nodeSettings.js';
import type { Network, Output } from '../../store/tables/orderRow.js';
import type { FoundOutput } from '../../store/tables/bitcoinOrder.js';

/** Transactions in one answer. */
const pageTransactions = 100;

/** Blocks whose height is cached. */
const mostHeights = 10_000;

/** btcd's error code for an address without history. */
const nothingKnown = -5;

/** An output and the hash of its block; null: unconfirmed. */
type PlacedOutput = Output & { readonly block: string | null };

/** A transaction's outputs to an address. @throws Error if the value is not a transaction */
function outputsOf(transaction: unknown, address: string): PlacedOutput[] {
  if (!isJsonObject(transaction)) throw new Error('a transaction is malformed');
  const { txid, confirmations = 0, vout, time, blocktime, blockhash } = transaction;
  if (typeof txid !== 'string' || !Array.isArray(vout) || !Number.isSafeInteger(confirmations)) {
    throw new Error('a transaction is malformed');
  }
  const seconds = [blocktime, time].find((each) => typeof each === 'number' && each > 0) as
    number | undefined;
  return objectsIn(vout).flatMap((output) => {
    const script = output['scriptPubKey'];
    if (!isJsonObject(script) || script['address'] !== address) return [];
    const { value, n } = output;
    if (typeof value !== 'number' || !Number.isSafeInteger(n)) throw new Error('an output is malformed');
    // Amounts are bitcoin in binary64, precise enough to round back to every number of satoshi.
    const sat = BigInt(Math.round(value * 1e8));
    const atMs = seconds === undefined ? null : seconds * 1_000;
    const depth = confirmations as number;
    const block = depth > 0 ? String(blockhash) : null;
    return [{ txid, vout: n as number, sat, confirmations: depth, atMs, block }];
  });
}

/** A client of one btcd. */
export class Btcd implements Chain {
  private readonly agent: Agent;
  /** Heights by block hash: a block's height never changes. */
  private readonly heights = new BoundedMap<string, number>(mostHeights);

  constructor(
    private readonly place: BtcdPlace,
    private readonly clock: Pick<Clock, 'after' | 'every'>,
    private readonly bitcoinNetwork: Network,
  ) {
    const { certificate } = place;
    this.agent = new Agent({ keepAlive: true, ...(certificate === null ? {} : { ca: certificate }) });
  }

  async network(): Promise<NodeAnswer<string>> {
    const answer = await this.call('getblockchaininfo', []);
    if (!('result' in answer)) return answer;
    const chain = isJsonObject(answer.result) ? answer.result['chain'] : undefined;
    const names: Readonly<Record<string, string>> = { testnet3: 'testnet', testnet4: 'testnet' };
    const name = String(chain);
    return answered(names[name] ?? name);
  }

  async tip(): Promise<NodeAnswer<number>> {
    const answer = await this.call('getblockcount', []);
    if (!('result' in answer)) return answer;
    const { result } = answer;
    return Number.isSafeInteger(result) ? answered(result as number) : failed('its height is not a number');
  }

  async tipAtMs(): Promise<NodeAnswer<number>> {
    const best = await this.call('getbestblockhash', []);
    if (!('result' in best)) return best;
    const answer = await this.call('getblockheader', [best.result, true]);
    if (!('result' in answer)) return answer;
    const time = isJsonObject(answer.result) ? answer.result['time'] : undefined;
    return Number.isSafeInteger(time)
      ? answered((time as number) * 1_000)
      : failed('its last block has no time');
  }

  async used(addresses: readonly string[]): Promise<NodeAnswer<ReadonlySet<string>>> {
    return usedEach(addresses, async (address) => {
      const answer = await this.call('searchrawtransactions', [address, 0, 0, 1]);
      if ('result' in answer) return true;
      return answer.code === nothingKnown ? false : answer;
    });
  }

  async lookup(address: string): Promise<NodeAnswer<readonly FoundOutput[]>> {
    const outputs = await this.outputs(address);
    if ('kind' in outputs) return outputs;
    const found: FoundOutput[] = [];
    for (const { block, ...output } of outputs) {
      const height = block === null ? block : await this.heightOf(block);
      if (typeof height === 'object' && height !== null) return height;
      found.push({ ...output, height });
    }
    return answered(found);
  }

  /** The height of a block, or why it is unknown. */
  private async heightOf(block: string): Promise<number | Failed> {
    const known = this.heights.get(block);
    if (known !== undefined) return known;
    const answer = await this.call('getblockheader', [block, true]);
    if (!('result' in answer)) return answer;
    const height = isJsonObject(answer.result) ? answer.result['height'] : undefined;
    if (!Number.isSafeInteger(height)) return failed('a block has no height');
    this.heights.set(block, height as number);
    return height as number;
  }

  private async outputs(address: string): Promise<readonly PlacedOutput[] | Failed> {
    const found: PlacedOutput[] = [];
    for (let skip = 0; ; skip += pageTransactions) {
      const parameters = [address, 1, skip, pageTransactions, 0, false, [address]];
      const answer = await this.call('searchrawtransactions', parameters);
      if (!('result' in answer)) return answer.code === nothingKnown ? found : answer;
      if (!Array.isArray(answer.result)) return failed('its transactions are not a list');
      const page: readonly unknown[] = answer.result;
      try {
        found.push(...page.flatMap((each) => outputsOf(each, address)));
      } catch (error) {
        return failed(reasonOf(error));
      }
      if (page.length < pageTransactions) return found;
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
  ): Promise<{ readonly result: unknown } | (Failed & { readonly code?: number })> {
    try {
      const { url, user, password } = this.place;
      const body = JSON.stringify({ jsonrpc: '1.0', id: 1, method, params });
      const auth = `${user}:${password}`;
      const asked = { agent: this.agent, auth, body, isOwn: true };
      const { status, text } = await askNode(new URL(url), asked, this.clock);
      if (status === 401) return failed('btcd does not know this user or password');
      const json: unknown = JSON.parse(text);
      if (!isJsonObject(json)) return failed('its answer is not a JSON object');
      const { error, result } = json;
      if (error === null || error === undefined) return { result };
      const { code, message } = error as JsonObject;
      return { ...failed(`btcd says: ${String(message)}`), code: Number(code) };
    } catch (error) {
      return failed(`btcd does not answer (${reasonOf(error)})`);
    }
  }
}
