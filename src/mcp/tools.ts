/** The tools: each is a route's own handler, called with a request made from the tool's arguments. */
import { jsonAnswer, unprocessable } from '../contract/answer.js';
import type { DreamConfirmRequest, DreamRequest } from '../contract/dream.js';
import { ownedAnswer, type Answer, type Handler, type RouteRequest } from '../contract/exchange.js';
import {
  mcpTools,
  toolTypes,
  type AuditToolArguments,
  type FragmentToolArguments,
  type NearToolArguments,
  type NormalizeToolArguments,
  type ReceiptToolArguments,
  type RerankToolArguments,
  type ToolName,
} from '../contract/mcp.js';
import type { Handlers } from '../contract/routes.js';
import { checkBody } from '../contract/schema/validate.js';
import type { BodyType } from '../contract/schema/wireType.js';
import { verifyAnswer } from '../receipts/verifyAnswer.js';

/** The routes that tools call. */
export const toolRoutes = [
  'fuse',
  'normalize',
  'audit',
  'dreamPreview',
  'dreamConfirm',
  'dream',
  'receipt',
  'near',
] as const;

/** One of {@link toolRoutes}. */
export type ToolRoute = (typeof toolRoutes)[number];

/** Their handlers. */
export type ToolHandlers = Pick<Handlers, ToolRoute>;

/** Decides if the sender of a request may call a route now, and counts the call there. */
export type AdmitTool = (
  route: ToolRoute,
  request: RouteRequest,
) => { readonly refusal: Answer | undefined; readonly charge: (amount: number) => void };

/** Parts of a route's request that come from a tool's arguments. */
interface Asked {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** The body's value, for a route that reads its bytes. */
  readonly body?: unknown;
  /** The checked value, for a route whose handler gets one. */
  readonly input?: unknown;
}

/** A tool's implementation: its route, the request to it, and how its answer is used. */
interface Work<Arguments> {
  readonly route: ToolRoute;
  readonly type: BodyType<Arguments>;
  readonly ask: (given: Arguments) => Asked;
  readonly read?: (answer: Answer) => Answer;
}

function rerankAsks({ query, documents, top_n: topN, explain = false }: RerankToolArguments): Asked {
  const docs = documents.map((document, place) => {
    const { id = String(place), text } = typeof document === 'string' ? { text: document } : document;
    return { id, text };
  });
  const all = topN == null || topN === 0;
  return { body: { query, docs, explain, return_text: false, ...(all ? {} : { top_k: topN }) } };
}

/** The texts of a query string; numbers become digits. */
function texts(given: Readonly<Record<string, string | number | undefined>>): Record<string, string> {
  const entries = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  );
  return Object.fromEntries(entries);
}

/** Recomputes a receipt's digests from its public answer. */
function verified(answer: Answer): Answer {
  if (answer.status !== 200 || !('json' in answer.body)) return answer;
  const found = verifyAnswer(answer.body.json);
  if ('wrong' in found) throw new Error(`A receipt's answer ${found.wrong}`);
  const { receipt, verification, withheld } = found;
  return jsonAnswer(200, { receipt, ...verification, withheld });
}

const works = {
  rerank: { route: 'fuse', type: toolTypes.rerank, ask: rerankAsks } satisfies Work<RerankToolArguments>,
  normalize_text: {
    route: 'normalize',
    type: toolTypes.normalize,
    ask: ({ text, mode = 'repair' }) => ({ body: { text, mode } }),
  } satisfies Work<NormalizeToolArguments>,
  audit_records: {
    route: 'audit',
    type: toolTypes.audit,
    ask: ({ records, stack }) => ({ body: { records, stack, include_html: false } }),
  } satisfies Work<AuditToolArguments>,
  fragment_preview: {
    route: 'dreamPreview',
    type: toolTypes.preview,
    ask: (given) => ({ query: texts({ ...given }) }),
  } satisfies Work<FragmentToolArguments>,
  fragment_confirm: {
    route: 'dreamConfirm',
    type: toolTypes.confirm,
    ask: (given) => ({ input: given }),
  } satisfies Work<DreamConfirmRequest>,
  fragment_submit: {
    route: 'dream',
    type: toolTypes.submit,
    ask: (given) => ({ input: given }),
  } satisfies Work<DreamRequest>,
  receipt_get: {
    route: 'receipt',
    type: toolTypes.receipt,
    ask: ({ receipt }) => ({ path: { id: receipt } }),
  } satisfies Work<ReceiptToolArguments>,
  receipt_verify: {
    route: 'receipt',
    type: toolTypes.receipt,
    ask: ({ receipt }) => ({ path: { id: receipt } }),
    read: verified,
  } satisfies Work<ReceiptToolArguments>,
  fragments_near: {
    route: 'near',
    type: toolTypes.near,
    ask: (given) => ({ query: texts({ ...given }) }),
  } satisfies Work<NearToolArguments>,
} as const satisfies { readonly [Name in ToolName]: unknown };

const noBytes = new Uint8Array(0);

/** The request for a route's handler. It has no header fields: tools have only arguments. */
function requestOf(
  request: RouteRequest,
  { path = {}, query = {}, body, input }: Asked,
): RouteRequest<never> {
  const bytes = body === undefined ? noBytes : Buffer.from(JSON.stringify(body));
  return {
    ...{ id: request.id, path, query, header: () => '', keyed: request.keyed, key: request.key },
    ...{ body: bytes, retain: () => bytes, input: input as never, mayAct: true, head: false },
    mostAnswerBytes: request.mostAnswerBytes,
    peer: () => request.peer(),
    caller: () => request.caller(),
    aborted: () => request.aborted(),
    signal: () => request.signal(),
    hold: (held) => request.hold(held),
  };
}

/** Parts of a call. */
export interface ToolParts {
  readonly handlers: ToolHandlers;
  readonly admit: AdmitTool;
}

/** The answer of the tool's route. Invalid arguments are a 422. */
export async function callTool(
  name: ToolName,
  given: unknown,
  request: RouteRequest,
  { handlers, admit }: ToolParts,
): Promise<Answer> {
  const { route, type, ask, read } = works[name] as Work<unknown>;
  const checked = checkBody(type, given);
  if (!checked.ok) return unprocessable(checked.errors);
  const { refusal, charge } = admit(route, request);
  if (refusal !== undefined) return refusal;
  const handler: Handler<never> = handlers[route];
  const told = handler(requestOf(request, ask(checked.value)));
  const answer = told instanceof Promise ? await told : ownedAnswer(told);
  if (answer.status === 200) charge(answer.charge);
  return read === undefined ? answer : read(answer);
}

/** True if this is the name of a tool. */
export function isToolName(name: unknown): name is ToolName {
  return typeof name === 'string' && Object.hasOwn(mcpTools, name);
}
