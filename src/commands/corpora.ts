/** `fusegate corpora put|list|show|remove`: statistics of collections that requests name. */
import { Option, type Command } from 'commander';
import { stemmers } from '../contract/analyzer.js';
import { tokenizers } from '../contract/fuse.js';
import type { CorpusCounter, CorpusRefusal, CorpusStatistics } from '../native/index.js';
import { corpusKey } from '../search/corpora.js';
import { allCorpora, findCorpus, putCorpus, removeCorpus } from '../store/tables/corpora.js';
import type { CorpusRecord } from '../store/tables/corpora.js';
import { isName } from '../store/tables/names.js';
import { timeText } from '../system/clock.js';
import { reasonOf } from '../system/reason.js';
import { progressOn } from './progress.js';
import { addTo, addVersions, type Json, type Versioned } from './versions.js';
import { withStore, type CommandParts } from './withStore.js';

/** Dependencies of the commands. */
export interface CorporaCommandParts extends CommandParts {
  readonly CorpusCounter: typeof CorpusCounter;
  readonly freezeCorpus: (body: Buffer, key: Uint8Array) => Promise<CorpusStatistics>;
  /** The lines of a file, or of standard input for `-`. @throws Error if it cannot be read */
  readonly readLines: (path: string) => AsyncIterable<string>;
  /** The bytes of a file, or of standard input. @throws Error if they cannot be read */
  readonly readBytes: (path: string) => Promise<Uint8Array>;
  /** Size of a file in bytes. @throws Error if it cannot be read */
  readonly sizeOf: (path: string) => number;
  readonly progressTo: NodeJS.WriteStream;
}

interface Wrong {
  readonly wrong: string;
}

interface PutOptions extends Json {
  readonly analyzer: string;
  readonly tokenizer: (typeof tokenizers)[number];
  readonly statistics?: boolean;
}

/** Sentences for the native module's reasons to refuse statistics. */
const refusals: Readonly<Record<string, string>> = {
  invalid: 'It is not a valid object of docs, average_length and df, as corpus of POST /v1/fuse has them.',
  line: 'A line is a JSON string, or an object with a text.',
  terms: 'It has more than 1,000,000 different terms. Send fewer texts: a sample does nearly as well.',
  docs: 'It has more than 4,294,967,295 docs.',
  empty: 'It has no text with a word in it.',
};

/** The sentence of a refusal; `before`: number of lines in the file before the given ones. */
function refusalOf({ reason, line }: CorpusRefusal, path: string, before = 0): Wrong {
  const place = line > 0 ? `${path}:${before + line}` : path;
  return { wrong: `${place}: ${refusals[reason] ?? reason}` };
}

/** Bytes of lines counted in one step. */
const stepBytes = 1 << 20;

/** Counts the texts of a file with one text a line. */
async function counted(
  parts: CorporaCommandParts,
  key: Buffer,
  path: string,
  { analyzer, tokenizer }: PutOptions,
): Promise<CorpusStatistics | Wrong> {
  const counter = new parts.CorpusCounter(key, JSON.stringify(analyzer), tokenizer);
  const size = path === '-' ? 0 : parts.sizeOf(path);
  const display = progressOn(parts.progressTo, 'kB');
  let lines: string[] = [];
  let [before, bytes, waiting] = [0, 0, 0];
  const count = async (): Promise<Wrong | undefined> => {
    const refused = await counter.add(Buffer.from(lines.join('\n')));
    if (refused !== null) return refusalOf(refused, path, before);
    before += lines.length;
    bytes += waiting;
    [lines, waiting] = [[], 0];
    // The lines of a compressed file have more bytes than the file.
    display.progress('counting', Math.ceil(bytes / 1e3), Math.ceil(size / 1e3));
    return undefined;
  };
  try {
    for await (const line of parts.readLines(path)) {
      lines.push(line);
      waiting += Buffer.byteLength(line) + 1;
      const wrong = waiting < stepBytes ? undefined : await count();
      if (wrong !== undefined) return wrong;
    }
    const wrong = await count();
    if (wrong !== undefined) return wrong;
  } finally {
    display.end();
  }
  return counter.finish();
}

