/** Stripe by its own SDK: checkout sessions, prices of what was bought, and the signatures of webhooks. */
import Stripe from 'stripe';
import { reasonOf } from '../../system/reason.js';
import { activeSpan, recorded } from '../../telemetry/tracer.js';
import { answered, failed, type NodeAnswer } from '../nodeAnswer.js';
import type { Readiness } from '../rail.js';

/** Stripe's address and credentials. */
export interface StripePlace {
  /** A secret. */
  readonly secretKey: string;
  /** Origin of the API; null: Stripe's own. */
  readonly apiBase: string | null;
}

/** A session to be made. */
export interface SessionWish {
  readonly orderId: string;
  /** The server that makes it: others may use the same account. */
  readonly server: string;
  readonly tier: string;
  readonly cents: number;
  readonly expiresAtMs: number;
  /** The origin to which the buyer returns, `https://host`. */
  readonly publicUrl: string;
}

/** A session that was made. */
export interface MadeSession {
  readonly id: string;
  /** URL of the payment page. */
  readonly url: string;
}

/** Time limit of Stripe's answers (ms). */
const askMs = 8_000;

/** Greatest age of a webhook's signature (s). */
const toleranceS = 300;

/** Facts of a call's span. Stripe itself learns nothing of the trace. */
const stripeFacts = { 'server.address': 'api.stripe.com' };
const noMoreFacts = { attributes: {}, hasFailed: false };

/** An origin as the SDK needs it: always with a port (the SDK's default is 443), IPv6 without brackets. */
export function addressOf(origin: URL) {
  const { hostname, protocol, port } = origin;
  const [name, usualPort] = protocol === 'https:' ? (['https', 443] as const) : (['http', 80] as const);
  return {
    protocol: name,
    host: hostname.replace(/[[\]]/g, ''),
    port: port === '' ? usualPort : Number(port),
  };
}

/** A client of one account. */
export class StripeClient {
  /** True for live payments; an event must match. */
  readonly live: boolean;
  private readonly sdk: Stripe;

  constructor({ secretKey, apiBase }: StripePlace) {
    this.live = /^[sr]k_live_/.test(secretKey);
    this.sdk = new Stripe(secretKey, {
      timeout: askMs,
      maxNetworkRetries: 1,
      telemetry: false,
      ...(apiBase === null ? {} : addressOf(new URL(apiBase))),
    });
  }

  /** Readiness: asks Stripe whether it accepts the key. */
  async check(): Promise<Readiness> {
    const answer = await this.ask(() => this.sdk.checkout.sessions.list({ limit: 1 }));
    return answer.kind === 'answer'
      ? { ready: true }
      : { ready: false, reason: 'The card processor does not accept the server’s key, or does not answer.' };
  }

  /**
   * Payment methods that the account has switched on and may use: those that its default configuration offers
   * to a session that names no methods, as ours do. Empty if Stripe does not say.
   */
  async methods(): Promise<readonly string[]> {
    const answer = await this.ask(() => this.sdk.paymentMethodConfigurations.list({ limit: 50 }));
    if (answer.kind === 'failed') return [];
    const used = answer.value.data.find((each) => each.is_default && each.active && each.parent === null);
    return Object.entries(used ?? {}).flatMap(([name, of]) => (isSwitchedOn(of) ? [name] : []));
  }

  /** Makes a session; idempotent for the same order. */
  createSession(wish: SessionWish): Promise<NodeAnswer<MadeSession>> {
    const { orderId: order_id, tier, server: fusegate_server } = wish;
    const metadata = { order_id, tier, fusegate_server };
    return this.ask(async () => {
      const session = await this.sdk.checkout.sessions.create(
        {
          mode: 'payment',
          line_items: [
            {
              quantity: 1,
              price_data: {
                currency: 'usd',
                unit_amount: wish.cents,
                product_data: { name: `Fusegate API key, tier ${wish.tier}` },
              },
            },
          ],
          client_reference_id: wish.orderId,
          metadata,
          payment_intent_data: { metadata },
          expires_at: Math.floor(wish.expiresAtMs / 1_000),
          success_url: `${wish.publicUrl}/card/success?session_id={CHECKOUT_SESSION_ID}`,
          cancel_url: `${wish.publicUrl}/buy`,
        },
        { idempotencyKey: wish.orderId },
      );
      if (session.url === null) throw new Error('the session has no address');
      return { id: session.id, url: session.url };
    });
  }

  /** Price ids that a session sold, one for each unit of a line. */
  pricesOf(session: string): Promise<NodeAnswer<readonly string[]>> {
    return this.ask(async () => {
      const items = await this.sdk.checkout.sessions.listLineItems(session, { limit: 10 });
      return items.data.flatMap(({ price, quantity }) => Array<string>(quantity ?? 1).fill(price?.id ?? ''));
    });
  }

  /**
   * The account's events of these types since a time (ms since 1970), the oldest first, as webhooks get them.
   * Stripe keeps events for 30 days.
   */
  events(fromMs: number, types: readonly string[]): Promise<NodeAnswer<readonly unknown[]>> {
    return this.ask(async () => {
      const since = { created: { gte: Math.floor(fromMs / 1_000) }, types: [...types], limit: 100 };
      const newestFirst: unknown[] = [];
      for await (const event of this.sdk.events.list(since)) newestFirst.push(event);
      return newestFirst.reverse();
    });
  }

  private async ask<Value>(question: () => Promise<Value>): Promise<NodeAnswer<Value>> {
    const span = activeSpan()?.child('Stripe', 'client');
    try {
      const asked =
        span === undefined ? question() : recorded(span, stripeFacts, question, () => noMoreFacts);
      return answered(await asked);
    } catch (error) {
      return failed(reasonOf(error));
    }
  }
}

/** True if a member of a payment method configuration is a method offered to buyers. */
function isSwitchedOn(of: unknown): boolean {
  const method = of as {
    readonly available?: unknown;
    readonly display_preference?: { readonly value?: unknown } | null;
  } | null;
  return method?.available === true && method.display_preference?.value === 'on';
}

/**
 * The content of a webhook's body, of any shape: `event` is its JSON, undefined if it is not JSON. Nothing is
 * parsed, and the result is undefined, unless a secret signed these exact bytes within the last 300 s.
 */
export function verifiedEvent(
  body: Buffer,
  signature: string,
  secrets: readonly string[],
  nowMs: number,
): { readonly event: unknown } | undefined {
  const { signature: scheme } = Stripe.webhooks;
  const isSigned = secrets.some((secret) => {
    try {
      return scheme?.verifyHeader(body, signature, secret, toleranceS, undefined, nowMs);
    } catch {
      // Signed with another secret, or not at all.
      return false;
    }
  });
  return isSigned ? { event: jsonOf(body) } : undefined;
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
