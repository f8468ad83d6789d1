/** `fusegate fuse FILE|-`: answers a request of POST /v1/fuse in this process, as a table or as JSON. */
import type { Command } from 'commander';
import { readConfiguration, type Configuration } from '../configuration.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';
import type { FuseResponse } from '../contract/fuse.js';
import type { Problem } from '../contract/problem.js';
import type { BodyParts } from '../contract/schema/bytes.js';
import type { HTTPValidationError } from '../contract/schema/validation.js';
import { localEmbedder, type OpenSession } from '../models/localEmbedder.js';
import { defaultModel, type FoundModels } from '../models/modelFolder.js';
import type { Corpora, Profiles } from '../native/index.js';
import { corpusKey } from '../search/corpora.js';
import { takeProfile } from '../profiles/follower.js';
import { openEmbedMode, type EmbedModeParts } from '../search/embedMode.js';
import { fuseHandler, type FuseParts } from '../search/fuse.js';
import { allCorpora, findStatistics } from '../store/tables/corpora.js';
import { isName } from '../store/tables/names.js';
import { allProfiles } from '../store/tables/profiles.js';
import { reasonOf } from '../system/reason.js';
import { printable } from './printable.js';
import type { CommandParts, OpenedStore } from './withStore.js';

/** Dependencies of the command. */
export interface FuseCommandParts
  extends
    Pick<CommandParts, 'environment' | 'machine' | 'openStore' | 'write' | 'printError'>,
    BodyParts,
    Pick<EmbedModeParts, 'DenseModels' | 'Fuser'>,
    Pick<FuseParts, 'FuseOutcome' | 'entitiesRefusal'> {
  /** The bytes of a file, or of standard input for `-`. @throws Error if they cannot be read */
  readonly readBytes: (path: string) => Promise<Uint8Array>;
  readonly findModels: (configuration: Configuration) => Promise<FoundModels>;
  readonly openSession: OpenSession;
  readonly Corpora: typeof Corpora;
  readonly Profiles: typeof Profiles;
  /** Columns of the terminal; undefined: the output is not a terminal. */
  readonly columns: () => number | undefined;
}

interface Json {
  readonly json?: boolean;
}

/** A request without a server: it has only a body. */
function requestOf(body: Uint8Array): RouteRequest {
  const { signal } = new AbortController();
  return {
    ...{ id: 'command', path: {}, query: {}, header: () => '', keyed: true },
    ...{ body, retain: () => body, input: undefined, mayAct: true, head: false },
    ...{ peer: () => new Uint8Array(0), caller: () => new Uint8Array(0) },
    ...{ aborted: () => false, signal: () => signal, hold: () => undefined },
  };
}

/** True if a body names stored statistics or a stored profile; false if it is not JSON. */
function namesStored(body: Uint8Array): boolean {
  try {
    const { corpus, profile } = Object(JSON.parse(Buffer.from(body).toString())) as {
      readonly corpus?: unknown;
      readonly profile?: unknown;
    };
    return profile !== undefined || Object.hasOwn(Object(corpus) as object, 'name');
  } catch {
    return false;
  }
}

/** The public statistics of a store. */
async function corporaOf({ store, secrets }: OpenedStore, parts: FuseCommandParts): Promise<Corpora> {
  const corpora = new parts.Corpora(corpusKey(secrets));
  for (const { name, versions } of await allCorpora(store)) {
    if (!isName(name)) continue;
    for (const { version, learnt } of versions) {
      const statistics = await findStatistics(store, name, version);
      const taken =
        statistics !== undefined && (await corpora.add(name, version, Buffer.from(statistics), learnt));
      if (!taken) parts.printError(`Warning: version ${version} of the corpus ${name} cannot be read.`);
    }
  }
  return corpora;
}

/** The profiles of a store that belong to everybody. */
async function profilesOf({ store }: OpenedStore, parts: FuseCommandParts): Promise<Profiles> {
  const profiles = new parts.Profiles();
  const error = (): void => parts.printError('Warning: a version of a profile cannot be read.');
  for (const record of await allProfiles(store)) {
    if (isName(record.name)) takeProfile({ profiles, log: { error } }, record);
  }
  return profiles;
}

/** The named statistics and profiles that a body may use. */
interface NamedInStore {
  readonly corpora?: Corpora;
  readonly profiles?: Profiles;
}

/** The named statistics and profiles for a body, or why the store cannot be read. */
async function namedFor(
  parts: FuseCommandParts,
  configuration: Configuration,
  body: Uint8Array,
): Promise<NamedInStore & { readonly refused?: string }> {
  if (!namesStored(body)) return {};
  const opened = await parts.openStore(configuration);
  if ('refused' in opened) return opened;
  try {
    return { corpora: await corporaOf(opened, parts), profiles: await profilesOf(opened, parts) };
  } catch (error) {
    return { refused: `The store cannot be read (${reasonOf(error)}).` };
  } finally {
    await opened.store.close();
  }
}

