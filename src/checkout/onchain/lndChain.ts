/**
 * Payments to a watch-only account of an LND's wallet (LND, REST API). The operator imports the account once,
 * from the same extended public key. LND watches only addresses that it has handed out, so each is requested
 * from it before a buyer sees it.
 */
import type { Output } from '../../store/tables/orderRow.js';
import type { Clock } from '../../system/clock.js';
import type { Account } from './account.js';
import { readAccount } from './addresses.js';
import type { Chain, ChainHints, Following } from './chain.js';
import { LndFollower } from './lndFollow.js';
import type { Lnd, WalletAccount, WalletTransaction } from '../lnd.js';
import { answered, failed, type Failed, type NodeAnswer } from '../nodeAnswer.js';
import { outpointOf, type FoundOutput } from '../../store/tables/bitcoinOrder.js';

/** From this depth on a transaction counts as final. */
const settledDepth = 144;

/** Most receiving addresses requested before one order: a larger gap means that the account is not ours. */
const mostAsked = 10_000;

interface Settled extends Omit<Output, 'confirmations'> {
  readonly height: number;
}

/** Outputs by txid and index: an output that is reported twice is there once. */
type Outputs<Each> = Map<string, Each>;

/** The account at the time of a reading: outputs that may still change, beside those that are settled. */
interface View {
  readonly tip: number;
  readonly recent: ReadonlyMap<string, Outputs<FoundOutput>>;
}

/** A reading of the account. */
interface Reading {
  hasBegun: boolean;
  readonly answer: Promise<View | Failed>;
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
  /** The last reading. They run one after the other: each continues from {@link settled}. */
  private last: Reading | undefined;
  /** Number of addresses LND has handed out, as last read; undefined: not read yet. */
  private handedOut: number | undefined;

  /** The account's name at LND, once it is known. */
  private name: string | undefined;

  /** `name`: the account's name at LND; null: found by the account's key. */
  constructor(
    private readonly lnd: Lnd,
    name: string | null,
    private readonly account: Account,
    private readonly clock: Pick<Clock, 'after' | 'every'>,
  ) {
    this.name = name ?? undefined;
  }

  async network(): Promise<NodeAnswer<string>> {
    const info = await this.lnd.info();
    if (info.kind === 'failed') return info;
    if (!info.value.syncedToChain) return failed('LND is not synced to the chain');
    const name = await this.named();
    if (typeof name !== 'string') return name;
    const asked = await this.lnd.account(name);
    if (asked.kind === 'failed') return asked;
    return this.isOurs(asked.value)
      ? answered(info.value.network)
      : failed(`LND's account ${name} has another key than BTC_XPUB`);
  }

  /**
   * Has LND hand out its addresses up to this index. Other processes may do so at the same time, and a wallet
   * may be replaced by an older one: what LND hands out is counted by LND.
   */
  async prepare(index: number): Promise<NodeAnswer<undefined>> {
    const name = await this.named();
    if (typeof name !== 'string') return name;
    let found = this.handedOut ?? (await this.countHandedOut(name));
    while (typeof found === 'number' && found <= index) {
      const missing = index - found + 1;
      if (missing > mostAsked) return failed(`LND's account ${name} is ${index - found} behind`);
      for (let each = 0; each < missing; each += 1) {
        const made = await this.lnd.nextAddress(name);
        if (made.kind === 'failed') return made;
      }
      found = await this.countHandedOut(name);
    }
    return typeof found === 'number' ? answered(undefined) : found;
  }

  private async countHandedOut(name: string): Promise<number | Failed> {
    const found = await this.lnd.account(name);
    if (found.kind === 'failed') return found;
    this.handedOut = found.value.handedOut;
    return this.handedOut;
  }

  async tip(): Promise<NodeAnswer<number>> {
    const info = await this.lnd.info();
    return info.kind === 'failed' ? info : answered(info.value.blockHeight);
  }

  /** Reads the account after the call began; LND knows nothing from before the import. */
  async used(addresses: readonly string[]): Promise<NodeAnswer<ReadonlySet<string>>> {
    const answer = await this.reading();
    if ('kind' in answer) return answer;
    const has = (address: string): boolean =>
      answer.recent.has(address) || this.settled.byAddress.has(address);
    return answered(new Set(addresses.filter(has)));
  }

