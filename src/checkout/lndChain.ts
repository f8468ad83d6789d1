/**
 * Payments that an LND knows of, to a watch-only account of its wallet (LND, REST API). The operator imports
 * the account once, from the same extended public key. LND watches only addresses that it has handed out, so
 * each is requested from it before a buyer sees it.
 */
import type { Output } from '../store/order.js';
import type { Clock } from '../system/clock.js';
import { readAccount, type Account } from './addresses.js';
import type { Chain, ChainAnswer, ChainHints, Following } from './chain.js';
import { LndFollower } from './lndFollow.js';
import type { Lnd, WalletAccount, WalletTransaction } from './lnd.js';
import { outpointOf, type FoundOutput } from './orders.js';

/** From this depth on a transaction counts as final. */
const settledDepth = 144;

/** Lifetime of a cached answer with all transactions (ms): it serves every order that is looked up. */
const knownMs = 500;

/** Most receiving addresses requested before one order: a larger gap means that the account is not ours. */
const mostAsked = 10_000;

interface Settled extends Omit<Output, 'confirmations'> {
  readonly height: number;
}

/** Outputs by txid and index: an output that is reported twice is there once. */
type Outputs<Each> = Map<string, Each>;

type ByAddress = ReadonlyMap<string, Outputs<FoundOutput>>;

/** A reading of the account; `beganMs` undefined: it is queued. */
interface Asked {
  beganMs: number | undefined;
  readonly answer: Promise<ChainAnswer<ByAddress>>;
}

function put<Each extends Pick<Output, 'txid' | 'vout'>>(
  into: Map<string, Outputs<Each>>,
  address: string,
  output: Each,
): void {
  const outputs = into.get(address) ?? new Map<string, Each>();
  into.set(address, outputs.set(outpointOf(output), output));
}

/** A view of one account. */
export class LndChain implements Chain {
  /** Outputs at {@link settledDepth} and deeper, up to a height. */
  private readonly settled = { to: 0, byAddress: new Map<string, Outputs<Settled>>() };
  private known: Asked | undefined;
  /** Readings run one after the other: each continues from {@link settled}. */
  private last: Promise<unknown> = Promise.resolve();
  /** Number of addresses LND has handed out, as last read; -1: not read yet. */
  private handedOut = -1;

  /** The account's name at LND, once it is known. */
  private name: string | undefined;

  /** `name`: the account's name at LND; null: found by the account's key. */
  constructor(
    private readonly lnd: Lnd,
    name: string | null,
    private readonly account: Account,
    private readonly clock: Pick<Clock, 'after' | 'every' | 'monotonicMs'>,
  ) {
    this.name = name ?? undefined;
  }

  async network(): Promise<ChainAnswer<string>> {
    const info = await this.lnd.info();
    if (info.kind === 'failed') return info;
    if (!info.value.syncedToChain) return { kind: 'failed', reason: 'LND is not synced to the chain' };
    const name = await this.named();
    if (name.kind === 'failed') return name;
    const asked = await this.lnd.account(name.value);
    if (asked.kind === 'failed') return asked;
    if (!this.isOurs(asked.value)) {
      return { kind: 'failed', reason: `LND's account ${name.value} has another key than BTC_XPUB` };
    }
    return { kind: 'answer', value: info.value.network };
  }

  /** Has LND hand out its addresses up to this index. Other processes may do so at the same time. */
  async prepare(index: number): Promise<ChainAnswer<undefined>> {
    const named = await this.named();
    if (named.kind === 'failed') return named;
    const name = named.value;
    for (let asked = 0; this.handedOut <= index; asked += 1) {
      if (this.handedOut < 0 || asked > 0) {
        const found = await this.lnd.account(name);
        if (found.kind === 'failed') return found;
        this.handedOut = found.value.handedOut;
      }
      if (index - this.handedOut >= mostAsked) {
        return { kind: 'failed', reason: `LND's account ${name} is ${index - this.handedOut} behind` };
      }
      for (let next = this.handedOut; next <= index; next += 1) {
        const made = await this.lnd.nextAddress(name);
        if (made.kind === 'failed') return made;
      }
    }
    return { kind: 'answer', value: undefined };
  }

  async tip(): Promise<ChainAnswer<number>> {
    const info = await this.lnd.info();
    return info.kind === 'failed' ? info : { kind: 'answer', value: info.value.blockHeight };
  }

