/** The setting of the log. */
import { logLevels } from './log.js';
import type { Settings } from './settings.js';
import { oneOf } from './settingValues.js';

/** The log level. */
export const logSettings = {
  /** The least serious level that is logged. */
  logLevel: {
    name: 'LOG_LEVEL',
    type: logLevels.join(', '),
    fallback: 'info',
    meaning: 'The least serious events that are logged. `debug` adds a line for each request.',
    parse: oneOf(logLevels),
  },
} as const satisfies Settings;
