/**
 * A thin server of Esplora's HTTP API that answers from btcd: of the interface it has what a client of ours
 * asks, with Esplora's pages. No Esplora runs here, as it needs an index of its own.
 */
import { createServer, type Server } from 'node:http';
import type { PaymentNodes } from './nodes.js';

/** Confirmed transactions in one answer. */
const page = 25;

interface Found {
  readonly txid: string;
  readonly confirmations?: number;
  readonly blocktime?: number;
  readonly vout: readonly { readonly value: number; readonly scriptPubKey: { readonly address?: string } }[];
}

async function transactions(nodes: PaymentNodes, address: string): Promise<readonly Found[]> {
  try {
    const asked = ['searchrawtransactions', address, 1, 0, 1_000, 0, true] as const;
    return (await nodes.btcd(...asked)) as readonly Found[];
  } catch (error) {
    if (String(error).includes('-5')) return [];
    throw error;
  }
}

async function history(nodes: PaymentNodes, address: string, after: string | undefined): Promise<object[]> {
  const tip = Number(await nodes.btcd('getblockcount'));
  const all = (await transactions(nodes, address)).map(({ txid, confirmations = 0, blocktime, vout }) => ({
    txid,
    vout: vout.map(({ value, scriptPubKey }) => ({
      ...(scriptPubKey.address === undefined ? {} : { scriptpubkey_address: scriptPubKey.address }),
      value: Math.round(value * 1e8),
    })),
    status:
      confirmations === 0
        ? { confirmed: false }
        : { confirmed: true, block_height: tip - confirmations + 1, block_time: blocktime },
  }));
  const confirmed = all.filter(({ status }) => status.confirmed);
  if (after === undefined) {
    return [...all.filter(({ status }) => !status.confirmed), ...confirmed.slice(0, page)];
  }
  const from = confirmed.findIndex(({ txid }) => txid === after) + 1;
  return confirmed.slice(from, from + page);
}

async function statistics(nodes: PaymentNodes, address: string): Promise<object> {
  const all = await transactions(nodes, address);
  const mined = all.filter(({ confirmations = 0 }) => confirmations > 0).length;
  const stats = { chain_stats: { tx_count: mined }, mempool_stats: { tx_count: all.length - mined } };
  return { address, ...stats };
}

async function answer(nodes: PaymentNodes, path: string): Promise<string | undefined> {
  if (path === '/block-height/0') return String(await nodes.btcd('getblockhash', 0));
  if (path === '/blocks/tip/height') return String(await nodes.btcd('getblockcount'));
  const [, asked] = /^\/address\/(\w+)$/.exec(path) ?? [];
  if (asked !== undefined) return JSON.stringify(await statistics(nodes, asked));
  const [, address, after] = /^\/address\/(\w+)\/txs(?:\/chain\/(\w{64}))?$/.exec(path) ?? [];
  return address === undefined ? undefined : JSON.stringify(await history(nodes, address, after));
}

/** Starts it; `url` is of its API. */
export async function startEsplora(
  nodes: PaymentNodes,
): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((request, response) => {
    answer(nodes, (request.url ?? '').replace(/^\/api/, '')).then(
      (text) => response.writeHead(text === undefined ? 404 : 200).end(text ?? 'Not found'),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('it does not listen');
  return { url: `http://127.0.0.1:${address.port}/api`, server };
}
