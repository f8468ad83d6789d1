/** Client of Fusegate: the platform's fetch and SHA-256, and nothing else. */
import type { components, operations } from './gateway.js';
import type { components as DoorComponents, operations as DoorOperations } from './door.js';
import { FusegateError, pauseMs } from './failure.js';

export { FusegateError } from './failure.js';
export { verifyReceipt, type ReceiptVerification } from './receipt.js';

type Schemas = components['schemas'];
type DoorSchemas = DoorComponents['schemas'];

export type FuseRequest = Schemas['FuseRequest'];
export type FuseResponse = Schemas['FuseResponse'];
export type RerankRequest = Schemas['RerankRequest'];
export type RerankResponse = Schemas['RerankV2Response'];
export type NormalizeRequest = Schemas['NormalizeRequest'];
export type NormalizeResponse = Schemas['NormalizeResponse'];
export type AuditRequest = Schemas['FreeAuditRequest'];
export type AuditResponse = Schemas['AuditResponse'];
export type PutCorpusResponse = Schemas['PutCorpusResponse'];
export type Corpus = Schemas['CorpusResponse'];
export type RemovedCorpus = Schemas['RemovedCorpusResponse'];
export type ProfileSettings = Schemas['ProfileSettings'];
export type PutProfileResponse = Schemas['PutProfileResponse'];
export type Profile = Schemas['ProfileResponse'];
export type RemovedProfile = Schemas['RemovedProfileResponse'];
export type Fragment = Omit<DoorSchemas['DreamRequest'], 'idempotency_key'>;
export type FragmentReceipt = DoorSchemas['DreamResponse'];
export type FragmentPreview = DoorSchemas['DreamPreviewResponse'];
export type FragmentConfirmation = DoorSchemas['DreamConfirmResponse'];
export type Receipt = DoorSchemas['ReceiptResponse'];
export type NearQuery = NonNullable<DoorOperations['near']['parameters']['query']>;
export type NearResponse = DoorSchemas['NearResponse'];
export type Limits = operations['limits']['responses'][200]['content']['application/json'];

/** How a client reaches a server. */
export interface FusegateOptions {
  /** The server's address; `http://127.0.0.1:8080` where absent. */
  readonly baseUrl?: string;
  /** The fragment door's, where it has one of its own. */
  readonly doorUrl?: string;
  /** `fg_…`, white space around it aside; none is needed where the server asks for none. */
  readonly apiKey?: string;
  /**
   * Further tries after a 429, 502, 503 or 504, or where nothing answers; 2 where absent. Calls that put or
   * remove something are tried again only after an answer that says that nothing was done.
   */
  readonly retries?: number;
  /** Longest wait before a further try; a longer `Retry-After` is thrown at once. 60,000 where absent. */
  readonly longestWaitMs?: number;
  /** Time for one try; 30,000 where absent. */
  readonly timeoutMs?: number;
  /** In place of the platform's own. */
  readonly fetch?: typeof fetch;
}

/** What one call may have besides its request. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** A submission's own options. */
export interface SubmitOptions extends CallOptions {
  /** The same key with the same fragment gives the same receipt; a fresh one where absent. */
  readonly idempotencyKey?: string;
}

/** The options of counted texts. */
export interface CorpusOptions extends CallOptions {
  /** The analyzer of the requests that will name the statistics; `plain` where absent. */
  readonly analyzer?: string;
}

