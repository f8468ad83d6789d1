/** One request to a node's HTTP or HTTPS interface, with a time limit. */
import { Agent as PlainAgent } from 'node:http';
import { Agent, request, type RequestOptions } from 'node:https';
import type { Clock } from '../system/clock.js';
import { activeSpan, httpFacts, recorded } from '../telemetry/tracer.js';

/** A pool of connections to a node. */
export type NodeAgent = Agent | PlainAgent;

/** An agent for a URL's protocol. */
export function agentFor(url: string): NodeAgent {
  const options = { keepAlive: true };
  return url.startsWith('http:') ? new PlainAgent(options) : new Agent(options);
}

/** A request to a node. */
export interface NodeRequest {
  readonly agent: NodeAgent;
  readonly headers?: Readonly<Record<string, string>>;
  /** `user:password` for basic authentication. A secret. */
  readonly auth?: string;
  /** JSON text of a POST; absent: it is a GET. */
  readonly body?: string;
  /** True if the node is the operator's own: it gets the trace that the request belongs to. */
  readonly isOwn?: boolean;
}

/** Answer of a node. */
export interface NodeResponse {
  readonly status: number;
  readonly text: string;
}

/** Time limit of an answer (ms). */
const answerMs = 5_000;

/** Most characters of an answer. */
const mostCharacters = 64 * 1024 * 1024;

/**
 * Sends a request; rejects with an Error whose message contains no secret. It is a span of the request that
 * causes it. Only the operator's own nodes get the trace. No span has a path, because paths hold hashes.
 */
export async function askNode(
  url: URL,
  asked: NodeRequest,
  clock: Pick<Clock, 'after'>,
): Promise<NodeResponse> {
  const method = asked.body === undefined ? 'GET' : 'POST';
  const span = activeSpan()?.child(method, 'client');
  if (span === undefined) return send(url, { ...asked, method }, clock);
  const facts = { 'http.request.method': method, 'server.address': url.hostname };
  const headers = { ...asked.headers, ...(asked.isOwn === true ? span.fields() : {}) };
  const work = () => send(url, { ...asked, method, headers }, clock);
  return recorded(span, facts, work, ({ status }) => httpFacts(status));
}

function send(
  url: URL,
  { agent, method, headers, auth, body = '' }: NodeRequest & { readonly method: string },
  clock: Pick<Clock, 'after'>,
): Promise<NodeResponse> {
  const options: RequestOptions = {
    agent,
    method,
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers },
    ...(auth === undefined ? {} : { auth }),
  };
  return new Promise((resolve, reject) => {
    // The agent decides whether the connection is one of TLS.
    const sent = request(url, options);
    const timer = clock.after(answerMs, () => sent.destroy(new Error('it took too long')));
    const fail = (error: Error): void => {
      timer.stop();
      reject(error);
    };
    sent.on('error', fail);
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('error', fail);
      response.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > mostCharacters) sent.destroy(new Error('it says too much'));
      });
      response.on('end', () => {
        timer.stop();
        resolve({ status: response.statusCode ?? 0, text });
      });
      response.on('close', () => fail(new Error('it broke off')));
    });
    sent.end(body);
  });
}

/** Progress of an answer that is still being read. */
export interface LineListener {
  /** A line of the answer. If this throws, the connection ends. */
  readonly onLine: (line: string) => void;
  /** The answer has ended, or never began. Called once. */
  readonly onEnd: () => void;
}

/** Reads a streamed answer line by line, until it is stopped or breaks off. */
export function followLines(
  url: URL,
  options: Pick<RequestOptions, 'agent' | 'headers'>,
  { onLine, onEnd }: LineListener,
): { readonly stop: () => void } {
  let ended = false;
  const end = (): void => {
    if (!ended) onEnd();
    ended = true;
  };
  const sent = request(url, options);
  sent.on('error', end);
  sent.on('close', end);
  sent.on('response', (response) => {
    if (response.statusCode !== 200) {
      sent.destroy();
      return;
    }
    let rest = '';
    response.setEncoding('utf8').on('error', end);
    response.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      try {
        lines.filter((line) => line !== '').forEach(onLine);
        if (rest.length > mostCharacters) throw new Error('it says too much');
      } catch {
        sent.destroy();
      }
    });
    response.on('end', () => sent.destroy());
  });
  sent.end();
  return { stop: () => void sent.destroy() };
}
