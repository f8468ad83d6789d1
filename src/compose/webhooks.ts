/** Sends to webhooks over https, and to permitted addresses only. */
import dns from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { OpenedStore } from '../commands/withStore.js';
import type { Configuration } from '../configuration.js';
import { hostOf, wrongAddress } from '../outreach/webhookTarget.js';
import { Webhooks, type Answered, type Send, type WebhookParts } from '../outreach/webhooks.js';
import { systemClock } from '../system/clock.js';
import { parseNetwork, type Network } from '../system/network.js';
import { systemRandomness } from '../system/randomness.js';
import { httpFacts, recorded, type Tracer } from '../telemetry/tracer.js';

/** Time limit of a receiver's answer (ms). */
const answerMs = 20_000;

/** Looks a host up, and refuses it if one of its addresses is not permitted. */
function checkedLookup(protocol: string, networks: readonly Network[]): LookupFunction {
  return (host, options, callback) => {
    dns.lookup(host, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const wrong = found.map(({ address }) => wrongAddress(address, protocol, networks));
      const first = wrong.find((each) => each !== undefined);
      if (first !== undefined) callback(new Error(`Nothing is sent to ${host}: ${first}.`), []);
      else if (options.all === true) callback(null, found);
      else callback(null, found[0]?.address ?? '', found[0]?.family);
    });
  };
}

/** Parses Retry-After: seconds, or a date (RFC 9110, 10.2.3); undefined: absent or malformed. */
function retryAfter(field: string | undefined): number | undefined {
  if (field === undefined) return undefined;
  if (/^\d{1,9}$/.test(field)) return Number(field);
  const atMs = Date.parse(field);
  return Number.isNaN(atMs) ? undefined : Math.max(0, (atMs - systemClock.wallMs()) / 1_000);
}

/** A sender of messages. `networkTexts`: private networks that are permitted. */
export function webhookSender(networkTexts: readonly string[]): Send {
  const networks = networkTexts.flatMap((each) => parseNetwork(each) ?? []);
  const agents = { 'http:': new http.Agent(), 'https:': new https.Agent() } as const;
  return (text, headers, body, signal) => {
    const url = new URL(text);
    const protocol = url.protocol === 'http:' ? 'http:' : 'https:';
    const host = hostOf(url);
    const wrong = isIP(host) === 0 ? undefined : wrongAddress(host, protocol, networks);
    if (wrong !== undefined) return Promise.reject(new Error(`Nothing is sent to ${host}: ${wrong}.`));
    const { request } = protocol === 'http:' ? http : https;
    const lookup = checkedLookup(protocol, networks);
    const options = { method: 'POST', headers, agent: agents[protocol], signal, lookup } as const;
    return new Promise<Answered>((resolve, reject) => {
      const sent = request(url, options, (answer) => {
        resolve({ status: answer.statusCode ?? 0, retryAfterS: retryAfter(answer.headers['retry-after']) });
        // The body is ignored.
        answer.destroy();
      });
      const late = systemClock.after(answerMs, () =>
        sent.destroy(new Error(`no answer in ${answerMs / 1_000} s`)),
      );
      sent.on('error', reject);
      sent.on('close', () => {
        late.stop();
        // After a 101 that nobody asked for, Node closes the connection without an answer or an error.
        reject(new Error('the connection was closed before an answer'));
      });
      sent.end(body);
    });
  };
}

/**
 * Sends each message in a new trace, which the receiver continues: it is the operator's own. The request that
 * caused an event is long over, and another process may send.
 */
export function tracedSend(send: Send, tracer: Tracer | undefined): Send {
  if (tracer === undefined) return send;
  return async (url, head, body, signal) => {
    const span = tracer.root('POST', 'client');
    if (span === undefined) return send(url, head, body, signal);
    const { hostname } = new URL(url);
    const facts = { 'http.request.method': 'POST', 'server.address': hostname };
    const work = () => send(url, { ...head, ...span.fields() }, body, signal);
    return recorded(span, facts, work, ({ status }) => httpFacts(status));
  };
}

/** Starts sending, in whichever process that shares the store holds the lease. */
export function startWebhooks(
  { webhookNetworks }: Pick<Configuration, 'webhookNetworks'>,
  parts: OpenedStore & Pick<WebhookParts, 'clock' | 'log' | 'holder'>,
  tracer?: Tracer,
): Webhooks {
  const send = tracedSend(webhookSender(webhookNetworks), tracer);
  return new Webhooks({ ...parts, randomness: systemRandomness, send });
}
