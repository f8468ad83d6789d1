/**
 * `POST /mcp`: the Model Context Protocol over streamable HTTP, without a session: revision 2026-07-28, whose
 * requests are self-contained, and the earlier revisions, whose handshake leaves no state.
 */
import type { Answer, AnswerBody, Handler, RouteRequest } from '../contract/exchange.js';
import { inputSchemaOf, mcpTools, type McpError } from '../contract/mcp.js';
import { readBody, type CheckJson } from '../contract/schema/body.js';
import type { ValidationError } from '../contract/schema/validation.js';
import type { ServedPart } from '../contract/served.js';
import { whenUnavailable } from '../store/store.js';
import { callTool, isToolName, type ToolParts } from './tools.js';

/** Parts of the handler. */
export interface McpParts extends ToolParts {
  readonly checkJson: CheckJson;
  readonly serve: readonly ServedPart[];
  /** Public address of the server, if known: pages from there may call. */
  readonly publicUrl: string | null;
  readonly version: string;
}

/** The revision without a handshake. */
const modern = '2026-07-28';

/** Revisions with a handshake, the newest first. */
const handshakes = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

const codes = {
  parse: -32700,
  request: -32600,
  method: -32601,
  params: -32602,
  header: -32020,
  version: -32022,
} as const;

const metaPrefix = 'io.modelcontextprotocol/';
const jsonType = 'application/json';

/** Time for which a client may cache the list of tools (ms); it changes only when the server restarts. */
const listMs = 300_000;

type Id = string | number | null;
type Members = Readonly<Record<string, unknown>>;

function membersOf(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Members)
    : undefined;
}

function answerOf(status: number, text: string, charge = 0): Answer {
  return { status, body: { bytes: text, type: jsonType }, charge };
}

function result(id: Id, value: object): Answer {
  return answerOf(200, JSON.stringify({ jsonrpc: '2.0', id, result: value }));
}

function failure(status: number, id: Id, code: number, message: string, data?: McpError['data']): Answer {
  const error = { code, message, ...(data === undefined ? {} : { data }) };
  return answerOf(status, JSON.stringify({ jsonrpc: '2.0', id, error }));
}

const accepted: Answer = { status: 202, body: { bytes: '', type: jsonType }, charge: 0 };

/**
 * True if a page of this origin may call: no origin, the server's own, or this machine's. Otherwise a page
 * elsewhere could point its own name here (DNS rebinding) and use the browser's access to a private network.
 */
function isAllowed(origin: string, publicUrl: string | null): boolean {
  if (origin === '' || origin === publicUrl) return true;
  if (!URL.canParse(origin)) return false;
  const { hostname } = new URL(origin);
  return hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]';
}

/** A header's value; `=?base64?…?=` encodes characters that a header cannot carry. */
function decoded(value: string): string {
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(value) ?? [];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString();
}

/** A message that expects an answer. */
interface Message {
  readonly id: string | number;
  readonly method: string;
  readonly params: Members;
}

/** The refusal of a message of the newest revision that does not match its header, else undefined. */
function mismatch({ id, method, params }: Message, request: RouteRequest): Answer | undefined {
  const meta = membersOf(params['_meta']) ?? {};
  const missing = ['protocolVersion', 'clientCapabilities'].filter((name) => !(metaPrefix + name in meta));
  if (missing.length > 0) {
    const names = missing.map((name) => metaPrefix + name).join(', ');
    return failure(400, id, codes.params, `params._meta lacks ${names}.`);
  }
  const version = meta[`${metaPrefix}protocolVersion`];
  const pairs: readonly (readonly [string, unknown])[] = [
    ['mcp-protocol-version', version],
    ['mcp-method', method],
    ...(method === 'tools/call' && params['name'] != null ? ([['mcp-name', params['name']]] as const) : []),
  ];
  for (const [name, value] of pairs) {
    const sent = request.header(name);
    if (sent === '' || decoded(sent) !== value) {
      return failure(400, id, codes.header, `The header ${name} is not what the body says.`);
    }
  }
  return version === modern ? undefined : unsupported(id, String(version), [modern]);
}

function unsupported(id: Id, requested: string, supported: string[] = [modern, ...handshakes]): Answer {
  const data = { supported, requested };
  return failure(400, id, codes.version, 'Unsupported protocol version', data);
}

