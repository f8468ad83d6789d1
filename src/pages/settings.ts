/** Settings of pages. */
import type { Settings } from '../system/settings.js';
import { perMinute } from '../system/settingValues.js';

/** Limits on pages per address. */
export const pageSettings = {
  /** Quotes, prices and pages a minute per address; 0: no limit. */
  pagesPerMinute: perMinute(
    'PAGES_PER_MINUTE',
    600,
    'Quotes, prices, QR codes and pages a minute, by address; 0 is no limit.',
  ),
} as const satisfies Settings;
