/** `POST /harvest` (contract, fragment door): every shard marker of a pasted reply, each on its own. */
import { ownJson } from '../contract/answer.js';
import { dreamRequestType, type DreamRequest } from '../contract/dream.js';
import type { Handler } from '../contract/exchange.js';
import type { HarvestItem, HarvestRequest, HarvestResponse } from '../contract/harvest.js';
import { checkBody } from '../contract/schema/validate.js';
import type { ValidationError } from '../contract/schema/validation.js';
import type { ShardMarkers } from '../native/index.js';
import { inSlice, jsonInSlices } from '../system/slices.js';
import { digestsOf, fullDetail, statusOf, warningField } from './answers.js';
import { submit, type GivenFragment, type Received, type SubmitParts } from './submit.js';

/** Dependencies of harvesting. */
export interface HarvestParts extends SubmitParts {
  /** Every shard marker of a text, in its order. */
  readonly findShards: (text: string) => ShardMarkers;
}

/** A shard marker. */
interface Marker {
  /** Characters before it in the text. */
  readonly at: number;
  /** True if it has a JSON object. */
  readonly isWhole: boolean;
  /** The object, or why there is none. */
  readonly text: string;
}

function markersOf({ at, whole, texts }: ShardMarkers): Marker[] {
  const each = texts.split('\0');
  return Array.from(at, (place, index) => {
    return { at: place, isWhole: whole[index] === 1, text: each[index] ?? '' };
  });
}

/** Markers stored together; between lots other requests get their turn. */
const lot = 64;

/** A whole marker's fields, or why it is rejected. */
function fieldsOf(marker: Marker, mind: string | null | undefined): GivenFragment | { error: string } {
  const { title, content, mechanism, test, kind } = JSON.parse(marker.text) as Record<string, unknown>;
  const fields = Object.entries({ title, content, mechanism, test, kind }).filter(
    ([, it]) => it !== undefined,
  );
  const checked = checkBody(dreamRequestType, Object.fromEntries(fields));
  if (!checked.ok) return { error: checked.errors.map(sentence).join('; ') };
  return { ...(checked.value satisfies DreamRequest), visitor: mind };
}

function sentence({ loc, msg }: ValidationError): string {
  return `${loc.slice(1).join('.')}: ${msg}`;
}

function rejected(index: number, { at }: Marker, error: string): HarvestItem {
  return {
    index,
    ok: false,
    error: `Marker ${index} (at character ${at}): ${error}`,
    status: null,
    content_sha256: null,
    canonical_payload_sha256: null,
    stored_envelope_sha256: null,
  };
}

function admitted(index: number, received: Received, warning: { warning?: string }): HarvestItem {
  const { content_sha256, canonical_payload_sha256, stored_envelope_sha256 } = digestsOf(received.receipt);
  return {
    index,
    ok: true,
    receipt: received.receipt.stored.receipt,
    status: statusOf(received),
    content_sha256,
    canonical_payload_sha256,
    stored_envelope_sha256,
    ...warning,
  };
}

async function harvestOne(
  parts: HarvestParts,
  marker: Marker,
  index: number,
  mind: string | null | undefined,
): Promise<HarvestItem> {
  const fields = await inSlice(() => fieldsOf(marker, mind));
  if ('error' in fields) return rejected(index, marker, fields.error);
  const { submitted, accepted } = await submit(parts, fields, undefined);
  if (submitted.kind === 'full') return rejected(index, marker, fullDetail);
  if (submitted.kind === 'conflict') throw new Error('A submission without a key met a conflict of keys');
  return admitted(index, submitted, warningField(accepted, fields.kind));
}

function summary(results: HarvestItem[]): HarvestResponse {
  const count = (matches: (item: HarvestItem) => boolean): number => results.filter(matches).length;
  return {
    found: results.length,
    admitted: count(({ status }) => status === 'quarantined' || status === 'probe'),
    duplicates: count(({ status }) => status === 'duplicate'),
    rejected: count(({ ok }) => !ok),
    results,
  };
}

/**
 * Stores the fragment of every marker. If the store fails, the ones stored so far stay, and a repeated
 * harvest finds them as duplicates.
 */
export function harvest(parts: HarvestParts): Handler<HarvestRequest> {
  return async ({ input }) => {
    const markers = markersOf(parts.findShards(input.text));
    const results: HarvestItem[] = [];
    for (let from = 0; from < markers.length; from += lot) {
      const next = markers.slice(from, from + lot);
      const faulty = await inSlice(() =>
        next.map((marker, index) => (marker.isWhole ? marker : rejected(from + index, marker, marker.text))),
      );
      const items = await Promise.all(
        faulty.map(async (item, index) =>
          'isWhole' in item ? harvestOne(parts, item, from + index, input.mind) : item,
        ),
      );
      results.push(...items);
    }
    // Every marker counts, also a malformed one.
    return ownJson(await jsonInSlices(summary(results)), markers.length);
  };
}
