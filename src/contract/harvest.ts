/** `POST /harvest` on the wire (contract, shard markers in a pasted reply). */
import typia, { type tags } from 'typia';
import {
  contentDigest,
  fragment,
  payloadDigest,
  receipt,
  seal,
  submission,
  type ReceiptStatus,
} from './fragment.js';
import { mebibyte, type ResourceRoutes } from './route.js';
import { post } from './schema/route.js';
import type { Integer, MaxCodePoints } from './schema/tags.js';
import { bodyType, wireTypes } from './schema/wireType.js';

/** A pasted reply. */
export interface HarvestRequest {
  /** The reply; every shard marker in it is read. */
  text: string & MaxCodePoints<102400>;
  /** Label of the authoring mind; becomes each fragment's visitor. */
  mind?: (string & MaxCodePoints<100>) | null;
}

/** Outcome of one marker. */
export interface HarvestItem {
  index: number & Integer & tags.Minimum<0>;
  ok: boolean;
  /** Present when ok. */
  receipt?: string;
  /** Present when not ok. */
  error?: string;
  /** Present when its kind is not one of the eight. */
  warning?: string;
  status: ReceiptStatus | null;
  content_sha256: string | null;
  canonical_payload_sha256: string | null;
  stored_envelope_sha256: string | null;
}

/** Outcome of every marker. */
export interface HarvestResponse {
  found: number & Integer & tags.Minimum<0>;
  admitted: number & Integer & tags.Minimum<0>;
  duplicates: number & Integer & tags.Minimum<0>;
  rejected: number & Integer & tags.Minimum<0>;
  results: HarvestItem[];
}

const [requestType, harvestResponseType] = wireTypes(typia.json.schemas<[HarvestRequest, HarvestResponse]>());

/** The body of POST /harvest. */
const harvestRequestType = bodyType(requestType, typia.createIs<HarvestRequest>());

/** A pasted reply with two markers, the second of them truncated. */
const harvestRequest: HarvestRequest = {
  text:
    'Two things came of it. ' +
    `<<SHARD>>${JSON.stringify({ title: fragment.title, content: fragment.content, kind: 'BRIDGE' })}` +
    '<</SHARD>> And: <<SHARD>>{"title": "Unfinished',
  mind: 'Ada',
};

/** Their outcome. The first marker has the content of the stored fragment above, and so gets its receipt. */
const harvestResponse: HarvestResponse = {
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
      error: 'Marker 1 (at character 287): its JSON is refused 30 characters in: syntax',
      status: null,
      content_sha256: null,
      canonical_payload_sha256: null,
      stored_envelope_sha256: null,
    },
  ],
};

/** POST /harvest. */
export const harvestRoutes = {
  harvest: {
    ...submission,
    path: '/harvest',
    summary: 'Store every fragment in a pasted reply',
    description:
      'Reads every `<<SHARD>>{…}<</SHARD>>` in the text, an object with title, content, kind, mechanism ' +
      'and test, and stores it as a fragment. A marker that cannot be read is rejected; the others are ' +
      'stored.',
    body: { kind: 'json', schema: harvestRequestType, other: 'none', limit: 2 * mebibyte },
    counts: 'markers',
    answers: { 200: { schema: harvestResponseType, description: 'The outcome of each marker.' } },
    example: post('/harvest', harvestRequest, harvestResponse),
  },
} as const satisfies ResourceRoutes;
