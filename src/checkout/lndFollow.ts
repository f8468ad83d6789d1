/**
 * Notices of LND: transactions of an account, as they arrive and as they are confirmed. Blocks are
 * asked for. Only hints are made of both.
 */
import type { Clock, Timer } from '../system/clock.js';
import type { ChainHints, Following } from './chain.js';
import { walletTransaction, type Lnd, type Stream } from './lnd.js';

/** Between two questions for the tip, and two tries to connect (ms). */
const askMs = 1_000;

/** Time after which a transaction that was reported is reported once more (ms). */
const onceMoreMs = 500;

/** Follows an account until it is stopped, through any number of connections. */
export class LndFollower implements Following {
  private stream: Stream | undefined;
  private readonly pulse: Timer;
  private asking = false;
  private connected = false;
  private stopped = false;
  private tip: string | undefined;

  constructor(
    private readonly lnd: Lnd,
    /** The account's name, once it is known. */
    private readonly account: () => string | undefined,
    private readonly clock: Pick<Clock, 'after' | 'every'>,
    private readonly hints: ChainHints,
  ) {
    this.pulse = clock.every(askMs, () => void this.beat());
    this.connect();
  }

  /** LND tells of every address of the account that it has handed out. */
  watch(): void {
    // There is no filter to widen.
  }

  stop(): void {
    this.stopped = true;
    this.pulse.stop();
    this.stream?.stop();
  }

  private connect(): void {
    const account = this.account();
    if (account === undefined) return;
    const stream = this.lnd.streamTransactions(account, {
      onTransaction: (json) => {
        this.tell(walletTransaction(json).outputs.map(({ address }) => address));
      },
      onEnd: () => {
        if (this.stream !== stream || this.stopped) return;
        this.stream = undefined;
        if (this.connected) this.hints.onLost();
        this.connected = false;
      },
    });
    this.stream = stream;
  }

  /** Now, and once more: LND may tell of a transaction just before its list has it. */
  private tell(addresses: readonly string[]): void {
    if (this.stopped) return;
    this.hints.onAddresses(addresses);
    this.clock.after(onceMoreMs, () => {
      if (!this.stopped) this.hints.onAddresses(addresses);
    });
  }

  /** Connects again, and looks whether a block has come or gone. */
  private async beat(): Promise<void> {
    if (this.stream === undefined) this.connect();
    if (this.asking) return;
    this.asking = true;
    const { stream } = this;
    const info = await this.lnd.info();
    this.asking = false;
    if (this.stopped) return;
    if (info.kind === 'failed') {
      // A node that hangs keeps its connections open.
      this.stream?.stop();
      return;
    }
    // LND answers the stream's request with its first transaction only: that it stands is taken from LND's
    // answer to what was asked after it.
    if (!this.connected && stream !== undefined && stream === this.stream) {
      this.connected = true;
      this.hints.onConnected();
    }
    const before = this.tip;
    this.tip = info.value.blockHash;
    if (before !== undefined && before !== this.tip) this.hints.onBlock();
  }
}
