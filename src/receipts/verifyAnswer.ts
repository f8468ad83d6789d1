/** Verifies an answer of `GET /receipt/{id}`, whatever its source (docs/receipt.md). */
import { fragmentFields, fragmentOf } from '../contract/fragment.js';
import type { CryptographicVerification, Fragment } from '../contract/fragment.js';
import { isJsonObject, type JsonObject } from '../system/json.js';
import { verifyLegacy } from './legacy.js';
import { digestNames, implementation, sealFits, verify } from './verify.js';

/** A verified answer. */
export interface VerifiedAnswer {
  readonly receipt: string;
  readonly verification: CryptographicVerification;
  /** The answer withholds the fragment: its digests cannot be recomputed. */
  readonly withheld: boolean;
}

function textsOf(value: unknown): Readonly<Record<string, string>> | undefined {
  if (!isJsonObject(value)) return undefined;
  const isTexts = Object.values(value).every((each) => typeof each === 'string');
  return isTexts ? (value as Readonly<Record<string, string>>) : undefined;
}

function fragmentIn(value: unknown): Fragment | undefined {
  const texts = textsOf(value);
  if (texts === undefined || fragmentFields.some((name) => texts[name] === undefined)) return undefined;
  return fragmentOf((name) => texts[name] ?? '');
}

/** Verifies an answer, parsed from JSON; `wrong` is a sentence part that says why it is not a receipt. */
export function verifyAnswer(answer: unknown): VerifiedAnswer | { readonly wrong: string } {
  if (!isJsonObject(answer) || typeof answer['receipt'] !== 'string') return { wrong: 'is no receipt' };
  const { receipt } = answer;
  const withheld = answer['fragment'] === null && typeof answer['withheld'] === 'string';
  const fragment = fragmentIn(answer['fragment']);
  if (!withheld && fragment === undefined) return { wrong: 'has no fragment of six texts' };
  switch (answer['hash_contract']) {
    case 'fragment-receipt-hash-v2':
      return sealed(receipt, answer, fragment);
    case 'fragment-receipt-hash-v1-legacy':
      return legacy(receipt, answer, fragment);
    default:
      return { wrong: 'names no hash contract that is known here' };
  }
}

function sealed(
  receipt: string,
  members: JsonObject,
  fragment: Fragment | undefined,
): VerifiedAnswer | { readonly wrong: string } {
  const envelope = textsOf(members['envelope']);
  const seal = members['stored_envelope_sha256'];
  if (envelope === undefined || typeof seal !== 'string') return { wrong: 'has no sealed envelope' };
  if (fragment !== undefined) {
    const verification = verify({ receipt, fragment, envelope, seal });
    return { receipt, verification: withOwn(verification, members, envelope), withheld: false };
  }
  const fits = sealFits({ receipt, envelope, seal });
  const fields = Object.fromEntries(digestNames.map((name) => [name, null]));
  const verification = { verified: fits, fields, envelope: fits, implementation };
  return { receipt, verification: withOwn(verification, members, envelope), withheld: true };
}

/** Members that the answer repeats must equal the envelope's. */
function withOwn(
  verification: CryptographicVerification,
  members: JsonObject,
  envelope: Readonly<Record<string, string>>,
): CryptographicVerification {
  const isOther = (name: string): boolean => name in members && members[name] !== envelope[name];
  const digests = digestNames.filter(isOther);
  const wrong = [...digests, ...(['status', 'hash_contract'] as const).filter(isOther)];
  if (wrong.length === 0) return verification;
  const fields = { ...verification.fields, ...Object.fromEntries(digests.map((name) => [name, false])) };
  const same = wrong.length === digests.length ? verification.envelope : false;
  return { ...verification, verified: false, fields, envelope: same };
}

function legacy(
  receipt: string,
  members: JsonObject,
  fragment: Fragment | undefined,
): VerifiedAnswer | { readonly wrong: string } {
  const digest = members['content_sha256'];
  if (typeof digest !== 'string') return { wrong: 'has no content_sha256' };
  if (fragment !== undefined)
    return { receipt, verification: verifyLegacy(fragment, digest), withheld: false };
  const verification = { verified: false, fields: { content_sha256: null }, envelope: null, implementation };
  return { receipt, verification, withheld: true };
}