  /** Reads the account after the call began; LND knows nothing from before the import. */
  async used(addresses: readonly string[]): Promise<ChainAnswer<ReadonlySet<string>>> {
    if (this.known?.beganMs !== undefined) this.known = undefined;
    this.known ??= this.ask();
    const answer = await this.known.answer;
    if (answer.kind === 'failed') return answer;
    return { kind: 'answer', value: new Set(addresses.filter((address) => answer.value.has(address))) };
  }

  async firstUnshown(): Promise<ChainAnswer<number>> {
    const name = await this.named();
    if (name.kind === 'failed') return name;
    const found = await this.lnd.account(name.value);
    return found.kind === 'failed' ? found : { kind: 'answer', value: found.value.handedOut };
  }

  async lookup(address: string): Promise<ChainAnswer<readonly FoundOutput[]>> {
    const began = this.known?.beganMs;
    const old = began !== undefined && this.clock.monotonicMs() - began >= knownMs;
    if (this.known === undefined || old) this.known = this.ask();
    const answer = await this.known.answer;
    if (answer.kind === 'failed') return answer;
    return { kind: 'answer', value: [...(answer.value.get(address)?.values() ?? [])] };
  }

  readonly follow = (hints: ChainHints): Following => {
    const forget = (): void => {
      // A reading that has not begun yet will include it.
      if (this.known?.beganMs !== undefined) this.known = undefined;
    };
    const nameNow = (): string | undefined => {
      if (this.name === undefined) void this.named();
      return this.name;
    };
    return new LndFollower(this.lnd, nameNow, this.clock, {
      ...hints,
      onAddresses(addresses) {
        forget();
        hints.onAddresses(addresses);
      },
      onBlock() {
        forget();
        hints.onBlock();
      },
    });
  };

  close(): void {
    // The Lightning rail shares the connections and closes them.
  }

  private isOurs({ extendedPublicKey }: WalletAccount): boolean {
    const read = readAccount(extendedPublicKey, this.account.network);
    return 'account' in read && read.account.digest.equals(this.account.digest);
  }

  /** The account's name, found by its key if the operator set none. */
  private async named(): Promise<ChainAnswer<string>> {
    if (this.name !== undefined) return { kind: 'answer', value: this.name };
    const all = await this.lnd.accounts();
    if (all.kind === 'failed') return all;
    const names = [...new Set(all.value.filter((each) => this.isOurs(each)).map(({ name }) => name))];
    const [name, ...more] = names;
    if (name === undefined) return { kind: 'failed', reason: 'LND has no account with the key of BTC_XPUB' };
    if (more.length > 0) {
      const reason = `LND has several accounts with the key of BTC_XPUB (${names.join(', ')})`;
      return { kind: 'failed', reason: `${reason}: name one, as in lnd:${name}` };
    }
    this.name = name;
    return { kind: 'answer', value: name };
  }

  /** Queues a reading after the one before. */
  private ask(): Asked {
    const begin = (): Promise<ChainAnswer<ByAddress>> => {
      asked.beganMs = this.clock.monotonicMs();
      return this.read();
    };
    const asked: Asked = { beganMs: undefined, answer: this.last.then(begin, begin) };
    this.last = asked.answer;
    return asked;
  }

  /** Reads all payments to the account. */
  private async read(): Promise<ChainAnswer<ByAddress>> {
    const name = await this.named();
    if (name.kind === 'failed') return name;
    const info = await this.lnd.info();
    if (info.kind === 'failed') return info;
    const recent = await this.lnd.transactions(name.value, this.settled.to + 1);
    if (recent.kind === 'failed') return recent;
    const tip = info.value.blockHeight;
    const found = new Map<string, Outputs<FoundOutput>>();
    for (const transaction of recent.value) this.sort(transaction, tip, found);
    this.settled.to = Math.max(this.settled.to, tip - settledDepth);
    for (const [address, outputs] of this.settled.byAddress) {
      for (const output of outputs.values()) {
        put(found, address, { ...output, confirmations: tip - output.height + 1 });
      }
    }
    return { kind: 'answer', value: found };
  }

  private sort(transaction: WalletTransaction, tip: number, found: Map<string, Outputs<FoundOutput>>): void {
    const { txid, height, confirmations, atMs } = transaction;
    for (const { address, vout, sat } of transaction.outputs) {
      const output = { txid, vout, sat, atMs: height === 0 ? null : atMs };
      if (height > 0 && height <= tip - settledDepth) {
        put(this.settled.byAddress, address, { ...output, height });
      } else {
        put(found, address, { ...output, confirmations, height: height === 0 ? null : height });
      }
    }
  }
}
