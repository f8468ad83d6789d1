/** A store on a temporary folder, and one that fails when told. */
import { join } from 'node:path';
import { after } from 'node:test';
import type { RouteRequest } from '../../src/contract/exchange.js';
import { StoreUnavailable, type Outcome, type Store } from '../../src/store/store.js';
import type { MasterSecrets } from '../../src/system/masterSecret.js';
import { memoryFolder } from './run.js';
import { newUnitId, storeAt } from './openStore.js';

/** Secrets for tests: a new one and the one before it. */
export const secrets: MasterSecrets & readonly [string, string] = [
  'new-secret-of-tests-0123456789-abcdef',
  'old-secret-of-tests-0123456789-abcdef',
];

export { newUnitId };

/** A store in a folder of its own, closed after the tests. */
export async function openTestStore(): Promise<Store> {
  const store = await storeAt(`lmdb:${join(memoryFolder(), 'store')}`);
  after(() => store.close());
  return store;
}

/** How a commit fails: before the store took it, or after. */
export type Failure = 'not written' | 'written';

/** A store whose commits and reads fail as long as `failure` says so. */
export class FailingStore {
  failure: Failure | undefined;
  /** Whether reads fail too. */
  failReads = true;
  commits = 0;

  constructor(private readonly store: Store) {}

  /** The store as its users see it. */
  get seen(): Store {
    const { store } = this;
    const unavailable = new StoreUnavailable('told to fail');
    const reading = <Value>(read: () => Promise<Value>): Promise<Value> =>
      this.failure === undefined || !this.failReads ? read() : Promise.reject(unavailable);
    return {
      commit: async (operations, id): Promise<Outcome> => {
        this.commits += 1;
        const { failure } = this;
        if (failure === 'not written') throw unavailable;
        const outcome = await store.commit(operations, id);
        if (failure !== undefined) throw unavailable;
        return outcome;
      },
      newUnitId: () => store.newUnitId(),
      get: (space, key) => reading(() => store.get(space, key)),
      getMany: (space, keys) => reading(() => store.getMany(space, keys)),
      scan: (space, range) => reading(() => store.scan(space, range)),
      read: (log, range) => reading(() => store.read(log, range)),
      last: (log) => reading(() => store.last(log)),
      trim: (log, upTo, limit) => reading(() => store.trim(log, upTo, limit)),
      prune: (space, before, limit) => reading(() => store.prune(space, before, limit)),
      probe: () => reading(() => store.probe()),
      close: () => store.close(),
    };
  }
}

/** A request as a handler sees it. */
export function request<Input>(
  given: Partial<RouteRequest<Input>> & { readonly input: Input },
): RouteRequest<Input> {
  return {
    id: 'test',
    path: {},
    query: {},
    header: () => '',
    body: new Uint8Array(),
    retain: () => new Uint8Array(),
    hold: () => undefined,
    keyed: false,
    mayAct: true,
    head: false,
    peer: () => new Uint8Array(),
    caller: () => new Uint8Array(),
    aborted: () => false,
    signal: () => new AbortController().signal,
    ...given,
  };
}