async function statisticsOf(
  parts: CorporaCommandParts,
  key: Buffer,
  path: string,
  options: PutOptions,
): Promise<CorpusStatistics | Wrong> {
  try {
    return options.statistics === true
      ? await parts.freezeCorpus(Buffer.from(await parts.readBytes(path)), key)
      : await counted(parts, key, path, options);
  } catch (error) {
    return { wrong: `${path} cannot be read (${reasonOf(error)}).` };
  }
}

function put(parts: CorporaCommandParts, name: string, path: string, options: PutOptions): Promise<number> {
  return withStore(parts, async ({ store, secrets }) => {
    if (!isName(name)) return { wrong: 'A name has 1 to 64 of A-Z a-z 0-9 . _ - and nothing else.' };
    const { analyzer, tokenizer, statistics, json } = options;
    if (tokenizer !== 'ws' && analyzer !== 'plain') return { wrong: 'Analyzers are for the tokenizer ws.' };
    const made = await statisticsOf(parts, corpusKey(secrets), path, options);
    if ('wrong' in made) return made;
    if (made.refused != null) return refusalOf(made.refused, path);
    const { bytes, docs, averageLength, terms } = made;
    const terming = statistics === true ? 'given' : `${tokenizer}, ${analyzer}`;
    const added = { statistics: bytes, docs, averageLength, terms, terming };
    const outcome = await putCorpus(store, name, added, parts.clock.wallMs());
    if (!outcome.ok) return { wrong: outcome.detail };
    const { version } = outcome;
    await parts.write(
      json === true
        ? `${JSON.stringify({ name, version, docs, average_length: averageLength, terms })}\n`
        : `${name}, version ${version}: ${docs} docs of ${averageLength.toFixed(1)} tokens, ` +
            `${terms} terms.\n` +
            'A server that runs knows it within a second.\n',
    );
    return 0;
  });
}

/** A name as `--json` prints it. */
function shown({ name, versions }: CorpusRecord): object {
  return {
    name,
    versions: versions.map(({ version, docs, averageLength, terms, bytes, terming, createdAtMs }) => ({
      ...{ version, docs, average_length: averageLength, terms, bytes, terms_by: terming },
      created_at: timeText(createdAtMs),
    })),
  };
}

function rowsOf({ name, versions }: CorpusRecord): string[] {
  return versions.map(({ version, docs, averageLength, terms, terming, createdAtMs }) => {
    const numbers = [version, docs, averageLength.toFixed(1), terms].map((each) => String(each).padStart(9));
    return `${name.padEnd(24)}${numbers.join(' ')}  ${terming.padEnd(16)}  ${timeText(createdAtMs)}\n`;
  });
}

const heads = ['version', 'docs', 'length', 'terms'].map((head) => head.padStart(9)).join(' ');
const heading = `${'name'.padEnd(24)}${heads}  ${'terms by'.padEnd(16)}  made\n`;

const corpora: Versioned<CorpusRecord> = {
  all: allCorpora,
  find: findCorpus,
  remove: removeCorpus,
  missing: (name) => `There is no corpus ${name}.`,
  heading,
  rowsOf,
  shown,
};

/** Adds the commands to the program. */
export function addCorpora(program: Command, parts: CorporaCommandParts): void {
  const group = program.command('corpora').description('statistics of collections, which requests name');
  addTo(group, 'put <name> <file>', 'count the texts of a file as the next version of a name')
    .addHelpText(
      'after',
      '\nFile: a text a line, as a JSON string or an object with a text (NDJSON, also packed as .gz); - is' +
        '\nstandard input. The texts are counted, and not kept.',
    )
    .addOption(new Option('--tokenizer <name>', 'that requests will use').choices(tokenizers).default('ws'))
    .addOption(
      new Option('--analyzer <name>', 'that requests will use: plain, or a language')
        .choices(['plain', ...stemmers])
        .default('plain'),
    )
    .option('--statistics', 'the file holds docs, average_length and df themselves (JSON)')
    .option('--json', 'print JSON')
    .action(async (name: string, path: string, options: PutOptions) => {
      process.exitCode = await put(parts, name, path, options);
    });
  addVersions(group, parts, corpora, {
    list: 'list the names and their versions',
    listJson: 'print JSON',
    show: 'show the versions of a name',
    remove: 'remove a name with all its versions',
  });
}
