/** One full example of each route of the fragment door: the worked example of docs/receipt.md. */
import type {
  DreamConfirmRequest,
  DreamConfirmResponse,
  DreamConfirmStateResponse,
  DreamPreviewResponse,
  DreamRequest,
  DreamResponse,
} from './dream.js';
import type { CryptographicVerification, Fragment, FragmentDigests } from './fragment.js';
import { canonicalization, hashScope } from './fragment.js';
import type { HarvestRequest, HarvestResponse } from './harvest.js';
import type { ReceiptResponse } from './receipt.js';

/** Its receipt's id. */
export const receipt = 'fr_01M7YQ1WE038NKRKAYDXR834J3';
const contentDigest = '7b57128cbe4631608f628147ea2302ea748db15df0781992736174a6f58700e4';
const payloadDigest = '00085ee6ec4522eaea5403b9133b61c09b5036f4a7f53569dc3d1dc4f0b541e4';
const token = '01592409f8dbf0fb8a0a2562aa78217c4969f42577acf3573705148a42f8e30f';
const seal = '9df9a2d39b44764a9f5d7b22d22b6bae45d7de24e6652e0ce9cceff899992bd7';

/** What was submitted. */
export const dreamRequest: DreamRequest = {
  title: ' Cafe\u0301 \ufb01lters',
  content: 'Stra\u00dfe \u200band\u00a0the LATTICE\r\nhold \u201ctogether\u201d.\t',
  test: 'Remove one strut; \\ "what" falls?',
  kind: 'bridge',
  visitor: 'Ada\u0007',
  idempotency_key: 'a4e2c000-7d1f-4b6c-9a40-e15f3d88aa01',
};

/** What of it is stored. */
export const fragment: Fragment = {
  title: 'Cafe\u0301 \ufb01lters',
  content: 'Stra\u00dfe \u200band\u00a0the LATTICE\nhold \u201ctogether\u201d.',
  mechanism: '',
  test: 'Remove one strut; \\ "what" falls?',
  kind: 'BRIDGE',
  visitor: 'Ada',
};

const digests: Omit<FragmentDigests, 'stored_envelope_sha256'> = {
  content_sha256: contentDigest,
  content_bytes_sha256: contentDigest,
  submission_payload_sha256: '184e361a066b609448bb598f995a9df576012b399ba28f964f255cbefd04d6b7',
  canonical_payload_sha256: payloadDigest,
  dedupe_key_sha256: '0267443835d54a28b78dfa6419dac0713d34df18fdac12bea9c8c7a5f5af2173',
  confirmation_binding_sha256: token,
  confirmation_token_sha256: 'b936a2a91a1000b7163b108a325866a02132a7e6be1697712709e0914f583ea1',
};

const verification: CryptographicVerification = {
  verified: true,
  fields: Object.fromEntries(Object.keys(digests).map((name) => [name, true])),
  envelope: true,
  implementation: '@noble/hashes 2.4.0, Unicode 17.0.0',
};

const identity = {
  receipt,
  stored_envelope_sha256: seal,
  scope: 'receipt-id+envelope-seal-v2',
} as const;

/** Its receipt. */
export const dreamResponse: DreamResponse = {
  receipt,
  status: 'quarantined',
  ...digests,
  stored_envelope_sha256: seal,
  stored_fragment_identity: identity,
  hash_contract: 'fragment-receipt-hash-v2',
  hash_scope: hashScope,
  canonicalization,
  cryptographic_verification: verification,
  retrieval_verified: true,
};

/** The preview of the same. */
export const previewResponse: DreamPreviewResponse = {
  fragment,
  ...digests,
  confirm: token,
  expires_at: '2026-11-21T10:00:00.000Z',
  send: {
    method: 'POST',
    path: '/dream_confirm',
    content_type: 'application/json',
    body: {
      confirm: token,
      title: fragment.title,
      content: fragment.content,
      test: fragment.test,
      kind: fragment.kind,
      visitor: fragment.visitor,
    },
  },
};

/** The query of the preview. */
export const previewQuery =
  'title=+Cafe%CC%81+%EF%AC%81lters&content=Stra%C3%9Fe+%E2%80%8Band%C2%A0the+LATTICE%0D%0Aho' +
  'ld+%E2%80%9Ctogether%E2%80%9D.%09&test=Remove+one+strut%3B+%5C+%22what%22+falls%3F&kind=br' +
  'idge&visitor=Ada%07';

/** The query that asks how its confirmation stands. */
export const stateQuery = `confirm=${token}`;

/** How it stands before it is confirmed. */
export const stateResponse: DreamConfirmStateResponse = {
  state: 'previewed',
  receipt: null,
  how: 'POST /dream_confirm with {"confirm": "<this token>"} stores the fragment.',
};

/** Its confirmation. */
export const confirmRequest: DreamConfirmRequest = { confirm: token };

/** The receipt that confirming gets. */
export const confirmResponse: DreamConfirmResponse = {
  receipt,
  status: 'quarantined',
  content_sha256: contentDigest,
  canonical_payload_sha256: payloadDigest,
  stored_envelope_sha256: seal,
  stored_fragment_identity: identity,
  cryptographic_verification: verification,
  retrieval_verified: true,
  idempotency_key: `confirm:${token}`,
};

/** A pasted reply with two markers, the second of them cut off. */
export const harvestRequest: HarvestRequest = {
  text:
    'Two things came of it. ' +
    `<<SHARD>>${JSON.stringify({ title: fragment.title, content: fragment.content, kind: 'BRIDGE' })}` +
    '<</SHARD>> And: <<SHARD>>{"title": "Unfinished',
  mind: 'Ada',
};

/** What became of them: the first counts as the fragment above, so that its receipt comes back. */
export const harvestResponse: HarvestResponse = {
  found: 2,
  admitted: 0,
  duplicates: 1,
  rejected: 1,
  results: [
    {
      index: 0,
      ok: true,
      receipt,
      status: 'duplicate',
      content_sha256: contentDigest,
      canonical_payload_sha256: payloadDigest,
      stored_envelope_sha256: seal,
    },
    {
      index: 1,
      ok: false,
      error: 'Marker 1 (at character 142): its JSON is refused 30 characters in: syntax',
      status: null,
      content_sha256: null,
      canonical_payload_sha256: null,
      stored_envelope_sha256: null,
    },
  ],
};

/** The receipt's path. */
export const receiptPath = `/receipt/${receipt}`;

/** The receipt, read again. */
export const receiptResponse: ReceiptResponse = {
  receipt,
  status: 'quarantined',
  content_sha256: contentDigest,
  submission_payload_sha256: digests.submission_payload_sha256,
  canonical_payload_sha256: payloadDigest,
  stored_envelope_sha256: seal,
  hash_contract: 'fragment-receipt-hash-v2',
  hash_scope: hashScope,
  canonicalization,
  stored_fragment_identity: identity,
  cryptographic_verification: verification,
  envelope: {
    receipt,
    received_at: '2026-11-21T09:30:00.000Z',
    contract_version: '6.4',
    hash_contract: 'fragment-receipt-hash-v2',
    canonicalization: 'accepted-fields-json-v1',
    unicode: '17.0.0',
    kind: fragment.kind,
    status: 'quarantined',
    ...digests,
  },
  fragment,
};
