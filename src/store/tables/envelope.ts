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

/** Members that are no digests and differ between envelopes. */
const textNames = ['kind', 'receipt', 'received_at', 'status'] as const;
type Texts = Readonly<Record<(typeof textNames)[number], string>>;

/** A member of a form: its JSON up to the value, and where the value is. */
interface Member {
  readonly label: string;
  /** The JSON of a constant value. */
  readonly constant?: string;
  /** Number of the digest that is its value. */
  readonly digest?: number;
  readonly text?: keyof Texts;
}

/** For each form: its members in the order of their names. */
const layouts = forms.map((form): readonly Member[] => {
  const values: Record<string, Omit<Member, 'label'>> = {
    ...Object.fromEntries(
      Object.entries(form).map(([name, value]) => [name, { constant: JSON.stringify(value) }]),
    ),
    ...Object.fromEntries(digestNames.map((name, digest) => [name, { digest }])),
    ...Object.fromEntries(textNames.map((text) => [text, { text }])),
    content_bytes_sha256: { digest: digestNames.indexOf('content_sha256') },
  };
  const sorted = Object.keys(values).sort();
  return sorted.map((name, at) => ({ label: `${at === 0 ? '{' : ','}"${name}":`, ...values[name] }));
});

/** The envelope from its parts, in canonical JSON: members in the order of their names, without spaces. */
export function joinEnvelope({ receipt, kind }: EnvelopeOf, parts: EnvelopeParts): string {
  const layout = layouts[parts.form - 1];
  if (layout === undefined || parts.digests.byteLength !== digestNames.length * digestBytes) {
    throw new Error(`The envelope of ${receipt} is of no form that this version knows`);
  }
  const hex = Buffer.from(parts.digests).toString('hex');
  const texts: Texts = { kind, receipt, received_at: parts.receivedAt, status: parts.status };
  let json = '';
  for (const { label, constant, digest, text } of layout) {
    json += label;
    if (constant !== undefined) json += constant;
    else if (text !== undefined) json += JSON.stringify(texts[text]);
    else if (digest !== undefined)
      json += `"${hex.slice(digest * 2 * digestBytes, (digest + 1) * 2 * digestBytes)}"`;
  }
  return `${json}}`;
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
