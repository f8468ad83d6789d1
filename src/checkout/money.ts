/** Money in whole units: satoshi, US cents, basis points. All are bigint, so nothing is rounded silently. */

/** Satoshi of a bitcoin. */
const satOfBtc = 100_000_000n;

/** Basis points of a whole. */
const wholeBps = 10_000n;

/**
 * The price in cents of an amount in satoshi, rounded up.
 * @param rateCents cents a bitcoin costs
 * @param surchargeBps surcharge in basis points
 */
export function centsOf(sat: bigint, rateCents: bigint, surchargeBps: bigint): bigint {
  const divisor = satOfBtc * wholeBps;
  return (sat * rateCents * (wholeBps + surchargeBps) + divisor - 1n) / divisor;
}

/** An amount in bitcoin with 8 decimals, as answers and BIP 21 write it. */
export function btcText(sat: bigint): string {
  const digits = sat.toString().padStart(9, '0');
  return `${digits.slice(0, -8)}.${digits.slice(-8)}`;
}

/**
 * Whole cents of a source's price in US dollars, such as `67187.335`, rounded down; undefined if it is not a
 * price.
 */
export function centsIn(dollars: string): bigint | undefined {
  const [, whole, fraction = ''] = /^(\d{1,9})(?:\.(\d+))?$/.exec(dollars) ?? [];
  if (whole === undefined) return undefined;
  const cents = BigInt(whole) * 100n + BigInt(`${fraction}00`.slice(0, 2));
  return cents > 0n ? cents : undefined;
}
