/** `POST /mcp` on the wire: tools for AI systems (Model Context Protocol 2026-07-28, and earlier). */
import typia, { type tags } from 'typia';
import { dreamConfirmRequestType, dreamRequestType } from './dream.js';
import { keyHeadersType } from './key.js';
import { keyedProblems, kibibyte, type ResourceRoutes } from './route.js';
import type { ServedPart } from './served.js';
import { componentOf, type SchemaObject } from './schema/component.js';
import { post } from './schema/route.js';
import type { Integer, MaxCodePoints } from './schema/tags.js';
import { bodyType, wireTypes, type BodyType, type WireType } from './schema/wireType.js';

/** One text to rank, optionally with an id. */
export interface RerankToolDocument {
  /** Returned in the results; absent: the document's index, from 0. */
  id?: string;
  /** The text. */
  text: string;
}

/** Arguments of `rerank`. */
export interface RerankToolArguments {
  /** The question or search words. */
  query: string;
  /** The texts to rank: strings, or objects with `text` and an `id`. */
  documents: (string | RerankToolDocument)[] & tags.MinItems<1> & tags.MaxItems<1000>;
  /** Number of results to return; 0, null or absent: all. */
  top_n?: (number & Integer & tags.Minimum<0>) | null;
  /** True: each result has the parts of its score. */
  explain?: boolean;
}

/** Arguments of `normalize_text`. */
export interface NormalizeToolArguments {
  /** The text to repair. */
  text: string & MaxCodePoints<100000>;
  /**
   * `repair` (default): no glosses; `augment`: adds a symbol's name after it; `replace`: puts the name in its
   * place.
   */
  mode?: 'augment' | 'replace' | 'repair';
}

/** Arguments of `audit_records`. */
export interface AuditToolArguments {
  /** Records of a search index, or queries. */
  records: (string & MaxCodePoints<20000>)[] & tags.MinItems<1> & tags.MaxItems<500>;
  /** Search engine whose default analyzer is judged, such as `elasticsearch`. */
  stack?: string & MaxCodePoints<80>;
}

/** Arguments of `fragment_preview`. */
export interface FragmentToolArguments {
  title: string & MaxCodePoints<100>;
  /** The abstraction itself, without private data. */
  content: string & MaxCodePoints<2000>;
  /** How it works. */
  mechanism?: string & MaxCodePoints<1000>;
  /** How it could be shown to be wrong. */
  test?: string & MaxCodePoints<500>;
  /**
   * BRIDGE, COUNTEREXAMPLE, CRITIQUE, HARNESS, HYPOTHESIS, NEGATIVE_RESULT, REINTERPRETATION or
   * TEST_DESIGN; an unknown one is stored as HYPOTHESIS.
   */
  kind?: string & MaxCodePoints<32>;
  /** A name of the author's choice. */
  visitor?: string & MaxCodePoints<100>;
}

/** Arguments of `receipt_get` and `receipt_verify`. */
export interface ReceiptToolArguments {
  /** `fr_` and 26 characters. */
  receipt: string & MaxCodePoints<64>;
}

/** Arguments of `fragments_near`: either `text` or `receipt`. */
export interface NearToolArguments {
  /** A text to find the nearest fragments of. */
  text?: string & MaxCodePoints<2000>;
  /** A fragment to find the neighbours of. */
  receipt?: string & MaxCodePoints<64>;
  /** Most results; 10 where absent. */
  k?: number & Integer & tags.Minimum<1> & tags.Maximum<100>;
}

/** A message to the server (JSON-RPC 2.0). */
export interface McpRequest {
  jsonrpc: '2.0';
  /** Absent in a notification. */
  id?: string | (number & Integer);
  method: string;
  params?: { [name: string]: unknown };
}

/** Why a message was refused. */
export interface McpError {
  /** Error code of JSON-RPC 2.0 or of the protocol. */
  code: number & Integer;
  message: string;
  data?: { [name: string]: unknown };
}

/** The answer to a message: `result` or `error`. */
export interface McpResponse {
  jsonrpc: '2.0';
  /** The message's id; null where it could not be read. */
  id: string | (number & Integer) | null;
  result?: { [name: string]: unknown };
  error?: McpError;
}

const [rerank, normalize, audit, fragment, receiptArguments, nearArguments] = wireTypes(
  typia.json.schemas<
    [
      RerankToolArguments,
      NormalizeToolArguments,
      AuditToolArguments,
      FragmentToolArguments,
      ReceiptToolArguments,
      NearToolArguments,
    ]
  >(),
);
const [mcpRequestType, mcpResponseType] = wireTypes(typia.json.schemas<[McpRequest, McpResponse]>());

/** Types of the tools' own arguments. */
export const toolTypes = {
  rerank: bodyType(rerank, typia.createIs<RerankToolArguments>()),
  normalize: bodyType(normalize, typia.createIs<NormalizeToolArguments>()),
  audit: bodyType(audit, typia.createIs<AuditToolArguments>()),
  preview: bodyType(fragment, typia.createIs<FragmentToolArguments>()),
  submit: dreamRequestType,
  confirm: dreamConfirmRequestType,
  receipt: bodyType(receiptArguments, typia.createIs<ReceiptToolArguments>()),
  near: bodyType(nearArguments, typia.createIs<NearToolArguments>()),
} as const;

/** A tool, as clients see it listed. */
export interface ToolDescription {
  readonly title: string;
  readonly description: string;
  readonly type: BodyType;
  /** The part that must be served for it. */
  readonly part: ServedPart;
  /** True if it changes nothing. */
  readonly isReadOnly: boolean;
}

