/** Settings of audits. */
import type { Settings } from '../system/settings.js';
import { perMinute } from '../system/settingValues.js';

/** Audits of an address. */
export const textSettings = {
  /** Audits a minute per address; 0: no limit. */
  auditsPerMinute: perMinute(
    'AUDITS_PER_MINUTE',
    6,
    'Audits a minute that an address may make; 0 is no limit.',
  ),
} as const satisfies Settings;
