/** The check of `fusegate doctor` on the key of the log of receipts (docs/log.md). */
import type { Configuration } from '../configuration.js';
import { configuredKey, existingKey, keyPath, readKey } from '../log/keyFile.js';
import { verifierText } from '../log/note.js';
import { logKeyName } from '../log/settings.js';
import { keyRefusal, mayMakeKey } from '../log/signer.js';
import type { Store } from '../store/store.js';
import { findSigned } from '../store/tables/receiptLog.js';
import { finding, type Finding } from './finding.js';

const subject = 'log';

/** Compares the data folder's key with the one that signed the store's log; nothing if neither is there. */
export async function logKeyFindings(
  { dataFolder, logKeySeed, serve }: Pick<Configuration, 'dataFolder' | 'logKeySeed' | 'serve'>,
  store: Pick<Store, 'get'>,
): Promise<Finding[]> {
  if (!serve.includes('door')) return [];
  const signed = (await findSigned(store))?.signed;
  const configured = configuredKey(logKeySeed);
  const key = configured ?? (mayMakeKey(signed) ? readKey(dataFolder) : existingKey(dataFolder));
  if (key === undefined) return [];
  const refused = 'refused' in key ? key.refused : keyRefusal(signed, key.value);
  if (refused !== undefined) return [finding('problem', subject, `Nothing is signed. ${refused}`)];
  if (signed === undefined || mayMakeKey(signed)) return [];
  const place = configured === undefined ? keyPath(dataFolder) : logKeyName;
  const text = `The key ${place} signs as ${verifierText({ ...signed, name: signed.origin })}.`;
  return [finding('ok', subject, `${text} Backups do not have it.`)];
}
