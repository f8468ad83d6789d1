/** `POST /dream_confirm` and `GET /dream_confirm` (contract, fragment door, states and transitions). */
import { jsonAnswer, problemAnswer, unprocessable } from '../contract/answer.js';
import {
  isRecovery,
  tokenFault,
  type DreamConfirmRequest,
  type DreamConfirmResponse,
  type DreamConfirmStateResponse,
} from '../contract/dream.js';
import type { Answer, Handler } from '../contract/exchange.js';
import { findBinding } from '../store/tables/fragments.js';
import { digestsOf, identityOf, receiptAnswer, receivedFields, refusalOf, warningField } from './answers.js';
import { noStore } from './preview.js';
import type { Previews } from './previews.js';
import { accept, replay, submit, type GivenFragment, type Received, type SubmitParts } from './submit.js';

type Warning = ReturnType<typeof warningField>;

/** Dependencies of confirming. */
export interface ConfirmParts extends SubmitParts {
  readonly previews: Previews;
}

/** The idempotency key of a confirmation; longer than any that a client may choose. */
function keyOf(token: string): string {
  return `confirm:${token}`;
}

const notFound = problemAnswer(
  404,
  'preview_not_found',
  'No preview is pending under this token: it expired, or the server was restarted. Send the fields of ' +
    'the preview again beside confirm: title, content, mechanism, test, visitor, kind.',
);

const mismatch = problemAnswer(
  409,
  'token_mismatch',
  'The fields that came with confirm are not those of its preview: they give another token. Send the ' +
    "preview's own fields, or make a new preview with GET /dream_get.",
);

function answer(received: Received, payload: string, input: DreamConfirmRequest, warning: Warning): Answer {
  const { receipt } = received;
  const { content_sha256, canonical_payload_sha256, stored_envelope_sha256 } = digestsOf(receipt);
  const body: DreamConfirmResponse = {
    ...receivedFields(received, payload),
    ...warning,
    content_sha256,
    canonical_payload_sha256,
    stored_envelope_sha256,
    stored_fragment_identity: identityOf(receipt),
    cryptographic_verification: receipt.verification,
    retrieval_verified: receipt.verification.verified,
    idempotency_key: keyOf(input.confirm),
  };
  return receiptAnswer(received, body);
}

/** Submits the fields of a preview under its token. */
async function confirmWith(
  parts: ConfirmParts,
  given: GivenFragment,
  input: DreamConfirmRequest,
): Promise<Answer> {
  const { accepted, submitted } = await submit(parts, given, keyOf(input.confirm));
  const refusal = refusalOf(submitted);
  if (refusal !== undefined) return refusal;
  const payload = accepted.digests.canonical_payload_sha256;
  return answer(submitted as Received, payload, input, warningField(accepted, input.kind));
}

/** Confirms by the token alone: returns the earlier confirmation, or else submits the stored preview. */
async function confirmByToken(parts: ConfirmParts, input: DreamConfirmRequest): Promise<Answer> {
  const earlier = await replay(parts.store, keyOf(input.confirm));
  if (earlier === undefined) {
    const waiting = await parts.previews.find(input.confirm);
    return waiting === undefined ? notFound : confirmWith(parts, waiting, input);
  }
  return answer(earlier.received, earlier.payload, input, {});
}

/** Confirms previews. Fields in the request must match the token, also for a token that is already known. */
export function confirm(parts: ConfirmParts): Handler<DreamConfirmRequest> {
  return async ({ input }) => {
    const { confirm: token, ...given } = input;
    if (!isRecovery(input)) return confirmByToken(parts, input);
    const { digests } = accept(parts.sealFragment, given);
    if (digests.confirmation_binding_sha256 !== token) return mismatch;
    return confirmWith(parts, given, input);
  };
}

const how =
  'POST /dream_confirm with {"confirm": "<token>"}, the token that GET /dream_get returned. Once the ' +
  'preview has expired, send its fields too.';

const hows: Readonly<Record<DreamConfirmStateResponse['state'], string>> = {
  previewed: 'POST /dream_confirm with {"confirm": "<this token>"} stores the fragment.',
  completed: 'It is stored; a repeated POST /dream_confirm answers with the same receipt.',
  unknown: how,
};

function state(name: DreamConfirmStateResponse['state'], receipt: string | null = null): Answer {
  const body: DreamConfirmStateResponse = { state: name, receipt, how: hows[name] };
  return { ...jsonAnswer(200, body), headers: noStore };
}

/** Reports the state of a confirmation; changes nothing. */
export function confirmState({ store, previews }: Pick<ConfirmParts, 'store' | 'previews'>): Handler {
  return async ({ query }) => {
    const token = query['confirm'];
    if (token === undefined) return state('unknown');
    const fault = tokenFault(token, 'query');
    if (fault !== undefined) return unprocessable([fault]);
    const found = await findBinding(store, keyOf(token));
    if (found !== undefined) return state('completed', found.receipt);
    return state((await previews.find(token)) === undefined ? 'unknown' : 'previewed');
  };
}
