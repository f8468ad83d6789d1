/** Settings of the checkout and its rails, in the order of the page. */
import type { Settings, ValuesOf } from '../system/settings.js';
import { perMinute } from '../system/settingValues.js';
import { cardErrors, cardSettings } from './card/cardSettings.js';
import { chainErrors, lndErrors, nodeSettings } from './nodeSettings.js';
import { rateSettings } from './rateSettings.js';

/** Settings of the checkout. */
export const checkoutSettings = {
  ...rateSettings,
  /** Orders a minute per client address; 0: no limit. */
  checkoutRequestsPerMinute: perMinute(
    'CHECKOUT_REQUESTS_PER_MINUTE',
    10,
    'Orders a minute that an address may make; 0 is no limit.',
  ),
  /** Polls of orders a minute per client address; 0: no limit. */
  pollsPerMinute: perMinute('POLLS_PER_MINUTE', 120, 'Polls of orders a minute, by address; 0 is no limit.'),
  /** Events of the card processor a minute per client address; 0: no limit. */
  cardEventsPerMinute: perMinute(
    'CARD_EVENTS_PER_MINUTE',
    6000,
    'Events of the card processor a minute, by address; 0 is no limit.',
  ),
  ...nodeSettings,
  ...cardSettings,
  /** True if a Lightning order's key is revealed only for its claim token. */
  lightningClaim: {
    name: 'LIGHTNING_CLAIM',
    type: 'optional, required',
    fallback: 'optional',
    meaning:
      '`required`: every Lightning order’s key is revealed only to polls with its claim token. `optional`: ' +
      'this holds at once for orders made with `Prefer: claim` or on `/buy`, and for others from 10 ' +
      'minutes after their payment. Every node on the route of a payment knows its payment hash.',
    parse: (text) =>
      text === 'optional' || text === 'required'
        ? { value: text === 'required' }
        : { wrong: 'must be optional or required' },
  },
} as const satisfies Settings;

/** Their values. */
export type CheckoutValues = ValuesOf<typeof checkoutSettings>;

function isText(value: string | null | undefined): boolean {
  return typeof value === 'string';
}

/** The variables set that name a way to pay: if there is one, keys are sold. */
export function waysToPay(values: Partial<CheckoutValues>): string[] {
  const named = {
    BTC_XPUB: isText(values.btcXpub),
    LND_REST_URL: isText(values.lndRestUrl),
    STRIPE_SECRET_KEY: isText(values.stripeSecretKey),
    STRIPE_WEBHOOK_SECRET: (values.stripeWebhookSecrets ?? []).length > 0,
  };
  return Object.entries(named).flatMap(([name, isSet]) => (isSet ? [name] : []));
}

/** Contradictions between them: a way to pay is set up in full, or not at all. */
export function checkoutErrors(values: Partial<CheckoutValues>): string[] {
  return [...lndErrors(values), ...chainErrors(values), ...cardErrors(values)];
}
