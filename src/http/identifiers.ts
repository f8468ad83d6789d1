/** Request ids: cheap to make, unique over processes and restarts. */
import type { Randomness } from '../system/randomness.js';

const acceptable = /^[A-Za-z0-9._-]{1,64}$/;
const lowCount = 1024;
const low = Array.from({ length: lowCount }, (_, index) => index.toString(36).padStart(2, '0'));

/** Makes one id. */
export type RequestIds = () => string;

/**
 * A source of ids: 72 random bits for this process, then a counter. Ten bits of the counter come from a
 * table, so that most ids cost one concatenation.
 */
export function createRequestIds(randomness: Randomness): RequestIds {
  const process = randomness(9).toString('base64url');
  let counter = 0;
  let prefix = '';
  return () => {
    const place = counter % lowCount;
    if (place === 0) prefix = `${process}.${(counter / lowCount).toString(36)}`;
    counter += 1;
    return prefix + (low[place] ?? '');
  };
}

/** True if a client's `X-Request-Id` is accepted: 1 to 64 of `A-Z a-z 0-9 . _ -`. */
export function isAcceptableRequestId(id: string): boolean {
  return acceptable.test(id);
}
