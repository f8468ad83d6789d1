/** The campaign that a lead, an interest or an order came from, as its sender says. */
import { orNull, text } from './table.js';

/** Members of a record about its campaign; its event id stands apart. */
export const campaignColumns = {
  source: orNull(text),
  segment: orNull(text),
  campaign: orNull(text),
} as const;

/** Members of a request about its campaign. */
interface CampaignRequest {
  readonly source?: string | null;
  readonly segment?: string | null;
  readonly campaign?: string | null;
  readonly event_id?: string | null;
}

/** A request's campaign as a record holds it: null for what is absent. */
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
