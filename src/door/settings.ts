/** Settings of the fragment door. */
import type { Settings } from '../system/settings.js';
import { perMinute } from '../system/settingValues.js';

/** How often an address may send fragments. */
export const doorSettings = {
  /** Fragments, confirmations and harvests a minute, by address; 0: no limit. */
  doorSubmissionsPerMinute: perMinute(
    'DOOR_SUBMISSIONS_PER_MINUTE',
    60,
    'Fragments, confirmations and harvests a minute that an address may send; a harvest counts once; 0 ' +
      'is no limit.',
  ),
  /** Previews of fragments a minute, by address; 0: no limit. */
  previewsPerMinute: perMinute(
    'PREVIEWS_PER_MINUTE',
    60,
    'Previews of fragments a minute that an address may ask for; 0 is no limit.',
  ),
} as const satisfies Settings;
