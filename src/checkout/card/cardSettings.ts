/** Settings of card payments. */
import { tiers, type Tier } from '../../contract/pricing.js';
import { isPrivate } from '../../system/network.js';
import type { Parsed, Settings, ValuesOf } from '../../system/settings.js';
import { orNull, originOf, parseYes } from '../../system/settingValues.js';

const parseApiBase = orNull(
  originOf(
    isPrivate,
    'must be https://<host>:<port> (http only for this machine), such as http://127.0.0.1:12111',
  ),
);

function parseStripePrices(text: string): Parsed<Readonly<Record<string, Tier>>> {
  const pairs = text === '' ? [] : text.split(',').map((each) => each.trim().split('='));
  const fine = pairs.every(([price = '', tier = '', more]) => {
    return /^price_\w+$/.test(price) && tiers.some((name) => name === tier) && more === undefined;
  });
  if (!fine) return { wrong: 'must be price ids and tiers, such as price_1Abc=growth,price_2Def=developer' };
  return { value: Object.fromEntries(pairs) as Readonly<Record<string, Tier>> };
}

/** The account at Stripe. */
export const cardSettings = {
  /** Stripe's secret key; null: no card payments. A secret. */
  stripeSecretKey: {
    name: 'STRIPE_SECRET_KEY',
    type: '`sk_…` or `rk_…`',
    fallback: '',
    fallbackShown: 'none: no card payments',
    meaning:
      'Stripe’s secret or restricted key for card payments ([checkout.md](checkout.md)). It also says ' +
      'whether payments are live or tests.',
    parse: (text) =>
      text === '' || /^[sr]k_(test|live)_\w+$/.test(text)
        ? { value: text === '' ? null : text }
        : { wrong: 'must be a key of Stripe: sk_ or rk_, then test_ or live_' },
    secret: true,
  },
  /** Secrets of the card webhook; none: it answers 503. */
  stripeWebhookSecrets: {
    name: 'STRIPE_WEBHOOK_SECRET',
    type: '`whsec_…`, several by commas',
    fallback: '',
    fallbackShown: 'none: the webhook answers 503',
    meaning: 'Secrets of the webhook’s endpoint; several while you replace one.',
    parse: (text) => {
      const secrets = text === '' ? [] : text.split(',').map((each) => each.trim());
      const fine = secrets.every((each) => /^whsec_\S{8,}$/.test(each));
      return fine
        ? { value: secrets }
        : { wrong: 'must be secrets of Stripe webhooks, which begin with whsec_' };
    },
    secret: true,
  },
  /** Tiers by Stripe price id, for sessions made elsewhere. */
  stripePrices: {
    name: 'STRIPE_PRICES',
    type: '`price_…=tier` by commas',
    fallback: '',
    fallbackShown: 'none',
    meaning:
      'Tiers by the ids of your own prices at Stripe, for sessions made elsewhere, such as payment links. ' +
      'Without it such sessions are matched by `metadata.tier` and an amount that was in force.',
    parse: parseStripePrices,
  },
  /** True if a session that a discount made cheaper or free yields a key. */
  stripeAllowDiscounts: {
    name: 'STRIPE_ALLOW_DISCOUNTS',
    type: 'no, yes',
    fallback: 'no',
    meaning: '`yes`: a session that promotion codes made cheaper, or free, also gives a key.',
    parse: parseYes,
  },
  /** URL of Stripe's API; null: Stripe's own. */
  stripeApiBase: {
    name: 'STRIPE_API_BASE',
    type: '`https://<host>:<port>`; `http://` only for this machine',
    fallback: '',
    fallbackShown: 'Stripe’s own',
    meaning: 'Address of Stripe’s API; for tests and proxies.',
    parse: parseApiBase,
  },
} as const satisfies Settings;

/** Their values. */
export type CardValues = ValuesOf<typeof cardSettings>;

/** Contradictions between the variables of card payments. */
export function cardErrors({ stripeSecretKey, stripeWebhookSecrets = [] }: Partial<CardValues>): string[] {
  if (stripeSecretKey !== null || stripeWebhookSecrets.length === 0) return [];
  return ['Card payments also need STRIPE_SECRET_KEY.'];
}