interface Sent {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly body?: unknown;
  /** A body that is not JSON; its type is among the headers. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A key as a header takes it, without white space around it, such as the line feed of a file.
 * @throws TypeError, which does not show the key: fetch's own, at each call, would
 */
function headerKey(given = ''): string {
  const key = given.trim();
  if (/^[!-~]*$/.test(key)) return key;
  throw new TypeError('The API key has characters that no key has: only visible ASCII is allowed.');
}

/** Calls a server; one instance serves any number of calls at once. */
export class Fusegate {
  readonly #options: Required<Omit<FusegateOptions, 'apiKey'>>;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(options: FusegateOptions = {}) {
    const baseUrl = (options.baseUrl ?? 'http://127.0.0.1:8080').replace(/\/+$/, '');
    const apiKey = headerKey(options.apiKey);
    this.#headers = apiKey === '' ? {} : { 'x-api-key': apiKey };
    this.#options = {
      baseUrl,
      doorUrl: (options.doorUrl ?? baseUrl).replace(/\/+$/, ''),
      retries: options.retries ?? 2,
      longestWaitMs: options.longestWaitMs ?? 60_000,
      timeoutMs: options.timeoutMs ?? 30_000,
      fetch: options.fetch ?? ((...given) => fetch(...given)),
    };
  }

  /** Re-ranks candidates by BM25 and dense similarity. */
  fuse(request: FuseRequest, options?: CallOptions): Promise<FuseResponse> {
    return this.#post('/v1/fuse', request, options);
  }

  /** Orders documents by their relevance to a query, as Cohere's version 2 does. */
  rerank(request: RerankRequest, options?: CallOptions): Promise<RerankResponse> {
    return this.#post('/v2/rerank', request, options);
  }

  /** Repairs a text, and glosses what words do not find. */
  normalize(request: NormalizeRequest, options?: CallOptions): Promise<NormalizeResponse> {
    return this.#post('/v1/normalize', request, options);
  }

  /** Counts what keeps plain words from finding records. */
  audit(request: AuditRequest, options?: CallOptions): Promise<AuditResponse> {
    return this.#post('/v1/audit', request, options);
  }

  /** Counts the terms of a sample of your texts: `fuse({ …, corpus: { name } })` weighs words by it. */
  putCorpus(
    name: string,
    texts: readonly string[],
    { analyzer, ...options }: CorpusOptions = {},
  ): Promise<PutCorpusResponse> {
    const text = texts.map((each) => `${JSON.stringify(each)}\n`).join('');
    const query = analyzer === undefined ? '' : `?${new URLSearchParams({ analyzer }).toString()}`;
    const headers = { 'content-type': 'application/x-ndjson' };
    return this.#send(this.#named('corpora', name) + query, { method: 'PUT', text, headers }, options);
  }

  /** The versions of statistics that were put by this name. */
  corpus(name: string, options?: CallOptions): Promise<Corpus> {
    return this.#send(this.#named('corpora', name), { method: 'GET' }, options);
  }

  /** Removes statistics, with all their versions. */
  removeCorpus(name: string, options?: CallOptions): Promise<RemovedCorpus> {
    return this.#send(this.#named('corpora', name), { method: 'DELETE' }, options);
  }

  /** Stores members of a fuse request by a name: `fuse({ …, profile: name })` has them too. */
  putProfile(name: string, settings: ProfileSettings, options?: CallOptions): Promise<PutProfileResponse> {
    return this.#send(this.#named('profiles', name), { method: 'PUT', body: settings }, options);
  }

  /** The versions of a profile, with their settings. */
  profile(name: string, options?: CallOptions): Promise<Profile> {
    return this.#send(this.#named('profiles', name), { method: 'GET' }, options);
  }

  /** Removes a profile, with all its versions. */
  removeProfile(name: string, options?: CallOptions): Promise<RemovedProfile> {
    return this.#send(this.#named('profiles', name), { method: 'DELETE' }, options);
  }

  /** Every limit in force. */
  limits(options?: CallOptions): Promise<Limits> {
    return this.#send(`${this.#options.baseUrl}/v1/limits`, { method: 'GET' }, options);
  }

  /** Stores a fragment. A repeated try cannot store it twice: each submission has an idempotency key. */
  submit(fragment: Fragment, { idempotencyKey, ...options }: SubmitOptions = {}): Promise<FragmentReceipt> {
    const given = idempotencyKey === undefined ? {} : { idempotency_key: idempotencyKey };
    // In the body, where a key of any characters arrives as it is; in a header only ASCII does.
    const body = { idempotency_key: crypto.randomUUID(), ...fragment, ...given };
    return this.#send(`${this.#options.doorUrl}/dream`, { method: 'POST', body }, options);
  }

  /** What a submission would store, and the token that confirms it. */
  preview(fragment: Fragment, options?: CallOptions): Promise<FragmentPreview> {
    return this.#get('/dream_get', fragment, options);
  }

  /** Stores a preview's fragment; the same token again gives the same receipt. */
  confirm(preview: FragmentPreview, options?: CallOptions): Promise<FragmentConfirmation> {
    const sent: Sent = { method: 'POST', body: preview.send.body };
    return this.#send(`${this.#options.doorUrl}/dream_confirm`, sent, options);
  }

  /** A stored fragment with its envelope and digests; `verifyReceipt` recomputes them. */
  receipt(id: string, options?: CallOptions): Promise<Receipt> {
    return this.#get(`/receipt/${encodeURIComponent(id)}`, {}, options);
  }

  /** The fragments nearest to a text or to another fragment. */
  near(query: NearQuery, options?: CallOptions): Promise<NearResponse> {
    return this.#get('/graph/near', query, options);
  }

  #named(kind: 'corpora' | 'profiles', name: string): string {
    return `${this.#options.baseUrl}/v1/${kind}/${encodeURIComponent(name)}`;
  }

  #post<Answer>(path: string, body: unknown, options?: CallOptions): Promise<Answer> {
    return this.#send(this.#options.baseUrl + path, { method: 'POST', body }, options);
  }

  #get<Answer>(path: string, query: object, options?: CallOptions): Promise<Answer> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    const address = `${this.#options.doorUrl}${path}${text === '' ? '' : `?${text}`}`;
    return this.#send(address, { method: 'GET' }, options);
  }

  async #send<Answer>(address: string, sent: Sent, options: CallOptions = {}): Promise<Answer> {
    const { retries, longestWaitMs } = this.#options;
    // PUT makes a version each time, and DELETE finds nothing the second time.
    const again = sent.method === 'GET' || sent.method === 'POST';
    for (let tried = 0; ; tried += 1) {
      const answer = await this.#try(address, sent, options.signal);
      if (!(answer instanceof FusegateError)) return answer as Answer;
      const waitMs = tried < retries ? pauseMs(answer, tried, again) : undefined;
      if (waitMs === undefined || waitMs > longestWaitMs) throw answer;
      await pause(waitMs, options.signal);
    }
  }

  /** One try: the answer's value, or the failure. */
  async #try(address: string, sent: Sent, signal?: AbortSignal): Promise<unknown> {
    const { timeoutMs, fetch: ask } = this.#options;
    const ends = [AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])];
    const json = sent.body === undefined ? {} : { body: JSON.stringify(sent.body) };
    const body = sent.text === undefined ? json : { body: sent.text };
    const type = sent.body === undefined ? {} : { 'content-type': 'application/json' };
    const headers = { accept: 'application/json', ...type, ...this.#headers, ...sent.headers };
    try {
      const answer = await ask(address, {
        method: sent.method,
        headers,
        signal: AbortSignal.any(ends),
        // Another origin would get the key and the body.
        redirect: 'manual',
        ...body,
      });
      if (isRedirect(answer)) {
        await answer.body?.cancel();
        return FusegateError.redirected(address, answer);
      }
      if (!answer.ok) return await FusegateError.of(answer);
      return valueOf(answer.status, await answer.text());
    } catch (error) {
      if (signal?.aborted === true) throw error;
      return new FusegateError(0, 'unreachable', `${address} does not answer: ${String(error)}`);
    }
  }
}

/** True for an answer that names another address; browsers hide its status. */
function isRedirect({ type, status }: Response): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400);
}

/** The value of an answer; the failure if another program gave it. */
function valueOf(status: number, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return new FusegateError(status, 'error', 'The answer is not JSON: another program gave it.');
  }
}

function pause(waitMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, waitMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
  });
}
