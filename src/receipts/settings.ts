/** Settings of the fragment door. */
import type { Settings } from '../system/settings.js';
import { integer, perMinute } from '../system/settingValues.js';

/** Limits on fragments per address and in all. */
export const doorSettings = {
  /** Fragments, confirmations and harvests a minute per address; 0: no limit. */
  doorSubmissionsPerMinute: perMinute(
    'DOOR_SUBMISSIONS_PER_MINUTE',
    60,
    'Fragments, confirmations and harvests a minute that an address may send; a harvest counts once; 0 ' +
      'is no limit.',
  ),
  /** Most bytes of all fragments (GB); 0: no limit. */
  doorMaxGb: {
    name: 'DOOR_MAX_GB',
    type: 'whole number of GB, 0 to 1000000',
    fallback: '20',
    meaning:
      'Disk space that all fragments together may take. Above it, new fragments get 503 ' +
      '`storage_reserved`; receipts are still read and verified; 0 is no limit.',
    parse: integer(0, 1_000_000),
  },
  /** Previews of fragments a minute per address; 0: no limit. */
  previewsPerMinute: perMinute(
    'PREVIEWS_PER_MINUTE',
    60,
    'Previews of fragments a minute that an address may ask for; 0 is no limit.',
  ),
  /** Markers of harvests a minute per address; 0: no limit. */
  harvestMarkersPerMinute: perMinute(
    'HARVEST_MARKERS_PER_MINUTE',
    300,
    'Markers of harvests a minute that an address may send; one harvest may exceed it, and the next one ' +
      'then has to wait for the excess; 0 is no limit.',
  ),
} as const satisfies Settings;
