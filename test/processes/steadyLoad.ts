/** A steady stream of requests, on kept and on new connections, each of which must be answered. */
import { exchange, RawClient } from '../support/raw.js';
import { until } from '../support/until.js';

/** Connections of each kind. */
const each = 4;

/** Requests that may fail before no more are sent: then the test has failed, and its server may be gone. */
const mostFailures = 100;

/** The requests, until they are stopped. */
export class SteadyLoad {
  private readonly failures: string[] = [];
  private readonly loops: Promise<void>[];
  private stopped = false;
  private kept = 0;
  private opened = 0;

  constructor(
    private readonly port: number,
    private readonly request: string | Uint8Array,
  ) {
    this.loops = Array.from({ length: each }, () => [this.keep(), this.open()]).flat();
  }

  private get goes(): boolean {
    return !this.stopped && this.failures.length < mostFailures;
  }

  /** Resolves once a hundred requests more of each kind were answered. */
  async goesOn(): Promise<void> {
    const [kept, opened] = [this.kept + 100, this.opened + 100];
    await until(() => (this.kept >= kept && this.opened >= opened) || this.failures.length > 0);
  }

  /** Ends it; every request that was not answered with 200. */
  async stop(): Promise<readonly string[]> {
    this.stopped = true;
    await Promise.all(this.loops);
    return this.failures;
  }

  /** A connection is kept until an answer says that it closes, as clients of HTTP/1.1 do. */
  private async keep(): Promise<void> {
    let client: RawClient | undefined;
    while (this.goes) {
      try {
        client ??= await RawClient.open(this.port);
        const { status, headers } = await client.send(this.request).response();
        if (status !== 200) this.failures.push(`kept: ${status}`);
        this.kept += 1;
        if (headers.get('connection') !== 'close') continue;
      } catch (error) {
        this.failures.push(`kept: ${String(error)}`);
      }
      client?.destroy();
      client = undefined;
    }
    client?.destroy();
  }

  private async open(): Promise<void> {
    while (this.goes) {
      try {
        const { status } = await exchange(this.port, this.request);
        if (status !== 200) this.failures.push(`opened: ${status}`);
        this.opened += 1;
      } catch (error) {
        this.failures.push(`opened: ${String(error)}`);
      }
    }
  }
}
