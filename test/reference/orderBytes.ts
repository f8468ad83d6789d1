/** The record of an order as every version wrote it: all columns of all rails, written down by hand. */
import type { OrderRecord } from '../../src/store/tables/order.js';

function base64url(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString('base64url');
}

/** An order's record: a byte of format, then JSON. */
export function orderBytes(order: OrderRecord): Buffer {
  const { rail } = order;
  const json: Record<string, unknown> = {
    id: order.id,
    rail,
    tier: order.tier,
    network: rail === 'card' ? null : order.network,
    sat: Number(order.sat),
    cents: rail === 'card' ? Number(order.cents) : null,
    rate_cents: order.rateCents === null ? null : Number(order.rateCents),
    term_days: order.termDays,
    created_at_ms: order.createdAtMs,
    expires_at_ms: order.expiresAtMs,
    email: order.email,
    source: order.source,
    segment: order.segment,
    campaign: order.campaign,
    event_id: order.eventId,
    place: order.place,
    reference: rail === 'lightning' ? order.bolt11 : rail === 'card' ? order.intent : null,
    address_index: rail === 'btc' ? order.addressIndex : null,
    confirmations_required: rail === 'btc' ? order.confirmationsRequired : 0,
    status: order.status,
    late: order.late,
    outputs:
      rail === 'btc'
        ? order.outputs.map((each) => [each.txid, each.vout, Number(each.sat), each.confirmations, each.atMs])
        : [],
    paid: rail === 'btc' ? 0 : Number(rail === 'card' ? order.paidCents : order.paidSat),
    refunded: rail === 'card' ? Number(order.refundedCents) : 0,
    key: order.key,
    key_id: order.keyId,
    key_generation: order.keyGeneration,
    seed: base64url(order.seed),
    revealed_at_ms: order.revealedAtMs,
    secret_id: order.secretId,
    claim_hash: base64url(order.claimHash),
    claimed: order.claimed,
    open: order.open,
  };
  let format = 1;
  if (rail === 'btc') {
    const { createdHeight, earlier, orderedBy, seenHeight } = order;
    if (createdHeight !== null || earlier.length > 0 || orderedBy !== null || seenHeight !== null) {
      format = 2;
      json['created_height'] = createdHeight;
      json['earlier'] = earlier.map((outpoint) => [outpoint]);
    }
    if (orderedBy !== null || seenHeight !== null) {
      format = 3;
      json['ordered_by'] = base64url(orderedBy);
    }
    if (seenHeight !== null) {
      format = 4;
      json['seen_height'] = seenHeight;
    }
  }
  if (rail === 'card' && order.disputes.length > 0) {
    format = 5;
    json['created_height'] = null;
    json['earlier'] = [];
    json['ordered_by'] = null;
    json['seen_height'] = null;
    json['disputes'] = order.disputes.map((dispute) => [dispute]);
  }
  return Buffer.concat([Buffer.of(format), Buffer.from(JSON.stringify(json))]);
}