/** A refusal's sentence, from which a model can correct its call. */
function sentenceOf({ status, body }: Answer): string {
  const value = ('json' in body ? body.json : JSON.parse(textOf(body))) as {
    readonly detail?: string | readonly ValidationError[];
  };
  const { detail } = value;
  if (typeof detail === 'string') return detail;
  const faults = (detail ?? []).slice(0, 10).map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`);
  return faults.length === 0
    ? `It failed with status ${status}.`
    : `The arguments do not fit. ${faults.join('; ')}`;
}

/** The text of a body, whose bytes are released. */
function textOf(body: AnswerBody): string {
  if ('json' in body) return JSON.stringify(body.json);
  const { bytes, release } = body;
  const text =
    typeof bytes === 'string' ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  release?.();
  return text;
}

/** Most bytes of a tool's answer, which a result has twice: far more than a model reads. */
const mostToolBytes = 320 << 10;

const tooMuch =
  `The answer has more than the ${mostToolBytes} bytes of a tool's. ` +
  'Send less, or send the request to the HTTP API.';

/** The text of a tool's answer; undefined if it is longer than it may be. The body's bytes are released. */
function toolText(body: AnswerBody): string | undefined {
  if ('bytes' in body && body.bytes.length > mostToolBytes) {
    body.release?.();
    return undefined;
  }
  const text = textOf(body);
  return Buffer.byteLength(text) > mostToolBytes ? undefined : text;
}

/** A tool's answer as the result of its call: its JSON as text and as a value. */
function called(id: Id, answer: Answer, isModern: boolean): Answer {
  const kind = isModern ? '"resultType":"complete",' : '';
  const isAnswered = answer.status === 200;
  const value = isAnswered ? toolText(answer.body) : undefined;
  const isError = value === undefined;
  const text = value ?? (isAnswered ? tooMuch : sentenceOf(answer));
  const content = `"content":[{"type":"text","text":${JSON.stringify(text)}}]`;
  const structured = isError ? '' : `"structuredContent":${text},`;
  const result = `{${kind}${content},${structured}"isError":${isError}}`;
  const message = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
  return answerOf(200, message, answer.charge);
}

/** For a tool that stores nothing, "this may not have been recorded" would be wrong. */
const storeAway: Answer = {
  status: 503,
  body: { json: { detail: 'The store does not answer right now. Try again shortly.' } },
  charge: 0,
};

class Mcp {
  private readonly tools: readonly object[];
  private readonly names: ReadonlySet<string>;

  constructor(private readonly parts: McpParts) {
    const { serve } = parts;
    const served = Object.entries(mcpTools).filter(
      ([, { part }]) => serve.includes(part) && (part !== 'mcp-write' || serve.includes('door')),
    );
    this.names = new Set(served.map(([name]) => name));
    this.tools = served.map(([name, { title, description, type, isReadOnly }]) => ({
      ...{ name, title, description, inputSchema: inputSchemaOf(type) },
      annotations: { title, readOnlyHint: isReadOnly, destructiveHint: false, idempotentHint: isReadOnly },
    }));
  }

  readonly answer = (request: RouteRequest): Answer | Promise<Answer> => {
    if (!isAllowed(request.header('origin'), this.parts.publicUrl)) {
      return failure(
        403,
        null,
        codes.request,
        'Pages of this origin may not call. Set PUBLIC_URL to allow one.',
      );
    }
    const read = readBody(request.body, this.parts.checkJson);
    if (!read.ok) return failure(400, null, codes.parse, 'Parse error: the body is not JSON.');
    const members = membersOf(read.value);
    const { jsonrpc, method, id, params = {} } = members ?? {};
    const given = membersOf(params);
    if (members !== undefined && jsonrpc === '2.0' && typeof method === 'string' && given !== undefined) {
      if (!('id' in members)) return this.notified(request);
      if (typeof id === 'string' || Number.isSafeInteger(id)) {
        return this.respond({ id: id as string | number, method, params: given }, request);
      }
    }
    return failure(
      400,
      null,
      codes.request,
      'Send one JSON-RPC 2.0 message, with an id of text or a whole number.',
    );
  };

  /** A message that expects no answer changes nothing here. */
  private notified(request: RouteRequest): Answer {
    const version = request.header('mcp-protocol-version');
    return isKnown(version) ? accepted : unsupported(null, version);
  }

  private respond(message: Message, request: RouteRequest): Answer | Promise<Answer> {
    const { id, method, params } = message;
    const header = request.header('mcp-protocol-version');
    const said = membersOf(params['_meta'])?.[`${metaPrefix}protocolVersion`];
    const isModern = header === modern || said !== undefined;
    const refusal = isModern
      ? mismatch(message, request)
      : isKnown(header)
        ? undefined
        : unsupported(id, header);
    if (refusal !== undefined) return refusal;
    if (method === 'tools/list') return result(id, this.listed(isModern));
    if (method === 'tools/call') return this.call(message, request, isModern);
    if (isModern && method === 'server/discover') return result(id, this.discovered());
    if (!isModern && method === 'ping') return result(id, {});
    if (!isModern && method === 'initialize') return result(id, this.initialized(params));
    return failure(isModern ? 404 : 200, id, codes.method, `Method not found: ${method}`);
  }

  private get serverInfo(): object {
    return { name: 'fusegate', title: 'Fusegate', version: this.parts.version };
  }

  private initialized({ protocolVersion }: Members): object {
    return {
      protocolVersion: handshakes.find((version) => version === protocolVersion) ?? handshakes[0],
      capabilities: { tools: {} },
      serverInfo: this.serverInfo,
    };
  }

  private discovered(): object {
    return {
      resultType: 'complete',
      supportedVersions: [modern],
      capabilities: { tools: {} },
      ...{ ttlMs: listMs, cacheScope: 'public' },
      _meta: { [`${metaPrefix}serverInfo`]: this.serverInfo },
    };
  }

  private listed(isModern: boolean): object {
    const { tools } = this;
    return isModern ? { resultType: 'complete', tools, ttlMs: listMs, cacheScope: 'public' } : { tools };
  }

  private call({ id, params }: Message, request: RouteRequest, isModern: boolean): Answer | Promise<Answer> {
    const { name, arguments: given = {} } = params;
    if (!isToolName(name) || !this.names.has(name)) {
      const message = `Unknown tool: ${typeof name === 'string' ? name : 'none is named'}`;
      return failure(isModern ? 400 : 200, id, codes.params, message);
    }
    const answer = whenUnavailable(callTool(name, given, request, this.parts), () => storeAway);
    return answer.then((told) => called(id, told, isModern));
  }
}

/** True for a supported revision; a client that names none uses an early one. */
function isKnown(version: string): boolean {
  return version === '' || version === modern || handshakes.some((known) => known === version);
}

/** Makes the handler. */
export function mcpHandler(parts: McpParts): Handler {
  return new Mcp(parts).answer;
}
