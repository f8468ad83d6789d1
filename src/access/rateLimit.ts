/** The header fields of a limit (draft-ietf-httpapi-ratelimit-headers; structured fields, RFC 9651). */

/** Values of `RateLimit` and `RateLimit-Policy`; `""` if no limit a minute applies. */
export interface RateLimitFields {
  readonly rateLimit: string;
  readonly rateLimitPolicy: string;
}

/** No limit a minute. */
export const noRateLimit: RateLimitFields = { rateLimit: '', rateLimitPolicy: '' };

/** `RateLimit`: whole requests left, and whole seconds until the quota is full again. */
export function rateLimit(remaining: number, fullInSeconds: number): string {
  return `"minute";r=${remaining};t=${fullInSeconds}`;
}

/** `RateLimit-Policy`: n requests in 60 seconds. */
export function rateLimitPolicy(perMinute: number): string {
  return `"minute";q=${perMinute};w=60`;
}
