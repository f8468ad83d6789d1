/** A process that makes API keys, revokes every third, and prints each once it is done. */
import { writeSync } from 'node:fs';
import { issueKey, revokeKey } from '../../src/access/issue.js';
import { native } from '../../src/native/addon.js';
import { systemClock } from '../../src/system/clock.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { storeAt } from '../support/openStore.js';
import { whenUnavailable } from '../../src/store/store.js';

const { STORE_URL = '', MASTER_SECRET: secret = '' } = process.env;
const store = await storeAt(STORE_URL);
const parts = { store, clock: systemClock, randomness: systemRandomness, secret, format: native };
for (let number = 0; ; number += 1) {
  const issuing = issueKey(parts, { tier: 'developer', termDays: 0, origin: 'test' });
  const issued = await whenUnavailable(issuing, () => undefined);
  if (issued === undefined) continue;
  writeSync(1, `ISSUED ${issued.key.id} ${issued.rawKey}\n`);
  if (number % 3 !== 0) continue;
  const change = await whenUnavailable(revokeKey(parts, issued.key.id, 'test'), () => undefined);
  if (change?.kind === 'changed') writeSync(1, `REVOKED ${issued.key.id}\n`);
}
