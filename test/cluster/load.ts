/** Clients of a cluster: what they ask, and what they record of the answers. */
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { LndServer } from '../support/lndServer.js';
import type { History } from './history.js';
import { httpPort } from './nodes.js';
import type { Machine } from './network.js';

/** An answer of a node. */
interface Answer {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  readonly body: string;
}

/** How long a client waits for an answer (ms). */
const patienceMs = 10_000;

/** How long the key of a paid order may stay away once nodes answer (ms). */
const keyMs = 180_000;

/** Pause of a client that was refused or had no answer (ms). */
const pauseMs = 100;

const docs = [{ id: '1', text: 'a b', dense_score: 0.5 }];

/** Parts of {@link Load}. */
export interface LoadParts {
  readonly nodes: readonly Machine[];
  /** The balancer that leads to all of them. */
  readonly balancer: Machine;
  readonly history: History;
  readonly lightning: LndServer;
  /** Begins every name, so that rounds on one cluster do not meet. */
  readonly prefix: string;
}

/** Clients that go on until they are told to stop. */
export class Load {
  private isOver = false;
  private turn = 0;
  private readonly agents = new Map<Machine, Agent>();
  private readonly clients: readonly Promise<void>[];

  constructor(private readonly parts: LoadParts) {
    const writers = [0, 1, 2, 3].map((number) => this.writeLeads(`${parts.prefix}-${number}`));
    const senders = [0, 1].map((number) => this.sendFragments(`${parts.prefix}-f${number}`));
    this.clients = [...writers, ...senders, this.buy(), ...parts.nodes.map((node) => this.fuse(node))];
  }

