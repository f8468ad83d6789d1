/** The trust of a command in a log: a verifier key, and a policy of witnesses (`--vkey`, `--policy`). */
import { readFileSync } from 'node:fs';
import { parseVerifierKey, type VerifierKey } from '../log/note.js';
import { isCosigned, parsePolicy, type Policy } from '../log/policy.js';
import { reasonOf } from '../system/reason.js';
import { printable } from './printable.js';

/** The options. */
export interface TrustOptions {
  readonly vkey?: string;
  readonly policy?: string;
}

/** Keys, one of which must have signed, and the policy that the checkpoint must satisfy. */
export interface Trust {
  readonly keys: readonly VerifierKey[];
  readonly policy: Policy | undefined;
}

/** Reads the options; without a key, or a policy that names a log, there are no keys. */
export function readTrust({ vkey, policy: path }: TrustOptions): Trust | { readonly wrong: string } {
  const key = vkey === undefined ? undefined : parseVerifierKey(vkey);
  if (vkey !== undefined && key === undefined) {
    return { wrong: `${printable(vkey)} is not a verifier key of an Ed25519 log.` };
  }
  let policy: Policy | undefined;
  if (path !== undefined) {
    try {
      const read = parsePolicy(readFileSync(path, 'utf8'));
      if ('wrong' in read) return { wrong: `The policy ${path} ${printable(read.wrong)}.` };
      policy = read;
    } catch (error) {
      return { wrong: `The policy ${path} cannot be read (${reasonOf(error)}).` };
    }
  }
  return { keys: key === undefined ? (policy?.logs ?? []) : [key], policy };
}

/** Why a checkpoint's cosignatures do not satisfy the policy, if so: a sentence part. */
export function notCosigned({ policy }: Trust, note: string): string | undefined {
  if (policy === undefined || isCosigned(policy, note)) return undefined;
  return 'is not cosigned by the witnesses that the policy wants';
}
