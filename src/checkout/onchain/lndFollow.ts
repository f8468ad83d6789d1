/**
 * Notifications of LND: transactions of an account, as they arrive and as they are confirmed. Blocks are
 * polled. Both are only hints.
 */
import type { Clock, Timer } from '../../system/clock.js';
import { oneAtATime } from '../../system/shared.js';
import type { ChainHints, Following } from './chain.js';
import { walletTransaction, type Lnd, type Stream } from '../lnd.js';

/** Interval of polling the tip, and of attempts to connect (ms). */
const askMs = 1_000;

/** Delay after which a reported transaction is reported a second time (ms). */
const onceMoreMs = 500;

/** Follows an account until it is stopped, and reconnects as often as needed. */
export class LndFollower implements Following {
  private stream: Stream | undefined;
  private readonly pulse: Timer;
  private readonly looks = oneAtATime(() => this.look());
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
    this.pulse = clock.every(askMs, () => {
      if (this.stream === undefined) this.connect();
      void this.looks.run();
    });
    this.connect();
  }

  /** Empty: LND reports payments to every address that it has handed out, without a filter. */
  watch(): void {}

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

  /** Reports at once and a second time: LND may notify of a transaction just before its list has it. */
  private tell(addresses: readonly string[]): void {
    if (this.stopped) return;
    this.hints.onAddresses(addresses);
    this.clock.after(onceMoreMs, () => {
      if (!this.stopped) this.hints.onAddresses(addresses);
    });
  }

  /** Checks whether the node answers, and whether its tip has changed. */
  private async look(): Promise<void> {
    const { stream } = this;
    const info = await this.lnd.info();
    if (this.stopped) return;
    if (info.kind === 'failed') {
      // A hanging node keeps its connections open.
      this.stream?.stop();
      return;
    }
    // LND does not confirm that a stream is open before its first transaction. An answer to a later request
    // shows that it is.
    if (!this.connected && stream !== undefined && stream === this.stream) {
      this.connected = true;
      this.hints.onConnected();
    }
    const before = this.tip;
    this.tip = info.value.blockHash;
    if (before !== undefined && before !== this.tip) this.hints.onBlock();
  }
}
