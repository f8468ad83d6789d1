/**
 * Payments to an address that an Esplora server knows of (Blockstream Esplora, HTTP API; the servers of
 * mempool and electrs speak the same). It sends no notifications: open orders are looked up in rounds.
 */
import type { Clock } from '../../system/clock.js';
import { reasonOf } from '../../system/reason.js';
import { usedEach, type Chain } from './chain.js';
import { agentFor, askNode, type NodeAgent } from '../httpsJson.js';
import { answered, failed, type Failed, type NodeAnswer } from '../nodeAnswer.js';
import { outpointOf, type FoundOutput } from '../../store/tables/bitcoinOrder.js';

/** The first block of each network, by its hash in the usual hex notation. */
const firstBlocks: Readonly<Record<string, string>> = {
  '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f': 'mainnet',
  '000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943': 'testnet',
  '00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043': 'testnet',
  '00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6': 'signet',
  '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206': 'regtest',
};

/** Confirmed transactions in one answer. */
const pageTransactions = 25;

interface Transaction {
  readonly txid: string;
  readonly vout: readonly { readonly scriptpubkey_address?: string; readonly value: number }[];
  readonly status: (
    | { readonly confirmed: true; readonly block_height: number }
    | { readonly confirmed: false; readonly block_height?: number }
  ) & { readonly block_time?: number };
}

/** True for a transaction. @throws Error for some values that are none, such as null */
function isTransaction({ txid, vout, status }: Partial<Transaction>): boolean {
  return (
    typeof txid === 'string' &&
    vout?.every(({ value }) => Number.isSafeInteger(value)) === true &&
    typeof status?.confirmed === 'boolean' &&
    (!status.confirmed || Number.isSafeInteger(status.block_height))
  );
}

function outputsOf({ txid, vout, status }: Transaction, address: string, tip: number): FoundOutput[] {
  const height = status.confirmed ? status.block_height : null;
  // The block may be newer than the tip that was read before it: then its depth is one.
  const confirmations = height === null ? 0 : Math.max(1, tip - height + 1);
  const atMs = status.block_time === undefined ? null : status.block_time * 1_000;
  return vout.flatMap((output, index) => {
    if (output.scriptpubkey_address !== address) return [];
    return [{ txid, vout: index, sat: BigInt(output.value), confirmations, atMs, height }];
  });
}

/** Numbers of transactions, confirmed ones or unconfirmed ones. */
interface Stats {
  readonly tx_count?: unknown;
}

/** True if an address has transactions, by the server's statistics. */
function hasHistory(text: string): boolean | Failed {
  try {
    const json = JSON.parse(text) as { readonly chain_stats?: Stats; readonly mempool_stats?: Stats };
    const counts = [json.chain_stats?.tx_count, json.mempool_stats?.tx_count];
    if (counts.every((count) => Number.isSafeInteger(count))) return counts.some((count) => count !== 0);
  } catch {
    // Not JSON.
  }
  return failure('its statistics of an address are malformed');
}

/** Time of the first block in a list, which begins with the newest (ms since 1970). */
function newestBlockMs(text: string): NodeAnswer<number> {
  try {
    const [newest] = JSON.parse(text) as readonly ({ readonly timestamp?: unknown } | undefined)[];
    const time = newest?.timestamp;
    if (Number.isSafeInteger(time)) return answered((time as number) * 1_000);
  } catch {
    // Not JSON, or no list.
  }
  return failure('its last block has no time');
}

/** A client of one server. */
export class Esplora implements Chain {
  private readonly agent: NodeAgent;

  /** `url`: base of the API, without a trailing slash. */
  constructor(
    private readonly url: string,
    private readonly clock: Pick<Clock, 'after'>,
  ) {
    this.agent = agentFor(url);
  }

  async network(): Promise<NodeAnswer<string>> {
    const text = await this.get('/block-height/0');
    if (typeof text !== 'string') return text;
    return answered(firstBlocks[text.trim()] ?? 'an unknown network');
  }

  async tip(): Promise<NodeAnswer<number>> {
    const text = await this.get('/blocks/tip/height');
    if (typeof text !== 'string') return text;
    return /^\d{1,9}$/.test(text.trim()) ? answered(Number(text)) : failure('its height is not a number');
  }

  async tipAtMs(): Promise<NodeAnswer<number>> {
    const text = await this.get('/blocks');
    return typeof text === 'string' ? newestBlockMs(text) : text;
  }

  async used(addresses: readonly string[]): Promise<NodeAnswer<ReadonlySet<string>>> {
    return usedEach(addresses, async (address) => {
      const text = await this.get(`/address/${address}`);
      return typeof text === 'string' ? hasHistory(text) : text;
    });
  }

  async lookup(address: string): Promise<NodeAnswer<readonly FoundOutput[]>> {
    const tip = await this.tip();
    if (tip.kind === 'failed') return tip;
    const found = new Map<string, FoundOutput>();
    for (let path = `/address/${address}/txs`; ;) {
      const page = await this.transactions(path);
      if ('kind' in page) return page;
      const outputs = page.flatMap((each) => outputsOf(each, address, tip.value));
      for (const output of outputs) found.set(outpointOf(output), output);
      const confirmed = page.filter(({ status }) => status.confirmed);
      const last = confirmed.slice(pageTransactions - 1).at(-1);
      if (last === undefined) break;
      path = `/address/${address}/txs/chain/${last.txid}`;
    }
    return answered([...found.values()]);
  }

  close(): void {
    this.agent.destroy();
  }

  private async transactions(path: string): Promise<readonly Transaction[] | Failed> {
    const text = await this.get(path);
    if (typeof text !== 'string') return text;
    try {
      const list = JSON.parse(text) as readonly Transaction[];
      if (list.every(isTransaction)) return list;
    } catch {
      // Not JSON, or no list of objects.
    }
    return failure('its transactions are not a list');
  }

  private async get(path: string): Promise<string | Failed> {
    try {
      const { status, text } = await askNode(new URL(this.url + path), { agent: this.agent }, this.clock);
      return status === 200 ? text : failure(`it answers with status ${status}`);
    } catch (error) {
      return failure(`it does not answer (${reasonOf(error)})`);
    }
  }
}

function failure(reason: string): Failed {
  return failed(`Esplora: ${reason}`);
}