  /** Ends the clients; what they have begun with a key or an order they bring to its end. */
  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.clients);
    for (const agent of this.agents.values()) agent.destroy();
  }

  /** The next machine in turn: the nodes and the balancer. */
  private next(): Machine {
    const all = [...this.parts.nodes, this.parts.balancer];
    this.turn += 1;
    return all[this.turn % all.length] ?? this.parts.balancer;
  }

  private async writeLeads(name: string): Promise<void> {
    const { history } = this.parts;
    for (let count = 0; !this.isOver; count += 1) {
      const email = `${name}-${count}@example.com`;
      history.leads.set(email, undefined);
      const answer = await this.served('POST', '/v1/leads', { email });
      if (answer === undefined) continue;
      history.leads.set(email, (JSON.parse(answer.body) as { id: string }).id);
      history.acknowledgedMs.push(performance.now());
    }
  }

  /** Sends fragments, each with a key until it is acknowledged, by any node; then asks for it elsewhere. */
  private async sendFragments(name: string): Promise<void> {
    const { history } = this.parts;
    for (let count = 0; !this.isOver; count += 1) {
      const key = `${name}-${count}`;
      const body = { title: key, content: `What ${key} says.`, idempotency_key: key };
      let answer: Answer | undefined;
      while (answer === undefined) answer = await this.served('POST', '/dream', body);
      const { receipt } = JSON.parse(answer.body) as { receipt: string };
      history.noteReceipt(key, receipt);
      // Another client may have had the first answer, and this one a lost one: both get the same.
      const again = await this.served('POST', '/dream', body);
      if (again !== undefined)
        history.noteReceipt(key, (JSON.parse(again.body) as { receipt: string }).receipt);
      const found = await this.ask(this.next(), 'GET', `/receipt/${receipt}`);
      if (found?.status === 404) history.staleReads += 1;
      await pause(pauseMs);
    }
  }

  /** Orders keys, pays, and polls by all nodes at once until the key was seen. */
  private async buy(): Promise<void> {
    const { history, lightning, nodes } = this.parts;
    while (!this.isOver) {
      const path = '/v1/checkout/lightning';
      const made = await this.served('POST', path, { tier: 'developer' }, { prefer: 'claim' });
      if (made === undefined) continue;
      const order = JSON.parse(made.body) as Record<'payment_hash' | 'claim_token' | 'order_id', string>;
      history.orders.set(order.payment_hash, order.order_id);
      history.revealed.set(order.payment_hash, []);
      lightning.settle(order.payment_hash);
      let isSeen = false;
      const paidMs = performance.now();
      while (!isSeen) {
        if (performance.now() - paidMs > keyMs) {
          history.wrong.push(`order ${order.order_id} is paid, and shows no key`);
          break;
        }
        const fields = { 'x-claim-token': order.claim_token };
        const polls = nodes.map((node) =>
          this.ask(node, 'GET', `${path}/${order.payment_hash}`, undefined, fields),
        );
        for (const answer of await Promise.all(polls)) {
          if (answer?.status !== 200) continue;
          const { api_key: key, key_status: status } = JSON.parse(answer.body) as Poll;
          if (key !== null) history.revealed.get(order.payment_hash)?.push(key);
          if (status === 'revealed_now' || status === 'already_revealed') isSeen = true;
        }
        await pause(pauseMs);
      }
    }
  }

  /** Asks a node for what needs no store: it must serve it whenever it answers. */
  private async fuse(node: Machine): Promise<void> {
    const { history } = this.parts;
    while (!this.isOver) {
      const answer = await this.ask(node, 'POST', '/v1/fuse', { query: 'a', docs });
      if (answer?.status === 200) history.fused += 1;
      else if (answer !== undefined)
        history.wrong.push(`fuse: ${answer.status} from ${node.name}: ${answer.body}`);
      await pause(pauseMs);
    }
  }

  /** Asks any node; undefined: it refused for now, or gave no answer. Pauses then. */
  private async served(
    method: string,
    path: string,
    body: unknown,
    fields: Readonly<Record<string, string>> = {},
  ): Promise<Answer | undefined> {
    const machine = this.next();
    const answer = await this.ask(machine, method, path, body, fields);
    if (answer?.status === 200) return answer;
    await pause(pauseMs);
    return undefined;
  }

  /** Asks a machine, and judges what it answers. */
  private async ask(
    machine: Machine,
    method: string,
    path: string,
    body?: unknown,
    fields: Readonly<Record<string, string>> = {},
  ): Promise<Answer | undefined> {
    const { history } = this.parts;
    const answer = await this.send(machine, method, path, body, fields);
    // Without this field it is an answer of the balancer, which has no node, or lost one.
    const isOfNode = answer?.header('x-request-id') !== undefined;
    if (answer === undefined || !isOfNode) {
      history.unanswered += 1;
      return undefined;
    }
    if (answer.status === 503 && answer.header('retry-after') !== undefined) history.refused += 1;
    else if (answer.status >= 400 && answer.status !== 404)
      history.wrong.push(`${method} ${path}: ${answer.status} from ${machine.name}: ${answer.body}`);
    return answer;
  }

  private send(
    machine: Machine,
    method: string,
    path: string,
    body: unknown,
    fields: Readonly<Record<string, string>>,
  ): Promise<Answer | undefined> {
    const agent = this.agents.get(machine) ?? new Agent({ keepAlive: true });
    this.agents.set(machine, agent);
    const json = body === undefined ? {} : { 'content-type': 'application/json' };
    const options = { agent, method, path, host: machine.address, port: httpPort, timeout: patienceMs };
    return new Promise((resolve) => {
      const sent = request({ ...options, headers: { ...json, ...fields } }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('error', () => resolve(undefined));
        response.on('close', () => resolve(undefined));
        response.on('end', () => {
          const header = (name: string): string | undefined => [response.headers[name]].flat()[0];
          if (response.complete) resolve({ status: response.statusCode ?? 0, header, body: text });
        });
      });
      sent.on('timeout', () => sent.destroy());
      sent.on('error', () => resolve(undefined));
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}

/** What is read of a poll's answer. */
interface Poll {
  readonly api_key: string | null;
  readonly key_status: string;
}
