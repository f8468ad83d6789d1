/** The handlers of /v1/corpora/{name}: texts are counted in the thread pool, one body at a time. */
import { jsonAnswer, problemAnswer, unprocessable } from '../contract/answer.js';
import { retainedBody, type Answer, type RouteRequest } from '../contract/exchange.js';
import type {
  CorpusLearning,
  CorpusResponse,
  CorpusVersion,
  PutCorpusResponse,
  RemovedCorpusResponse,
} from '../contract/corpora.js';
import { recordBytes } from '../contract/route.js';
import type { Handlers } from '../contract/routes.js';
import { checkMediaType, ndjson } from '../contract/schema/body.js';
import { valueError, type Location } from '../contract/schema/validation.js';
import type { CorpusCounter, CorpusRefusal, CorpusStatistics } from '../native/index.js';
import {
  corpusObstacle,
  findCorpus,
  findLearning,
  putCorpus,
  removeCorpus,
  type CorpusRecord,
  type LearningRecord,
} from '../store/tables/corpora.js';
import { isName, storedName } from '../store/tables/names.js';
import type { Store } from '../store/store.js';
import { timeText, type Clock } from '../system/clock.js';
import { ownerRequired, ownerOfKey } from '../search/corpora.js';

/** Dependencies of the handlers. */
export interface CorporaRouteParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'wallMs'>;
  /** The key of the hashes of terms. */
  readonly corpusKey: Uint8Array;
  readonly CorpusCounter: typeof CorpusCounter;
  readonly freezeCorpus: (body: Buffer, key: Uint8Array) => Promise<CorpusStatistics>;
  readonly hashKey: (key: string) => Uint8Array | null;
  /** True if callers without a key may change public statistics. */
  readonly isOpen: boolean;
  /** Resolves when this process knows everything stored before the call. */
  readonly look: () => Promise<unknown>;
}

/** Most bodies that are pending or being counted, of one owner and of all; more are refused. */
const mostWaitingOfOne = 8;
const mostWaiting = 32;

const overloaded = problemAnswer(503, 'overloaded', 'Other bodies are being counted. Try again shortly.');

/** Sentences for the native module's reasons to refuse a body. */
const sentences: Readonly<Record<string, string>> = {
  invalid: 'not an object of docs, average_length and df, as corpus of POST /v1/fuse has them',
  line: 'a line is a JSON string, or an object with a text',
  terms: 'more than 1,000,000 different terms; a sample of the texts does nearly as well',
  docs: 'more than 4,294,967,295 docs',
  empty: 'no text has a word in it',
};

function refusalOf({ reason, line }: CorpusRefusal): Answer {
  const place: Location = line > 0 ? ['body', line] : ['body'];
  return unprocessable([valueError(place, sentences[reason] ?? reason, undefined)]);
}

function shownVersion({ versions }: CorpusRecord, at: number): CorpusVersion | undefined {
  const found = versions.at(at);
  if (found === undefined) return undefined;
  const { version, docs, averageLength, terms, terming, createdAtMs, learnt } = found;
  const created_at = timeText(createdAtMs);
  const shown = { version, docs, average_length: averageLength, terms, terms_by: terming, created_at };
  return learnt ? { ...shown, learnt } : shown;
}

function shownLearning({ docs, terming, updatedAtMs }: LearningRecord): CorpusLearning {
  return { docs, terms_by: terming, updated_at: timeText(updatedAtMs) };
}

/** A name as stored. */
interface FoundName {
  readonly record: CorpusRecord | undefined;
  readonly learning: LearningRecord | undefined;
}

