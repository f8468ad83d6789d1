/** One request to a node's JSON interface over HTTPS, with a time limit. */
import { request, type Agent, type RequestOptions } from 'node:https';
import type { Clock } from '../system/clock.js';

/** A request to a node. */
export interface NodeRequest {
  readonly agent: Agent;
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  /** `user:password` for basic authentication. A secret. */
  readonly auth?: string;
  /** JSON text; `''`: none. */
  readonly body: string;
}

/** What a node answered. */
export interface NodeResponse {
  readonly status: number;
  readonly text: string;
}

/** How long an answer may take (ms). */
const answerMs = 5_000;

/** Characters of an answer that are read at most. */
const mostCharacters = 64 * 1024 * 1024;

/** Sends a request; rejects with an Error whose message tells nothing secret. */
export function askNode(
  url: URL,
  { agent, method, headers, auth, body }: NodeRequest,
  clock: Pick<Clock, 'after'>,
): Promise<NodeResponse> {
  const options: RequestOptions = {
    agent,
    method,
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers },
    ...(auth === undefined ? {} : { auth }),
  };
  return new Promise((resolve, reject) => {
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
