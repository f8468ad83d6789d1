/** `POST /v1/leads` (contract, LeadRequest): the lead is on disk before the answer is sent. */
import { jsonAnswer } from '../contract/answer.js';
import type { Handler } from '../contract/exchange.js';
import type { LeadRequest, LeadResponse } from '../contract/leads.js';
import { campaignOf } from '../store/tables/campaign.js';
import { appendLead } from '../store/tables/leads.js';
import type { Store } from '../store/store.js';
import { timeText, type Clock } from '../system/clock.js';

/** Dependencies of the handlers that store something. */
export interface StoringParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'wallMs'>;
}

/** The id of a stored entry for its client. */
export function entryId(prefix: string, id: Uint8Array): string {
  return `${prefix}_${Buffer.from(id).toString('hex')}`;
}

/** Stores leads. */
export function leads({ store, clock }: StoringParts): Handler<LeadRequest> {
  return async ({ input }) => {
    const id = entryId('lead', store.newUnitId());
    const receivedAtMs = clock.wallMs();
    await appendLead(store, undefined, {
      id,
      receivedAtMs,
      email: input.email,
      tier: input.tier ?? null,
      message: input.message ?? null,
      ...campaignOf(input),
    });
    const body: LeadResponse = { ok: true, id, received_at: timeText(receivedAtMs) };
    return jsonAnswer(200, body);
  };
}
