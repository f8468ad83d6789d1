/**
 * Payments to an address that an Esplora server knows of (Blockstream Esplora, HTTP API; the servers of
 * mempool and electrs speak the same). It sends no notifications: open orders are looked up in rounds.
 */
import type { Clock } from '../system/clock.js';
import { reasonOf } from '../system/reason.js';
import { usedEach, type Chain, type ChainAnswer } from './chain.js';
import { agentFor, askNode, type NodeAgent } from './httpsJson.js';
import { outpointOf, type FoundOutput } from './orders.js';

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
  readonly status: {
    readonly confirmed: boolean;
    readonly block_height?: number;
    readonly block_time?: number;
  };
}

function isTransaction(value: unknown): value is Transaction {
  const { txid, vout, status } = (value ?? {}) as Partial<Transaction>;
  return (
    typeof txid === 'string' &&
    Array.isArray(vout) &&
    vout.every((output) => Number.isSafeInteger((output as Transaction['vout'][number] | null)?.value)) &&
    typeof status?.confirmed === 'boolean' &&
    (!status.confirmed || Number.isSafeInteger(status.block_height))
  );
}

function outputsOf({ txid, vout, status }: Transaction, address: string, tip: number): FoundOutput[] {
  const height = status.confirmed ? (status.block_height ?? tip) : null;
  // The block may be newer than the tip that was read before it: then its depth is one.
  const confirmations = height === null ? 0 : Math.max(1, tip - height + 1);
  const atMs = status.block_time === undefined ? null : status.block_time * 1_000;
  return vout.flatMap((output, index) => {
    if (output.scriptpubkey_address !== address) return [];
    return [{ txid, vout: index, sat: BigInt(output.value), confirmations, atMs, height }];
  });
}

/** True if an address has transactions, by the server's statistics. */
function hasHistory(text: string): ChainAnswer<boolean> {
  const counts = countsOf(text);
  return counts.every((count) => Number.isSafeInteger(count))
    ? { kind: 'answer', value: counts.some((count) => count !== 0) }
    : failure('its statistics of an address are malformed');
}

/** Numbers of confirmed and unconfirmed transactions; undefined if the server does not say. */
function countsOf(text: string): readonly [unknown, unknown] {
  interface Stats {
    readonly tx_count?: unknown;
  }
  try {
    const json = JSON.parse(text) as { readonly chain_stats?: Stats; readonly mempool_stats?: Stats } | null;
    return [json?.chain_stats?.tx_count, json?.mempool_stats?.tx_count];
  } catch {
    return [undefined, undefined];
  }
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

  async network(): Promise<ChainAnswer<string>> {
    const answer = await this.get('/block-height/0');
    if (answer.kind === 'failed') return answer;
    return { kind: 'answer', value: firstBlocks[answer.value.trim()] ?? 'an unknown network' };
  }

  async tip(): Promise<ChainAnswer<number>> {
    const tip = await this.get('/blocks/tip/height');
    if (tip.kind === 'failed') return tip;
    return /^\d{1,9}$/.test(tip.value.trim())
      ? { kind: 'answer', value: Number(tip.value) }
      : failure('its height is not a number');
  }

  async used(addresses: readonly string[]): Promise<ChainAnswer<ReadonlySet<string>>> {
    return usedEach(addresses, async (address) => {
      const answer = await this.get(`/address/${address}`);
      return answer.kind === 'failed' ? answer : hasHistory(answer.value);
    });
  }

  async lookup(address: string): Promise<ChainAnswer<readonly FoundOutput[]>> {
    const tip = await this.tip();
    if (tip.kind === 'failed') return tip;
    const found = new Map<string, FoundOutput>();
    for (let path = `/address/${address}/txs`; ;) {
      const page = await this.transactions(path);
      if (page.kind === 'failed') return page;
      const outputs = page.value.flatMap((each) => outputsOf(each, address, tip.value));
      for (const output of outputs) found.set(outpointOf(output), output);
      const confirmed = page.value.filter(({ status }) => status.confirmed);
      const last = confirmed.at(-1);
      if (last === undefined || confirmed.length < pageTransactions) break;
      path = `/address/${address}/txs/chain/${last.txid}`;
    }
    return { kind: 'answer', value: [...found.values()] };
  }

  close(): void {
    this.agent.destroy();
  }

  private async transactions(path: string): Promise<ChainAnswer<readonly Transaction[]>> {
    const answer = await this.get(path);
    if (answer.kind === 'failed') return answer;
    try {
      const list: unknown = JSON.parse(answer.value);
      if (Array.isArray(list) && list.every(isTransaction)) return { kind: 'answer', value: list };
    } catch {
      // Not JSON.
    }
    return failure('its transactions are not a list');
  }

  private async get(path: string): Promise<ChainAnswer<string>> {
    try {
      const asked = { agent: this.agent, method: 'GET', body: '' } as const;
      const { status, text } = await askNode(new URL(this.url + path), asked, this.clock);
      return status === 200 ? { kind: 'answer', value: text } : failure(`it answers with status ${status}`);
    } catch (error) {
      return failure(`it does not answer (${reasonOf(error)})`);
    }
  }
}

function failure(reason: string): { readonly kind: 'failed'; readonly reason: string } {
  return { kind: 'failed', reason: `Esplora: ${reason}` };
}
