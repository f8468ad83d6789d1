/** Verifies an answer of `GET /receipt/{id}`, whatever its source (docs/receipt.md). */
import { fragmentFields, fragmentOf } from '../contract/fragment.js';
import type { CryptographicVerification, Fragment } from '../contract/fragment.js';
import { verifyLegacy } from './legacy.js';
import { digestNames, implementation, sealFits, verify } from './verify.js';

/** A verified answer. */
export interface VerifiedAnswer {
  readonly receipt: string;
  readonly verification: CryptographicVerification;
  /** The answer withholds the fragment: its digests cannot be recomputed. */
  readonly withheld: boolean;
}

type Members = Readonly<Record<string, unknown>>;

function membersOf(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Members)
    : undefined;
}

function textsOf(value: unknown): Readonly<Record<string, string>> | undefined {
  const members = membersOf(value);
  if (members === undefined) return undefined;
  const texts = Object.entries(members).every(([, each]) => typeof each === 'string');
  return texts ? (members as Readonly<Record<string, string>>) : undefined;
}

function fragmentIn(value: unknown): Fragment | undefined {
  const texts = textsOf(value);
  if (texts === undefined || fragmentFields.some((name) => texts[name] === undefined)) return undefined;
  return fragmentOf((name) => texts[name] ?? '');
}

/** Verifies an answer, parsed from JSON; `wrong` is a sentence part that says why it is not a receipt. */
export function verifyAnswer(answer: unknown): VerifiedAnswer | { readonly wrong: string } {
  const members = membersOf(answer);
  const receipt = members?.['receipt'];
  if (members === undefined || typeof receipt !== 'string') return { wrong: 'is no receipt' };
  const withheld = members['fragment'] === null && typeof members['withheld'] === 'string';
  const fragment = fragmentIn(members['fragment']);
  if (!withheld && fragment === undefined) return { wrong: 'has no fragment of six texts' };
  switch (members['hash_contract']) {
    case 'fragment-receipt-hash-v2':
      return sealed(receipt, members, fragment);
    case 'fragment-receipt-hash-v1-legacy':
      return legacy(receipt, members, fragment);
    default:
      return { wrong: 'names no hash contract that is known here' };
  }
}

function sealed(
  receipt: string,
  members: Members,
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
  members: Members,
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
  members: Members,
  fragment: Fragment | undefined,
): VerifiedAnswer | { readonly wrong: string } {
  const digest = members['content_sha256'];
  if (typeof digest !== 'string') return { wrong: 'has no content_sha256' };
  if (fragment !== undefined)
    return { receipt, verification: verifyLegacy(fragment, digest), withheld: false };
  const verification = { verified: false, fields: { content_sha256: null }, envelope: null, implementation };
  return { receipt, verification, withheld: true };
}
