/** The configuration: the settings of every part, in the order of docs/configuration.md. */
import { chooseAccess, type AccessChoice } from './access/mode.js';
import { accessSettings } from './access/settings.js';
import { checkoutErrors, checkoutSettings, waysToPay } from './checkout/settings.js';
import { exploreSettings } from './explore/settings.js';
import { doorSettings } from './receipts/settings.js';
import {
  doorUnserved,
  writingUnserved,
  listenSettings,
  metricsSettings,
  publicSettings,
  samePorts,
  servedSettings,
  timingSettings,
  workerSettings,
} from './http/settings.js';
import { receiptLogSettings } from './log/settings.js';
import { modelSettings } from './models/settings.js';
import { leadSettings, outreachSettings } from './outreach/settings.js';
import { pageSettings } from './pages/settings.js';
import { dataFolderOf, missingSecret, storeSettings } from './store/settings.js';
import { logSettings } from './system/logSettings.js';
import {
  readSettings,
  type Environment,
  type Machine,
  type Settings,
  type ValuesOf,
} from './system/settings.js';
import { telemetrySettings } from './telemetry/settings.js';
import { textSettings } from './text/settings.js';

/** Every setting. */
export const settings = {
  ...listenSettings,
  ...servedSettings,
  ...workerSettings,
  ...storeSettings,
  ...publicSettings,
  ...outreachSettings,
  ...timingSettings,
  ...metricsSettings,
  ...telemetrySettings,
  ...logSettings,
  ...accessSettings,
  ...leadSettings,
  ...textSettings,
  ...modelSettings,
  ...checkoutSettings,
  ...doorSettings,
  ...exploreSettings,
  ...receiptLogSettings,
  ...pageSettings,
} as const satisfies Settings;

/** The operator's settings, validated. */
export interface Configuration extends ValuesOf<typeof settings> {
  /** Absolute path of the folder for everything that Fusegate stores outside the store. */
  readonly dataFolder: string;
  /** The mode for callers without a key, with the reason for it. */
  readonly access: AccessChoice;
}

/** Outcome of reading the environment: a configuration with warnings, or every error at once. */
export type ConfigurationResult =
  | { readonly configuration: Configuration; readonly warnings: readonly string[] }
  | {
      readonly errors: readonly string[];
      readonly warnings: readonly string[];
      /** The settings that could be read, for further checks. */
      readonly partial: Partial<Configuration>;
    };

/** Reads and checks the environment; see {@link readSettings}. */
export function readConfiguration(environment: Environment, machine: Machine): ConfigurationResult {
  const { values, errors: unread, warnings } = readSettings(settings, environment, machine);
  const { storeUrl } = values;
  const { accessGiven } = values;
  const partial: Partial<Configuration> = {
    ...values,
    ...(storeUrl === undefined ? {} : { dataFolder: dataFolderOf(storeUrl) }),
    ...(accessGiven === undefined ? {} : { access: chooseAccess(accessGiven, waysToPay(values)) }),
  };
  const errors = [
    ...unread,
    ...samePorts(values),
    ...doorUnserved(values),
    ...writingUnserved(values),
    ...missingSecret(values),
    ...checkoutErrors(values),
  ];
  // Without an error every setting has been read.
  return errors.length > 0
    ? { errors, warnings, partial }
    : { configuration: partial as Configuration, warnings };
}
