/** `fusegate log witness`: cosigns the checkpoints of other people's logs (C2SP tlog-witness). */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { join } from 'node:path';
import type { Command } from 'commander';
import { openKey } from '../log/keyFile.js';
import { parseVerifierKey, verifierText, type VerifierKey } from '../log/note.js';
import { seenFile } from '../log/seen.js';
import { addCheckpoint, type WitnessAnswer, type WitnessParts } from '../log/witness.js';
import type { Clock } from '../system/clock.js';
import type { Randomness } from '../system/randomness.js';
import { reasonOf } from '../system/reason.js';
import { makeFolder } from '../system/sync.js';
import { printable } from './printable.js';

/** Dependencies of the command. */
export interface WitnessCommandParts {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly write: (text: string) => Promise<void>;
  readonly printError: (line: string) => void;
  /** Locks a file for this process' lifetime; returns the text of the current holder, if there is one. */
  readonly lockFile: (path: string, text: string) => string | null;
  /** Resolves at a stop signal. */
  readonly told: () => Promise<void>;
}

interface WitnessOptions {
  readonly name: string;
  readonly log: readonly string[];
  readonly folder: string;
  readonly listen: string;
}

/** Largest request in bytes, time limit for its arrival, and the interval of checking that (ms). */
const mostBytes = 16_384;
const requestMs = 5_000;
const lookMs = 1_000;

/** Most connections at once. */
const mostConnections = 512;

/** The body of a request; undefined if it is too long, or its client has gone. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    // Not destroyed: the connection of a body that is too long must still carry the answer.
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      pieces.push(piece as Buffer);
      bytes += (piece as Buffer).byteLength;
      if (bytes > mostBytes) return undefined;
    }
  } catch {
    // Not logged as an error: an attacker could fill the log with aborted requests.
    return undefined;
  }
  return Buffer.concat(pieces).toString();
}

const plain = (status: number, body: string): WitnessAnswer => {
  return { status, type: 'text/plain; charset=utf-8', body };
};

async function answer(parts: WitnessParts, vkey: string, request: IncomingMessage): Promise<WitnessAnswer> {
  const { method, url } = request;
  if (url === '/vkey' && method === 'GET') return plain(200, `${vkey}\n`);
  if (url !== '/add-checkpoint') return plain(404, 'This is a witness of logs: POST /add-checkpoint.\n');
  if (method !== 'POST') return plain(405, 'Checkpoints come by POST.\n');
  const body = await bodyOf(request);
  return body === undefined ? plain(413, 'The request is too large.\n') : addCheckpoint(parts, body);
}

function serverOf(parts: WitnessParts, vkey: string, printError: (line: string) => void): Server {
  const times = { requestTimeout: requestMs, headersTimeout: requestMs, connectionsCheckingInterval: lookMs };
  const server = createServer(times, (request, response) => {
    answer(parts, vkey, request)
      .catch((error: unknown) => {
        printError(`A request was not answered (${String(error)}).`);
        return plain(500, 'This witness cannot cosign now.\n');
      })
      .then(({ status, type, body }) => {
        const closing = status === 413 ? { connection: 'close' } : {};
        response.writeHead(status, { 'content-type': type, ...closing }).end(body);
      })
      .catch(() => response.destroy());
  });
  server.maxConnections = mostConnections;
  return server;
}

/** Host and port of a text; undefined if it is not of that form. */
function placeOf(listen: string): { readonly host: string; readonly port: number } | undefined {
  const [, six, four, port] = /^(?:\[([0-9a-f:]+)\]|([^:\s]+)):(\d{1,5})$/i.exec(listen) ?? [];
  const host = six ?? four;
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
}

async function listening(server: Server, place: { host: string; port: number }): Promise<string> {
  await new Promise<void>((done, fail) => {
    server.once('error', fail).listen(place.port, place.host, done);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : place.port;
  return `http://${place.host.includes(':') ? `[${place.host}]` : place.host}:${port}`;
}

/** Takes the folder for this process, or returns a sentence about why it cannot. */
function takeFolder(folder: string, lockFile: WitnessCommandParts['lockFile']): string | undefined {
  try {
    makeFolder(folder, 0o700);
    const holder = lockFile(join(folder, 'lock'), String(process.pid));
    return holder === null ? undefined : `Another witness uses ${folder} (process ${holder}).`;
  } catch (error) {
    return `The folder ${folder} cannot be used (${reasonOf(error)}). Give another with --folder.`;
  }
}

async function witness(
  parts: WitnessCommandParts,
  { name, log, folder, listen }: WitnessOptions,
): Promise<number | { readonly wrong: string }> {
  const logs = log.map((vkey) => parseVerifierKey(vkey));
  const known = logs.filter((key): key is VerifierKey => key !== undefined);
  const at = logs.indexOf(undefined);
  if (at >= 0) return { wrong: `${printable(log[at] ?? '')} is not a verifier key of an Ed25519 log.` };
  if (!/^[^\s+]+$/.test(name)) return { wrong: '--name must be a name without spaces and +.' };
  const place = placeOf(listen);
  if (place === undefined)
    return { wrong: '--listen must be an address and a port, such as 127.0.0.1:7380.' };
  const taken = takeFolder(folder, parts.lockFile);
  if (taken !== undefined) return { wrong: taken };
  const opened = openKey(folder, parts.randomness, 'witness-key');
  if ('refused' in opened) return { wrong: opened.refused };
  const key = opened.value;
  const stateOf = (file: string) => seenFile(folder, String(process.pid), file);
  const vkey = verifierText({ name, publicKey: key.publicKey }, 'witness');
  const server = serverOf({ name, key, logs: known, stateOf, clock: parts.clock }, vkey, parts.printError);
  try {
    const address = await listening(server, place);
    server.on('error', (error) => parts.printError(`A connection was not taken (${reasonOf(error)}).`));
    await parts.write(`The witness ${name} listens on ${address}\nIts line in a policy:\n`);
    await parts.write(`witness ${name} ${vkey} ${address}\n`);
  } catch (error) {
    return { wrong: `The witness cannot listen on ${listen} (${String(error)}).` };
  }
  await parts.told();
  server.close();
  server.closeAllConnections();
  return 0;
}

/** Adds the command to those of the log. */
export function addLogWitness(log: Command, parts: WitnessCommandParts): void {
  log
    .command('witness')
    .description('cosign the checkpoints of logs, each only where it grew from what was cosigned before')
    .requiredOption('--name <name>', 'name of the witness, such as witness.example/w1')
    .requiredOption('--log <key...>', 'verifier keys of the logs')
    .requiredOption('--folder <folder>', 'folder for its key and for what it cosigned')
    .option('--listen <address>', 'address and port', '127.0.0.1:7380')
    .allowExcessArguments(false)
    .action(async (options: WitnessOptions) => {
      const ended = await witness(parts, options);
      if (typeof ended !== 'number') parts.printError(ended.wrong);
      process.exitCode = typeof ended === 'number' ? ended : 1;
    });
}
