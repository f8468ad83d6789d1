/** The settings of the log. */
import { logFormats, logLevels } from './log.js';
import type { Settings } from './settings.js';
import { oneOf } from './settingValues.js';

/** The log's level and its format. */
export const logSettings = {
  /** The least serious level that is logged. */
  logLevel: {
    name: 'LOG_LEVEL',
    type: logLevels.join(', '),
    fallback: 'info',
    meaning: 'The least serious events that are logged. `debug` adds a line for each request.',
    parse: oneOf(logLevels),
  },
  /** The format of all lines that a server writes. */
  logFormat: {
    name: 'LOG_FORMAT',
    type: logFormats.join(', '),
    fallback: 'auto',
    meaning:
      'How a server writes its lines: each a JSON object, or text for people. `auto` is text at a ' +
      'terminal, else JSON.',
    parse: oneOf(logFormats),
  },
} as const satisfies Settings;
