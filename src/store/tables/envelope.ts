/**
 * Receipts' envelopes (docs/receipt.md) as fragment records hold them from format 2 on: only the members that
 * differ between envelopes. An envelope that fits no form here is stored whole, in format 1.
 */

/** The constant members of each form's envelopes. Forms are never changed, only added. */
const forms: readonly Readonly<Record<string, string>>[] = [
  {
    canonicalization: 'accepted-fields-json-v1',
    contract_version: '6.4',
    hash_contract: 'fragment-receipt-hash-v2',
    unicode: '17.0.0',
  },
];

/** Members that are digests, in hex. */
const digestNames = [
  'canonical_payload_sha256',
  'confirmation_binding_sha256',
  'confirmation_token_sha256',
  'content_sha256',
  'dedupe_key_sha256',
  'submission_payload_sha256',
] as const;

const digestBytes = 32;

/** The members that differ between envelopes of a form. */
export interface EnvelopeParts {
  /** Number of its form, from 1. */
  readonly form: number;
  /** Its digests, concatenated. */
  readonly digests: Uint8Array;
  readonly receivedAt: string;
  readonly status: string;
}

/** Members that the fragment record holds already. */
export interface EnvelopeOf {
  readonly receipt: string;
  readonly kind: string;
}

/** The envelope from its parts, in canonical JSON: members in the order of their names, without spaces. */
export function joinEnvelope({ receipt, kind }: EnvelopeOf, parts: EnvelopeParts): string {
  const form = forms[parts.form - 1];
  if (form === undefined || parts.digests.byteLength !== digestNames.length * digestBytes) {
    throw new Error(`The envelope of ${receipt} is of no form that this version knows`);
  }
  const hex = Buffer.from(parts.digests).toString('hex');
  const digests = digestNames.map((name, at) => [
    name,
    hex.slice(at * 2 * digestBytes, (at + 1) * 2 * digestBytes),
  ]);
  const members: Record<string, string> = {
    ...form,
    ...(Object.fromEntries(digests) as Record<string, string>),
    ...{ kind, receipt, received_at: parts.receivedAt, status: parts.status },
  };
  members['content_bytes_sha256'] = members['content_sha256'] ?? '';
  const sorted = Object.keys(members).sort();
  return `{${sorted.map((name) => `"${name}":${JSON.stringify(members[name])}`).join(',')}}`;
}

function formOf(members: Readonly<Record<string, unknown>>): number {
  return 1 + forms.findIndex((form) => Object.keys(form).every((name) => members[name] === form[name]));
}

/** The parts of an envelope; undefined if they do not reproduce it byte for byte. */
export function partEnvelope(of: EnvelopeOf, envelope: string): EnvelopeParts | undefined {
  const members = JSON.parse(envelope) as Readonly<Record<string, unknown>>;
  const form = formOf(members);
  const digests = Buffer.from(digestNames.map((name) => String(members[name])).join(''), 'hex');
  const { received_at: receivedAt, status } = members;
  const isWhole = form > 0 && digests.byteLength === digestNames.length * digestBytes;
  if (!isWhole || typeof receivedAt !== 'string' || typeof status !== 'string') return undefined;
  const parts = { form, digests, receivedAt, status };
  return joinEnvelope(of, parts) === envelope ? parts : undefined;
}
