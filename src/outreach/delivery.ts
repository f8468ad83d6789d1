/** The delivery models and interest in them (contract, DeliveryInterestRequest): a catalogue, not a shop. */
import { jsonAnswer } from '../contract/answer.js';
import type { DeliveryInterestRequest, DeliveryInterestResponse } from '../contract/delivery.js';
import type { Answer, Handler } from '../contract/exchange.js';
import { campaignOf } from '../store/tables/campaign.js';
import { appendInterest } from '../store/tables/interests.js';
import { catalogueOf } from './catalogue.js';
import { timeText } from '../system/clock.js';
import { entryId, type StoringParts } from './leads.js';
import type { Operator } from './operator.js';

/** Answers with the catalogue, in the operator's words. */
export function deliveryModels(operator: Operator): () => Answer {
  const answer = jsonAnswer(200, catalogueOf(operator));
  return () => answer;
}

/** The next step after interest was stored: a person takes it. */
const nextStep =
  'A human reads this and replies to the address you gave. Nothing has been provisioned, billed or ' +
  'emailed.';

/** Stores interest in delivery models. */
export function deliveryInterest(
  { store, clock }: StoringParts,
  operator: Operator,
): Handler<DeliveryInterestRequest> {
  const next = operator.next_step === null ? nextStep : `${nextStep} ${operator.next_step}`;
  return async ({ input }) => {
    const id = entryId('interest', store.newUnitId());
    const receivedAtMs = clock.wallMs();
    await appendInterest(store, undefined, {
      id,
      receivedAtMs,
      email: input.email,
      deliveryModel: input.delivery_model,
      company: input.company ?? null,
      cloud: input.cloud ?? null,
      monthlyChars: input.monthly_chars ?? null,
      timeline: input.timeline ?? null,
      compliance: input.compliance ?? null,
      message: input.message ?? null,
      ...campaignOf(input),
    });
    const body: DeliveryInterestResponse = {
      ok: true,
      id,
      received_at: timeText(receivedAtMs),
      delivery_model: input.delivery_model,
      next_step: next,
    };
    return jsonAnswer(200, body);
  };
}