/** Every tool by its name, in the order in which they are listed. */
export const mcpTools = {
  rerank: {
    title: 'Order texts by relevance',
    description:
      'Orders texts by how well they answer a query: words (BM25) and meaning (embeddings) together. Use ' +
      'it on search results, notes or passages before reading them. Returns ids with scores, best first.',
    type: toolTypes.rerank,
    part: 'fuse',
    isReadOnly: true,
  },
  normalize_text: {
    title: 'Repair a text',
    description:
      'Repairs mojibake, look-alike letters, invisible characters and typographic signs, and lists every ' +
      'change with its place.',
    type: toolTypes.normalize,
    part: 'normalize',
    isReadOnly: true,
  },
  audit_records: {
    title: 'Find what keeps records from being found',
    description:
      'Counts what keeps plain words from finding records: mojibake, look-alikes, invisible characters, ' +
      'duplicates and more, each with its share and masked examples. Nothing is stored.',
    type: toolTypes.audit,
    part: 'audit',
    isReadOnly: true,
  },
  fragment_preview: {
    title: 'Preview a fragment',
    description:
      'Shows what a submission of a short abstraction would store, with its digests and a token to confirm ' +
      'it. Stores no fragment; the server keeps the preview for half an hour.',
    type: toolTypes.preview,
    part: 'door',
    isReadOnly: true,
  },
  fragment_confirm: {
    title: 'Store a previewed fragment',
    description:
      'Stores the fragment of a preview by its token, for everybody to read, and returns its receipt. The ' +
      'same token again returns the same receipt.',
    type: toolTypes.confirm,
    part: 'mcp-write',
    isReadOnly: false,
  },
  fragment_submit: {
    title: 'Store a fragment',
    description:
      'Stores a short abstraction, for everybody to read, and returns its receipt. It must carry no ' +
      'private data. The same idempotency_key again returns the same receipt.',
    type: toolTypes.submit,
    part: 'mcp-write',
    isReadOnly: false,
  },
  receipt_get: {
    title: 'Read a receipt',
    description: 'A stored fragment with its envelope and digests, recomputed from what was read back.',
    type: toolTypes.receipt,
    part: 'door',
    isReadOnly: true,
  },
  receipt_verify: {
    title: 'Verify a receipt',
    description: 'Recomputes every digest of a stored fragment from its public answer, and says which match.',
    type: toolTypes.receipt,
    part: 'door',
    isReadOnly: true,
  },
  fragments_near: {
    title: 'Find fragments by meaning',
    description: 'The stored fragments nearest to a text or to another fragment: give text or receipt.',
    type: toolTypes.near,
    part: 'explore',
    isReadOnly: true,
  },
} as const satisfies Readonly<Record<string, ToolDescription>>;

/** A tool's name. */
export type ToolName = keyof typeof mcpTools;

/** A schema with each reference replaced by the schema that it names: models read it in one piece. */
function inPlace(schema: unknown, met: ReadonlyMap<string, WireType>): unknown {
  if (Array.isArray(schema)) return schema.map((each) => inPlace(each, met));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $ref } = schema as { readonly $ref?: unknown };
  const type = typeof $ref === 'string' ? met.get($ref.split('/').at(-1) ?? '') : undefined;
  if (type !== undefined) return schemaInPlace(type);
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, inPlace(value, met)]));
}

function schemaInPlace(type: WireType): unknown {
  const met = new Map<string, WireType>();
  const schema = componentOf(type, (other) => met.set(other.name, other), 'default');
  return inPlace(schema, met);
}

/** The JSON Schema of a tool's arguments. */
export function inputSchemaOf(type: WireType): SchemaObject {
  return schemaInPlace(type) as SchemaObject;
}

/** Longest message (bytes). It is parsed on the event loop, for up to about 5 ms whatever its content. */
const messageBytes = 128 * kibibyte;

const call = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'rerank',
    arguments: {
      query: 'capital of the United States',
      documents: ['Carson City is the capital of Nevada.', 'Washington, D.C. is the capital.'],
    },
  },
} satisfies McpRequest;

/** POST /mcp. */
export const mcpRoutes = {
  mcp: {
    method: 'POST',
    path: '/mcp',
    part: 'gateway',
    tag: 'mcp',
    extension: true,
    summary: 'Tools for AI systems (Model Context Protocol)',
    description:
      'One JSON-RPC message per request, answered as JSON and without a session. Versions: 2026-07-28, and ' +
      '2025-11-25 and earlier with their handshake. A call counts as one request, and towards the limits ' +
      'of its tool’s route.',
    body: { kind: 'own', described: mcpRequestType, other: 'none', limit: messageBytes },
    parameters: { header: keyHeadersType },
    access: 'key',
    answers: {
      200: { schema: mcpResponseType, description: 'The result, or why there is none.' },
      202: { type: 'application/json', description: 'The notification was accepted; the body is empty.' },
      400: { schema: mcpResponseType, description: 'The message does not fit the protocol.' },
      403: { schema: mcpResponseType, description: 'Pages of other sites may not call.' },
      404: { schema: mcpResponseType, description: 'The protocol version has no such method.' },
    },
    unprocessable: true,
    problems: { ...keyedProblems, 503: ['overloaded', 'store_unavailable'] },
    headers: ['ratelimit', 'ratelimit-policy'],
    reads: [
      ...['origin', 'mcp-protocol-version', 'mcp-method', 'mcp-name'],
      ...['x-forwarded-for', 'forwarded', 'content-length'],
    ],
    cors: false,
    acts: false,
    documented: true,
    example: post('/mcp', call, {
      jsonrpc: '2.0',
      id: 1,
      result: {
        content: [{ type: 'text', text: '{"query":"capital of the United States", …}' }],
        isError: false,
      },
    } satisfies McpResponse),
  },
} as const satisfies ResourceRoutes;
