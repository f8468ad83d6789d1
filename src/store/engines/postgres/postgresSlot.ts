/** A slot for one connection to PostgreSQL: opened at first use, and again after it was lost. */
import type { Session } from './postgresSession.js';

/** A slot for a connection. */
export class Slot {
  private opening: Promise<Session> | undefined;
  private giveUp: (error: Error) => void = () => undefined;

  constructor(private readonly open: () => Promise<Session>) {}

  /** The connection. Rejects if it cannot be opened, or at {@link drop}. */
  async take(): Promise<Session> {
    const opening = (this.opening ??= this.begin());
    const session = await opening;
    if (!session.lost()) return session;
    if (this.opening === opening) this.opening = undefined;
    return this.take();
  }

  /** Cuts the connection, even one that is being opened: pending calls reject. */
  drop(): void {
    const { opening } = this;
    this.opening = undefined;
    this.giveUp(new Error('no answer in time'));
    opening?.then(
      (session) => session.drop(),
      () => undefined,
    );
  }

  /** Closes the connection properly. No call may be under way. */
  async end(): Promise<void> {
    const session = await this.opening?.catch(() => undefined);
    await session?.end();
  }

  private begin(): Promise<Session> {
    const opened = this.open();
    const opening = new Promise<Session>((resolve, reject) => {
      this.giveUp = reject;
      opened.then(resolve, reject);
    });
    opened.then(
      (session) => {
        // It was dropped while it was being opened.
        if (this.opening !== opening) session.drop();
      },
      () => {
        if (this.opening === opening) this.opening = undefined;
      },
    );
    opening.catch(() => undefined);
    return opening;
  }
}
