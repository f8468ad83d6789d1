/** Tiers and amounts in the form that pages for buyers use. */
import type { FiatPrice, Tier } from '../contract/pricing.js';
import { escapeHtml } from './page.js';

/** Names of the tiers on pages. */
export const tierTitles: Readonly<Record<Tier, string>> = {
  developer: 'Developer',
  growth: 'Growth',
  enterprise: 'Enterprise',
};

/** A number with thousands separators. */
export function grouped(value: number): string {
  return value.toLocaleString('en-US');
}

/** An amount in both units, and in US dollars if there is a price. */
export function amounts(btc: string, sat: number, fiat: FiatPrice | null): string {
  const dollars = fiat === null ? '' : ` · about ${dollarsOf(fiat.amount_cents)} by card`;
  return `${btc} BTC · ${grouped(sat)} sat${dollars}`;
}

/** An amount in US dollars. */
export function dollarsOf(cents: number): string {
  return (cents / 100).toLocaleString('en-US', { style: 'currency', currency: 'USD' });
}

/** A button that copies a text; hidden without script. */
export function copyButton(text: string, what: string): string {
  return `<button type="button" class="copy" data-copy="${escapeHtml(text)}" hidden>Copy ${what}</button>`;
}
