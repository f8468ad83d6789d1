/** The ways to pay, each with the truth about whether it can be used now (contract, honesty rules). */
import type { PaymentPath, Rail, Tier } from '../contract/pricing.js';

/** Readiness of a rail for a tier; the reason is a sentence for buyers. */
export type Readiness = { readonly ready: true } | { readonly ready: false; readonly reason: string };

/** Looks at one rail. It never throws, and answers soon. */
export type RailCheck = (tier: Tier | undefined) => Promise<Readiness> | Readiness;

/** Every rail's check. */
export type RailChecks = Readonly<Record<Rail, RailCheck>>;

/** The check of a rail that the operator has not set up. */
export function notConfigured(what: string): RailCheck {
  const readiness: Readiness = { ready: false, reason: `${what} are not configured on this server.` };
  return () => readiness;
}

/** Every rail as answers show it; `tier` undefined asks for the rail as such. */
export async function paymentPaths(checks: RailChecks, tier: Tier | undefined): Promise<PaymentPath[]> {
  const rails = Object.entries(checks) as [Rail, RailCheck][];
  return Promise.all(
    rails.map(async ([rail, check]) => {
      const readiness = await check(tier);
      return { rail, ready: readiness.ready, reason: readiness.ready ? null : readiness.reason };
    }),
  );
}
