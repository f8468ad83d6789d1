/** Settings of exploration. */
import type { Settings } from '../system/settings.js';
import { perMinute } from '../system/settingValues.js';

/** The limit on requests that explore. */
export const exploreSettings = {
  /** Requests that explore fragments a minute per address; 0: no limit. */
  explorationsPerMinute: perMinute(
    'EXPLORATIONS_PER_MINUTE',
    300,
    'Requests a minute that explore fragments, by address; 0 is no limit.',
  ),
} as const satisfies Settings;
