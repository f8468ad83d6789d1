/** The campaign that a lead, an interest or an order came from, as the sender named it. */
import { orNull, text } from '../table.js';

/** Campaign members of a record, without the event id. */
export const campaignColumns = {
  source: orNull(text),
  segment: orNull(text),
  campaign: orNull(text),
} as const;

/** Campaign members of a request. */
interface CampaignRequest {
  readonly source?: string | null;
  readonly segment?: string | null;
  readonly campaign?: string | null;
  readonly event_id?: string | null;
}

/** A request's campaign as a record holds it: absent members are null. */
export function campaignOf({ source, segment, campaign, event_id }: CampaignRequest): {
  readonly source: string | null;
  readonly segment: string | null;
  readonly campaign: string | null;
  readonly eventId: string | null;
} {
  return {
    source: source ?? null,
    segment: segment ?? null,
    campaign: campaign ?? null,
    eventId: event_id ?? null,
  };
}
