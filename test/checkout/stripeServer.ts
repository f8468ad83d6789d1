/**
 * A thin Stripe for the tests: of its API (Stripe API reference, Checkout Sessions) what the checkout asks,
 * with its errors and its idempotency keys. Events are delivered by the tests themselves.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { systemRandomness } from '../../src/system/randomness.js';

/** A session that was made, and the form that made it. */
export interface MadeSession {
  readonly id: string;
  readonly idempotencyKey: string;
  readonly form: Readonly<Record<string, string>>;
}

interface Told {
  readonly status: number;
  readonly json: unknown;
}

/** An account at the processor. */
export class StripeServer {
  readonly secretKey = `sk_test_${systemRandomness(12).toString('hex')}`;
  /** Whether its key is taken. */
  up = true;
  /** Requests that it fails to answer before it answers again. */
  failures = 0;
  /** Whether a session has an address to pay at: one of another `ui_mode` has none. */
  hosted = true;
  /** The id of the next session; undefined: a new one. */
  nextId: string | undefined;
  /** Ways to pay of the account's default configuration, and whether they are switched on. */
  readonly methods = new Map([
    ['card', true],
    ['paypal', false],
  ]);
  /** Whether the account has a default configuration. */
  hasDefault = true;
  /** True if the key may read configurations; a restricted one may not. */
  configurations = true;
  readonly sessions: MadeSession[] = [];
  /** What sessions made elsewhere sold: ids of prices, each with a quantity. */
  readonly sold = new Map<string, readonly (readonly [string | null, number | null])[]>();
  /** Events that it keeps, in the order in which they happened. */
  readonly events: { readonly id: string; readonly created: number; readonly type: string }[] = [];
  /** Events in one answer. */
  pageEvents = 100;
  readonly asked: string[] = [];
  /** Header fields of what it was asked. */
  readonly fields: IncomingHttpHeaders[] = [];
  private readonly server: Server;
  private readonly byIdempotencyKey = new Map<string, unknown>();

  private constructor() {
    this.server = createServer((request, response) => {
      void this.answer(request).then(({ status, json }) => {
        response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_1' });
        response.end(JSON.stringify(json));
      });
    });
  }

  /** Starts it; it ends with the tests. */
  static async start(): Promise<StripeServer> {
    const stripe = new StripeServer();
    await new Promise<void>((listening) => stripe.server.listen(0, '127.0.0.1', listening));
    after(() => {
      stripe.server.closeAllConnections();
      stripe.server.close();
    });
    return stripe;
  }

  get apiBase(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  private async answer(request: IncomingMessage): Promise<Told> {
    const { method = '', url = '', headers } = request;
    let body = '';
    for await (const chunk of request) body += String(chunk);
    this.asked.push(`${method} ${url}`);
    this.fields.push(headers);
    if (!this.up || headers.authorization !== `Bearer ${this.secretKey}`) {
      return { status: 401, json: { error: { type: 'invalid_request_error', message: 'Invalid API Key' } } };
    }
    if (this.failures > 0) {
      this.failures -= 1;
      return { status: 500, json: { error: { type: 'api_error', message: 'Something went wrong.' } } };
    }
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    if (pathname === '/v1/events') return this.listEvents(searchParams);
    const [, session] = /^\/v1\/checkout\/sessions\/(\w+)\/line_items$/.exec(pathname) ?? [];
    if (session !== undefined) return this.lineItems(session);
    if (pathname === '/v1/payment_method_configurations') return this.configured(pathname);
    if (pathname !== '/v1/checkout/sessions') return missing(pathname);
    return method === 'POST' ? this.create(body, String(headers['idempotency-key'])) : list([], pathname);
  }

  private create(body: string, idempotencyKey: string): Told {
    const before = this.byIdempotencyKey.get(idempotencyKey);
    if (before !== undefined) return { status: 200, json: before };
    const id = this.nextId ?? `cs_test_${systemRandomness(12).toString('hex')}`;
    this.nextId = undefined;
    this.sessions.push({ id, idempotencyKey, form: Object.fromEntries(new URLSearchParams(body)) });
    const address = this.hosted ? `https://checkout.stripe.com/c/pay/${id}` : null;
    const json = { id, object: 'checkout.session', url: address };
    this.byIdempotencyKey.set(idempotencyKey, json);
    return { status: 200, json };
  }

  /** The newest come first, a page at a time. */
  private listEvents(query: URLSearchParams): Told {
    const types = [...query].filter(([name]) => name.startsWith('types[')).map(([, type]) => type);
    const from = Number(query.get('created[gte]'));
    const all = this.events.filter(({ created, type }) => created >= from && types.includes(type)).reverse();
    const start = 1 + all.findIndex(({ id }) => id === query.get('starting_after'));
    const page = all.slice(start, start + this.pageEvents);
    const more = { has_more: start + page.length < all.length };
    return { status: 200, json: { object: 'list', data: page, url: '/v1/events', ...more } };
  }

  private configured(pathname: string): Told {
    if (!this.configurations) {
      const message = 'The provided key does not have the required permissions for this endpoint.';
      return { status: 403, json: { error: { type: 'invalid_request_error', message } } };
    }
    const of = (isOn: boolean): object => ({
      available: isOn,
      display_preference: { overridable: null, preference: 'none', value: isOn ? 'on' : 'off' },
    });
    const object = 'payment_method_configuration';
    const any = { object, active: true, application: null, livemode: false, parent: null };
    const methods = [...this.methods].map(([name, isOn]) => [name, of(isOn)] as const);
    return list(
      [
        { ...any, id: 'pmc_2', name: 'Another', is_default: false, sepa_debit: of(true) },
        { ...any, id: 'pmc_3', name: 'Old', is_default: true, active: false, eps: of(true) },
        { ...any, id: 'pmc_4', name: 'Platform', is_default: true, parent: 'pmc_9', ideal: of(true) },
        {
          ...{
            ...any,
            id: 'pmc_1',
            name: 'Default',
            is_default: this.hasDefault,
            ...Object.fromEntries(methods),
          },
          klarna: { ...of(false), available: true },
          link: { ...of(true), available: false },
        },
      ],
      pathname,
    );
  }

  private lineItems(session: string): Told {
    const sold = this.sold.get(session);
    if (sold === undefined) return missing(session);
    const items = sold.map(([id, quantity]) => ({
      object: 'item',
      price: id === null ? null : { id, object: 'price' },
      quantity,
    }));
    return list(items, `/v1/checkout/sessions/${session}/line_items`);
  }
}

function list(data: readonly object[], url: string): Told {
  return { status: 200, json: { object: 'list', data, has_more: false, url } };
}

function missing(name: string): Told {
  const error = { type: 'invalid_request_error', code: 'resource_missing', message: `No such: ${name}` };
  return { status: 404, json: { error } };
}
