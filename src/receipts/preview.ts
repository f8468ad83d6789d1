/** `GET /dream_get` (contract, fragment door): what a submission would store. Nothing is stored. */
import { jsonAnswer, unprocessable } from '../contract/answer.js';
import { emptyFields, type DreamPreviewResponse } from '../contract/dream.js';
import type { Answer, Handler } from '../contract/exchange.js';
import type { Fragment } from '../contract/fragment.js';
import { timeText } from '../system/clock.js';
import { warningField } from './answers.js';
import type { Previews } from './previews.js';
import { accept, type Accepted, type SealFragment } from './submit.js';

/** Dependencies of previews. */
export interface PreviewParts {
  readonly sealFragment: SealFragment;
  readonly previews: Previews;
}

/** Header fields that prevent caching of a preview and its confirmation. */
export const noStore = { 'cache-control': 'no-store' };

/** The fields for a confirmation without the stored preview: those that are not empty. */
function recoveryFields(fragment: Fragment): Record<string, string> {
  return Object.fromEntries(Object.entries(fragment).filter(([, text]) => text !== ''));
}

function body(accepted: Accepted, expiresAtMs: number, kind: string | undefined): DreamPreviewResponse {
  const { fragment, digests } = accepted;
  const confirm = digests.confirmation_binding_sha256;
  return {
    fragment,
    ...digests,
    confirm,
    expires_at: timeText(expiresAtMs),
    send: {
      method: 'POST',
      path: '/dream_confirm',
      content_type: 'application/json',
      body: { confirm, ...recoveryFields(fragment) },
    },
    ...warningField(accepted, kind),
  };
}

/** Previews fragments. HEAD stores nothing. */
export function preview({ sealFragment, previews }: PreviewParts): Handler {
  return ({ query, head }) => {
    const empty = emptyFields(query, 'query');
    if (empty.length > 0) return unprocessable(empty);
    const { title, content, mechanism, test, kind, visitor } = query;
    const accepted = accept(sealFragment, { title, content, mechanism, test, kind, visitor });
    const token = accepted.digests.confirmation_binding_sha256;
    const answer = (expiresAtMs: number): Answer => {
      return { ...jsonAnswer(200, body(accepted, expiresAtMs, kind)), headers: noStore };
    };
    const kept = head ? 0 : previews.keep(token, accepted.fragment);
    return typeof kept === 'number' ? answer(kept) : kept.then(answer);
  };
}
