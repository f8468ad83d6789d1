/** The handlers of /v1/profiles/{name}. */
import { jsonAnswer, ownJson, problemAnswer, unprocessable } from '../contract/answer.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import type {
  ProfileResponse,
  ProfileSettings,
  PutProfileResponse,
  RemovedProfileResponse,
} from '../contract/profiles.js';
import { recordBytes } from '../contract/route.js';
import type { Handlers } from '../contract/routes.js';
import { valueError } from '../contract/schema/validation.js';
import { ownerRequired, ownerOfKey } from '../search/corpora.js';
import { isName, storedName } from '../store/tables/names.js';
import {
  findProfile,
  putProfile,
  removeProfile,
  type StoredProfileVersion,
} from '../store/tables/profiles.js';
import type { Store } from '../store/store.js';
import { timeText, type Clock } from '../system/clock.js';

/** Parts of the handlers. */
export interface ProfileRouteParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly hashKey: (key: string) => Uint8Array | null;
  /** True if callers without a key may change the profiles that belong to everybody. */
  readonly isOpen: boolean;
  /** Resolves when this process knows what was stored before the call. */
  readonly look: () => Promise<unknown>;
}

/** A version's JSON. Settings are JSON already: large maps would take the event loop many milliseconds. */
function shown({ version, settings, createdAtMs }: StoredProfileVersion): string {
  const created = JSON.stringify(timeText(createdAtMs));
  return `{"version":${version},"settings":${settings},"created_at":${created}}`;
}

function badName(name: string): Answer {
  const sentence = 'a name has 1 to 64 of A-Z a-z 0-9 . _ - and nothing else';
  return unprocessable([valueError(['path', 'name'], sentence, name)]);
}

function notFound(name: string): Answer {
  return problemAnswer(404, 'profile_not_found', `There is no profile named ${name} here.`);
}

/** The name in a request's path, and the owner of its key. */
function askedOf(
  request: RouteRequest,
  { hashKey }: ProfileRouteParts,
): { readonly name: string; readonly owner: string | undefined } {
  return { name: request.path['name'] ?? '', owner: ownerOfKey(request.key, hashKey) };
}

async function put(parts: ProfileRouteParts, request: RouteRequest<ProfileSettings>): Promise<Answer> {
  const { store, clock, isOpen, look } = parts;
  const { name, owner } = askedOf(request, parts);
  if (owner === undefined && !isOpen) return ownerRequired;
  if (!isName(name)) return badName(name);
  const settings = JSON.stringify(request.input);
  const createdAtMs = clock.wallMs();
  const outcome = await putProfile(store, storedName(owner, name), settings, createdAtMs);
  if (!outcome.ok) return problemAnswer(409, 'profile_limit', outcome.detail);
  await look();
  const { version } = outcome;
  // A key pays for the bytes sent, other callers only for the bytes stored.
  const bytes = Buffer.byteLength(settings);
  const charge = request.keyed ? bytes : 1 + Math.ceil(bytes / recordBytes);
  const created_at = timeText(createdAtMs);
  const made: PutProfileResponse = { name, version, settings: request.input, created_at };
  return { ...jsonAnswer(200, made), charge };
}

async function get(parts: ProfileRouteParts, request: RouteRequest): Promise<Answer> {
  const { name, owner } = askedOf(request, parts);
  if (!isName(name)) return badName(name);
  const own = owner === undefined ? undefined : await findProfile(parts.store, storedName(owner, name));
  const found = own ?? (await findProfile(parts.store, name));
  if (found === undefined) return notFound(name);
  const head: Omit<ProfileResponse, 'versions'> = { name, shared: own === undefined };
  const versions = found.versions.map(shown).join();
  return ownJson(Buffer.from(`${JSON.stringify(head).slice(0, -1)},"versions":[${versions}]}`), 0);
}

async function remove(parts: ProfileRouteParts, request: RouteRequest): Promise<Answer> {
  const { name, owner } = askedOf(request, parts);
  if (owner === undefined && !parts.isOpen) return ownerRequired;
  if (!isName(name)) return badName(name);
  if (!(await removeProfile(parts.store, storedName(owner, name)))) return notFound(name);
  await parts.look();
  return jsonAnswer(200, { name, removed: true } satisfies RemovedProfileResponse);
}

/** The handlers. */
export function profileHandlers(
  parts: ProfileRouteParts,
): Pick<Handlers, 'putProfile' | 'profile' | 'removeProfile'> {
  return {
    putProfile: (request) => put(parts, request),
    profile: (request) => get(parts, request),
    removeProfile: (request) => remove(parts, request),
  };
}