class CorporaHandlers {
  private waiting = 0;
  /** Number of bodies by owner's hash; "": public. */
  private readonly waitingOf = new Map<string, number>();
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly parts: CorporaRouteParts) {}

  private ownerOf({ key }: RouteRequest): string | undefined {
    return ownerOfKey(key, this.parts.hashKey);
  }

  readonly get = async (request: RouteRequest): Promise<Answer> => {
    const name = request.path['name'] ?? '';
    if (!isName(name)) return badName(name);
    const owner = this.ownerOf(request);
    const own = owner === undefined ? undefined : await this.find(owner, name);
    const found = own ?? (await this.find(undefined, name));
    if (found === undefined) return notFound(name);
    const { record, learning } = found;
    const versions = record?.versions.flatMap((_, at) => shownVersion(record, at) ?? []) ?? [];
    const shown: CorpusResponse = { name, shared: own === undefined, versions };
    return jsonAnswer(200, learning === undefined ? shown : { ...shown, learning: shownLearning(learning) });
  };

  private async find(owner: string | undefined, name: string): Promise<FoundName | undefined> {
    const { store } = this.parts;
    const full = storedName(owner, name);
    const [record, learning] = [await findCorpus(store, full), await findLearning(store, full)];
    return record === undefined && learning === undefined ? undefined : { record, learning };
  }

  readonly remove = async (request: RouteRequest): Promise<Answer> => {
    const name = request.path['name'] ?? '';
    const { store, isOpen, look } = this.parts;
    const owner = this.ownerOf(request);
    if (owner === undefined && !isOpen) return ownerRequired;
    if (!isName(name)) return badName(name);
    if (!(await removeCorpus(store, storedName(owner, name)))) return notFound(name);
    await look();
    return jsonAnswer(200, { name, removed: true } satisfies RemovedCorpusResponse);
  };

  readonly put = (request: RouteRequest): Answer | Promise<Answer> => {
    const name = request.path['name'] ?? '';
    const owner = this.ownerOf(request);
    if (owner === undefined && !this.parts.isOpen) return ownerRequired;
    if (!isName(name)) return badName(name);
    const type = request.header('content-type');
    const isGiven = type !== '' && checkMediaType(type, false) === null;
    const wrongType = isGiven ? null : checkMediaType(type, false, 'lines');
    if (wrongType !== null) {
      const sentence = `send Content-Type: ${ndjson}, or application/json`;
      return unprocessable([valueError(['header', 'content-type'], sentence, type)]);
    }
    const { tokenizer = 'ws', analyzer = 'plain' } = request.query;
    if (tokenizer !== 'ws' && analyzer !== 'plain') {
      const sentence = `only plain goes with ${tokenizer}`;
      return unprocessable([valueError(['query', 'analyzer'], sentence, analyzer)]);
    }
    const waiting = this.waitingOf.get(owner ?? '') ?? 0;
    if (waiting >= mostWaitingOfOne || this.waiting >= mostWaiting) return overloaded;
    const terming = isGiven ? 'given' : `${tokenizer}, ${analyzer}`;
    const body = retainedBody(request);
    const full = storedName(owner, name);
    return this.inTurn(owner ?? '', () => this.store(request, full, body, terming));
  };

  /** Queues a step after the earlier ones: each may occupy a thread for long. */
  private inTurn(owner: string, step: () => Promise<Answer>): Promise<Answer> {
    this.count(owner, 1);
    const turn = this.last.then(step).finally(() => this.count(owner, -1));
    this.last = turn.catch(() => undefined);
    return turn;
  }

  private count(owner: string, change: 1 | -1): void {
    this.waiting += change;
    const waiting = (this.waitingOf.get(owner) ?? 0) + change;
    if (waiting > 0) this.waitingOf.set(owner, waiting);
    else this.waitingOf.delete(owner);
  }

  private async store(request: RouteRequest, full: string, body: Buffer, terming: string): Promise<Answer> {
    const { store, clock, look } = this.parts;
    if (request.aborted()) return overloaded;
    const obstacle = await corpusObstacle(store, full);
    if (obstacle !== undefined) return problemAnswer(409, 'corpus_limit', obstacle);
    const counted = await this.statisticsOf(body, terming);
    if ('reason' in counted) return refusalOf(counted);
    const { bytes: statistics, docs, averageLength, terms } = counted;
    const made = { statistics, docs, averageLength, terms, terming };
    const nowMs = clock.wallMs();
    const outcome = await putCorpus(store, full, made, nowMs);
    if (!outcome.ok) return problemAnswer(409, 'corpus_limit', outcome.detail);
    await look();
    const name = full.slice(full.indexOf('/') + 1);
    const { version } = outcome;
    const answer: PutCorpusResponse = {
      ...{ name, version, docs, average_length: averageLength, terms, terms_by: terming },
      created_at: timeText(nowMs),
    };
    // A key pays for the bytes counted, other callers only for the bytes stored.
    const charge = request.keyed ? body.byteLength : 1 + Math.ceil(statistics.byteLength / recordBytes);
    return { ...jsonAnswer(200, answer), charge };
  }

  private async statisticsOf(body: Buffer, terming: string): Promise<CorpusStatistics | CorpusRefusal> {
    const { corpusKey, freezeCorpus } = this.parts;
    if (terming === 'given') {
      const given = await freezeCorpus(body, corpusKey);
      return given.refused ?? given;
    }
    const [tokenizer = '', analyzer = ''] = terming.split(', ');
    const counter = new this.parts.CorpusCounter(corpusKey, JSON.stringify(analyzer), tokenizer);
    const refused = await counter.add(body);
    if (refused !== null) return refused;
    const made = await counter.finish();
    return made.refused ?? made;
  }
}

function badName(name: string): Answer {
  const sentence = 'a name has 1 to 64 of A-Z a-z 0-9 . _ - and nothing else';
  return unprocessable([valueError(['path', 'name'], sentence, name)]);
}

function notFound(name: string): Answer {
  return problemAnswer(404, 'corpus_not_found', `There are no statistics named ${name} here.`);
}

/** The handlers. */
export function corporaHandlers(
  parts: CorporaRouteParts,
): Pick<Handlers, 'putCorpus' | 'corpus' | 'removeCorpus'> {
  const { put, get, remove } = new CorporaHandlers(parts);
  return { putCorpus: put, corpus: get, removeCorpus: remove };
}
