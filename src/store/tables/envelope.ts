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

/** Members other than digests that differ between envelopes. */
const textNames = ['kind', 'receipt', 'received_at', 'status'] as const;
type Texts = Readonly<Record<(typeof textNames)[number], string>>;

/** The values that differ; the digests in hex, concatenated. */
interface Values {
  readonly texts: Texts;
  readonly hex: string;
}

/** A member of a form: its JSON up to the value, and the value's JSON. */
interface Member {
  readonly label: string;
  readonly value: (of: Values) => string;
}

/** The value of a member that is the digest with this index. */
function digestAt(number: number): Member['value'] {
  const [from, to] = [number * 2 * digestBytes, (number + 1) * 2 * digestBytes];
  return ({ hex }) => `"${hex.slice(from, to)}"`;
}

/** For each form: its members in the order of their names. */
const layouts = forms.map((form): readonly Member[] => {
  const constants = Object.entries(form).map(([name, value]): [string, Member['value']] => {
    const json = JSON.stringify(value);
    return [name, () => json];
  });
  const values = new Map<string, Member['value']>([
    ...constants,
    ...digestNames.map((name, number) => [name, digestAt(number)] as const),
    ...textNames.map((name) => [name, ({ texts }: Values) => JSON.stringify(texts[name])] as const),
    ['content_bytes_sha256', digestAt(digestNames.indexOf('content_sha256'))],
  ]);
  const sorted = [...values].sort(([left], [right]) => (left < right ? -1 : 1));
  return sorted.map(([name, value], at) => ({ label: `${at === 0 ? '{' : ','}"${name}":`, value }));
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
  for (const { label, value } of layout) json += label + value({ texts, hex });
  return `${json}}`;
}

/** The parts of an envelope; undefined if they do not reproduce it byte for byte. */
export function partEnvelope(of: EnvelopeOf, envelope: string): EnvelopeParts | undefined {
  const members = JSON.parse(envelope) as Readonly<Record<string, unknown>>;
  const digests = Buffer.from(digestNames.map((name) => String(members[name])).join(''), 'hex');
  const { received_at: receivedAt, status } = members;
  const isWhole = digests.byteLength === digestNames.length * digestBytes;
  if (!isWhole || typeof receivedAt !== 'string' || typeof status !== 'string') return undefined;
  const inEachForm = layouts.map((_, at): EnvelopeParts => ({ form: at + 1, digests, receivedAt, status }));
  return inEachForm.find((parts) => joinEnvelope(of, parts) === envelope);
}
