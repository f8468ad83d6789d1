/** The compiled server with real payment nodes, without request limits that would disturb the tests. */
import assert from 'node:assert/strict';
import { AsyncResource } from 'node:async_hooks';
import { fileURLToPath } from 'node:url';
import { exchange, head, post, type RawResponse } from '../../support/raw.js';
import { run, type Running } from '../../support/run.js';

/** The compiled program. */
export const main = fileURLToPath(new URL('../../../src/main.js', import.meta.url));

/** The field of a JSON body. */
export const json = { 'Content-Type': 'application/json' };

type Environment = Readonly<Record<string, string>>;

/** Settings without limits of requests, at a fixed price of bitcoin and on a free port. */
const unlimited: Environment = {
  PORT: '0',
  CHECKOUT_REQUESTS_PER_MINUTE: '0',
  UNPAID_ORDERS_PER_ADDRESS: '0',
  POLLS_PER_MINUTE: '0',
  PAGES_PER_MINUTE: '0',
  CARD_EVENTS_PER_MINUTE: '0',
  RATE_SOURCE: 'fixed:60000',
};

/** The body of an answer with this status; fails at another status. */
export function bodyOf(response: RawResponse, status = 200): unknown {
  assert.equal(response.status, status, response.body.toString());
  return JSON.parse(response.body.toString());
}

/** One server at a time, started again with other settings where a test needs them. */
export class Gateway {
  /** Every server that was started, the running one last. */
  readonly servers: Running[] = [];
  private listening = 0;
  /** Bound to the file that makes it, so that a server ends with the file and not with one test. */
  private readonly launch = AsyncResource.bind((more: Environment) =>
    run(main, ['serve'], this.environment(more)),
  );

  /** `settings`: read at every start, as nodes tell their addresses after theirs. */
  constructor(private readonly settings: () => Environment) {}

  environment(more: Environment = {}): Record<string, string> {
    return { ...unlimited, ...this.settings(), ...more };
  }

  get server(): Running {
    const last = this.servers.at(-1);
    assert.ok(last !== undefined, 'no server was started');
    return last;
  }

  get port(): number {
    return this.listening;
  }

  async start(more: Environment = {}): Promise<void> {
    this.servers.push(this.launch(more));
    const [, port] = await this.server.prints(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
    this.listening = Number(port);
  }

  async stop(): Promise<void> {
    this.server.child.kill('SIGTERM');
    await this.server.ended();
  }

  async restart(more: Environment = {}): Promise<void> {
    await this.stop();
    await this.start(more);
  }

  get(path: string, fields: Environment = {}): Promise<RawResponse> {
    return exchange(this.port, head('GET', path, fields));
  }

  post(path: string, body: string, fields: Environment = {}): Promise<RawResponse> {
    return exchange(this.port, post(path, body, { ...json, ...fields }));
  }

  /** Status of a fuse request with a key. */
  async statusWith(key: string | null): Promise<number> {
    const body = JSON.stringify({ query: 'a', docs: [{ id: '1', text: 'a', dense_score: 1 }] });
    return (await this.post('/v1/fuse', body, { 'X-API-Key': key ?? '' })).status;
  }
}