/** Answers a request as a server with this configuration's models would. */
async function answerOf(
  parts: FuseCommandParts,
  configuration: Configuration,
  body: Uint8Array,
  named: NamedInStore,
): Promise<Answer> {
  const { models } = await parts.findModels(configuration);
  const fallback = defaultModel(models, configuration.embedModel)?.id;
  const onWrong = (reason: string): void => parts.printError(reason);
  const embedder = localEmbedder(models, parts.openSession, parts.machine.cores, onWrong);
  const embedMode = openEmbedMode({ ...parts, ...named, embedder, fallback, cacheFile: null });
  // A request with `learn` is answered; what it teaches is lost when this process ends.
  const learnerOf = (): string => '';
  return fuseHandler({ ...parts, embedMode, learnerOf })(requestOf(body));
}

function textOf({ body }: Answer): string {
  return 'json' in body ? JSON.stringify(body.json) : Buffer.from(body.bytes).toString();
}

/** The errors of a request, one a line, each after its place. */
function refusalLines(refusal: Problem | HTTPValidationError): string[] {
  const { detail = [] } = refusal;
  if (typeof detail === 'string') return [detail];
  return detail.map(({ loc, msg }) => {
    const [, ...place] = loc;
    return printable(place.length === 0 ? msg : `${place.join('.')}: ${msg}`);
  });
}

const textColumns = 60;

/** Cuts a text to a number of columns. Wide characters count as one column: they only shift what follows. */
function cut(text: string, columns: number): string {
  const characters = Array.from(printable(text));
  return characters.length <= columns ? characters.join('') : `${characters.slice(0, columns - 1).join('')}…`;
}

/** The results for people. */
function table(answer: FuseResponse, columns: number | undefined): string {
  const { results, warnings = [], method, tokenizer, dense_source: source } = answer;
  const ids = results.map(({ id }) => cut(id, 24));
  const width = Math.max(2, ...ids.map((id) => Array.from(id).length));
  const room = Math.max(20, (columns ?? 42 + width + textColumns) - 42 - width);
  const score = (value: number): string => value.toFixed(4).padStart(9);
  const rows = results.map(({ rank, fused_score: fused, bm25_score: bm25, dense_score: dense, text }, at) => {
    const id = ids[at] ?? '';
    const padding = ' '.repeat(width - Array.from(id).length);
    const scores = [fused, bm25, dense].map(score).join('  ');
    return `${String(rank).padStart(5)}  ${scores}  ${id}${padding}  ${cut(text, room)}`.trimEnd();
  });
  const heads = ['fused', 'bm25', 'dense'].map((head) => head.padStart(9)).join('  ');
  return [
    ` rank  ${heads}  ${'id'.padEnd(width)}  text`,
    ...rows,
    ...warnings.map(({ code, message }) => `Warning ${code}: ${printable(message)}`),
    `Method ${method}, tokenizer ${tokenizer}, dense scores: ${source}.`,
    '',
  ].join('\n');
}

/** Resolves to the exit code. */
async function fuse(parts: FuseCommandParts, path: string, { json }: Json): Promise<number> {
  const read = readConfiguration(parts.environment, parts.machine);
  if ('errors' in read) {
    for (const error of read.errors) parts.printError(error);
    return 1;
  }
  let body: Uint8Array;
  try {
    body = await parts.readBytes(path);
  } catch (error) {
    parts.printError(`${path} cannot be read (${reasonOf(error)}).`);
    return 1;
  }
  const { refused, ...named } = await namedFor(parts, read.configuration, body);
  if (refused !== undefined) {
    parts.printError(refused);
    return 1;
  }
  const answer = await answerOf(parts, read.configuration, body, named);
  const text = textOf(answer);
  if (answer.status !== 200) {
    for (const line of refusalLines(JSON.parse(text) as Problem | HTTPValidationError)) {
      parts.printError(line);
    }
    return 1;
  }
  const shown = json === true ? `${text}\n` : table(JSON.parse(text) as FuseResponse, parts.columns());
  await parts.write(shown);
  return 0;
}

/** Adds the command to the program. */
export function addFuse(program: Command, parts: FuseCommandParts): void {
  program
    .command('fuse <file>')
    .description('re-rank the candidates of a request, without a server')
    .addHelpText(
      'after',
      '\nFile: the body of POST /v1/fuse (JSON); - is standard input. A corpus or a profile that it' +
        '\nnames is read from the store; with learn it is answered, and teaches nothing.',
    )
    .option('--json', 'print the answer as the server gives it')
    .allowExcessArguments(false)
    .action(async (path: string, options: Json) => {
      process.exitCode = await fuse(parts, path, options);
    });
}