  async firstUnshown(): Promise<NodeAnswer<number>> {
    const name = await this.named();
    if (typeof name !== 'string') return name;
    const found = await this.countHandedOut(name);
    return typeof found === 'number' ? answered(found) : found;
  }

  async lookup(address: string): Promise<NodeAnswer<readonly FoundOutput[]>> {
    const answer = await this.reading();
    if ('kind' in answer) return answer;
    const { recent, tip } = answer;
    // Only those of this address: the account may have thousands, and any poll causes a reading.
    const outputs = new Map(recent.get(address));
    for (const [outpoint, output] of this.settled.byAddress.get(address) ?? []) {
      outputs.set(outpoint, { ...output, confirmations: tip - output.height + 1 });
    }
    return answered([...outputs.values()]);
  }

  /**
   * A reading that begins after the call; calls that wait share one. A reading that began before an order was
   * read from the store may be older than the order.
   */
  private reading(): Promise<View | Failed> {
    if (this.last === undefined || this.last.hasBegun) this.last = this.readAfter(this.last?.answer);
    return this.last.answer;
  }

  readonly follow = (hints: ChainHints): Following => {
    const nameNow = (): string | undefined => {
      void this.named();
      return this.name;
    };
    return new LndFollower(this.lnd, nameNow, this.clock, hints);
  };

  close(): void {
    // The Lightning rail shares the connections and closes them.
  }

  private isOurs({ extendedPublicKey }: WalletAccount): boolean {
    const read = readAccount(extendedPublicKey, this.account.network);
    return 'account' in read && read.account.digest.equals(this.account.digest);
  }

  /** The account's name, found by its key if the operator set none. */
  private async named(): Promise<string | Failed> {
    if (this.name !== undefined) return this.name;
    const all = await this.lnd.accounts();
    if (all.kind === 'failed') return all;
    const names = [...new Set(all.value.filter((each) => this.isOurs(each)).map(({ name }) => name))];
    const [name, ...more] = names;
    if (name === undefined) return failed('LND has no account with the key of BTC_XPUB');
    if (more.length > 0) {
      const reason = `LND has several accounts with the key of BTC_XPUB (${names.join(', ')})`;
      return failed(`${reason}: name one, as in lnd:${name}`);
    }
    this.name = name;
    return name;
  }

  /** Queues a reading after the one before. */
  private readAfter(before: Promise<unknown> = Promise.resolve()): Reading {
    const begin = (): Promise<View | Failed> => {
      reading.hasBegun = true;
      return this.read();
    };
    const reading: Reading = { hasBegun: false, answer: before.then(begin, begin) };
    return reading;
  }

  /** Reads the payments to the account that are not settled yet. */
  private async read(): Promise<View | Failed> {
    const name = await this.named();
    if (typeof name !== 'string') return name;
    const info = await this.lnd.info();
    if (info.kind === 'failed') return info;
    const recent = await this.lnd.transactions(name, this.settled.to + 1);
    if (recent.kind === 'failed') return recent;
    const tip = info.value.blockHeight;
    const found = new Map<string, Outputs<FoundOutput>>();
    // An LND that is catching up knows the height of the chain before it knows the payments in its blocks.
    if (info.value.syncedToChain) this.settled.to = Math.max(this.settled.to, tip - settledDepth);
    for (const transaction of recent.value) this.sort(transaction, found);
    return { tip, recent: found };
  }

  private sort(transaction: WalletTransaction, found: Map<string, Outputs<FoundOutput>>): void {
    const { txid, height, confirmations, atMs } = transaction;
    for (const { address, vout, sat } of transaction.outputs) {
      const output = { txid, vout, sat, atMs: height === 0 ? null : atMs };
      if (height > 0 && height <= this.settled.to) {
        put(this.settled.byAddress, address, { ...output, height });
      } else {
        put(found, address, { ...output, confirmations, height: height === 0 ? null : height });
      }
    }
  }
}
