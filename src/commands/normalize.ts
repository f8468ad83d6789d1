/** `fusegate normalize`: POST /v1/normalize for a file or standard input of any size. */
import { Option, type Command } from 'commander';
import { normalizeDefaults, normalizeModes } from '../contract/normalize.js';
import { isJsonObject } from '../system/json.js';
import { reasonOf } from '../system/reason.js';
import { progressOn } from './progress.js';
import { normalizeStream, type NormalizedPiece } from '../text/stream.js';

/** Settings of normalization, as in a NormalizeRequest. */
export interface NormalizeSettings {
  readonly mode: (typeof normalizeModes)[number];
  readonly contextual: boolean;
  readonly glosses: Readonly<Record<string, string>>;
}

/** Dependencies of the command. */
export interface NormalizeCommandParts {
  /**
   * A file's bytes and their number, or those of standard input (undefined), whose number is unknown.
   * @throws Error with the reason if the file cannot be read
   */
  readonly open: (path: string | undefined) => Input;
  /** The stream that shows progress; undefined if there is no terminal, or the text itself goes there. */
  readonly progressTo: NodeJS.WriteStream | undefined;
  readonly write: (text: Uint8Array) => Promise<void>;
  readonly printError: (line: string) => void;
  /**
   * @throws Error if the file cannot be read
   */
  readonly readFile: (path: string) => string;
  /** Makes the function that normalizes a piece on all cores. */
  readonly normalizer: (settings: NormalizeSettings) => (piece: Buffer) => Promise<NormalizedPiece>;
}

/** The input. */
export interface Input {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly size: number | undefined;
}

interface GivenOptions {
  readonly mode: NormalizeSettings['mode'];
  readonly contextual: boolean;
  readonly glosses?: string;
  readonly stats: boolean;
}

const PIECE_BYTES = 8 << 20;
const LINE_BYTES = 64 << 20;

function isGlosses(value: unknown): value is Record<string, string> {
  return isJsonObject(value) && Object.values(value).every((gloss) => typeof gloss === 'string');
}

function readGlosses(
  path: string,
  readFile: NormalizeCommandParts['readFile'],
): { readonly glosses: Readonly<Record<string, string>> } | { readonly wrong: string } {
  let text: string;
  try {
    text = readFile(path);
  } catch (error) {
    return { wrong: `${path} cannot be read (${reasonOf(error)}).` };
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isGlosses(value)) return { glosses: value };
  } catch {
    return { wrong: `${path} is not JSON. It must hold a JSON object of surface forms and their glosses.` };
  }
  return { wrong: `${path} must hold a JSON object of strings.` };
}

/** The input's bytes, with a progress bar. */
async function* watched({ bytes, size }: Input, stream: NodeJS.WriteStream): AsyncGenerator<Uint8Array> {
  const display = progressOn(stream, 'kB');
  let read = 0;
  for await (const chunk of bytes) {
    read += chunk.length;
    display.progress('normalize', Math.ceil(read / 1e3), Math.ceil((size ?? read) / 1e3));
    yield chunk;
  }
  display.end();
}

/** The input cannot be read; the message is a sentence. */
class UnreadableInput extends Error {
  constructor(path: string | undefined, error: unknown) {
    super(`${path ?? '-'} cannot be read (${reasonOf(error)}).`);
  }
}

/** The input's bytes. @throws UnreadableInput at once or later */
async function* readInput(
  path: string | undefined,
  { open, progressTo }: NormalizeCommandParts,
): AsyncGenerator<Uint8Array> {
  try {
    const input = open(path === '-' ? undefined : path);
    yield* progressTo === undefined || input.size === undefined ? input.bytes : watched(input, progressTo);
  } catch (error) {
    throw new UnreadableInput(path, error);
  }
}

/** Resolves to the exit code. */
async function normalize(
  path: string | undefined,
  given: GivenOptions,
  parts: NormalizeCommandParts,
): Promise<number> {
  const read = given.glosses === undefined ? { glosses: {} } : readGlosses(given.glosses, parts.readFile);
  if ('wrong' in read) {
    parts.printError(read.wrong);
    return 1;
  }
  const { mode, contextual } = given;
  const done = normalizeStream(readInput(path, parts), {
    normalize: parts.normalizer({ mode, contextual, glosses: read.glosses }),
    write: parts.write,
    pieceBytes: PIECE_BYTES,
    lineBytes: LINE_BYTES,
  });
  const outcome = await done.catch((error: unknown) => {
    if (error instanceof UnreadableInput) return error;
    throw error;
  });
  if (outcome instanceof UnreadableInput) {
    parts.printError(outcome.message);
    return 1;
  }
  if (outcome.kind === 'not UTF-8') {
    parts.printError(`The input is not UTF-8 at byte ${outcome.offset}; lines before it were written.`);
    return 1;
  }
  if (outcome.kind === 'too long') {
    parts.printError(
      `The glosses make over 1 GiB of the text from byte ${outcome.offset} on; give shorter ones. ` +
        'Lines before it were written.',
    );
    return 1;
  }
  if (given.stats) {
    parts.printError(JSON.stringify({ bytes: outcome.bytes, changes: Object.fromEntries(outcome.changes) }));
  }
  return 0;
}

/** Adds `normalize`. */
export function addNormalize(program: Command, parts: NormalizeCommandParts): void {
  const modes = new Option('--mode <mode>', 'what is done with what can be glossed').choices(normalizeModes);
  program
    .command('normalize')
    .description('repair and gloss text of any size to standard output, with all cores')
    .argument('[file]', 'text in UTF-8; - or nothing is standard input')
    .addOption(modes.default(normalizeDefaults.mode))
    .option('--no-contextual', 'map confusable letters each by itself')
    .option('--glosses <file>', 'a JSON object of surface forms and their glosses')
    .option('--stats', 'print bytes read and changes by kind as JSON to standard error', false)
    .allowExcessArguments(false)
    .action(async (file: string | undefined, options: GivenOptions) => {
      process.exitCode = await normalize(file, options, parts);
    });
}
