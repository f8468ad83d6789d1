/**
 * `bench instructions`: what tracing that is switched off costs a request, in instructions. A worker runs in
 * QEMU's user mode, with a plugin that counts what its thread executes. POST /v1/fuse of ten docs is asked
 * one after the other, of the program as it is and of a copy whose requests know nothing of spans.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../test/support/python.js';
import { readBodies } from './bodies.js';
import { machine, versionOf } from './machine.js';
import type { RecordOptions } from './options.js';
import { startFusegate } from './servers.js';
import { figures, spread } from './statistics.js';

/** What the command line may set. */
export interface InstructionsOptions extends RecordOptions {
  readonly rounds: number;
  readonly requests: number;
  /** QEMU's program for this processor, with plugins. */
  readonly qemu: string;
}

/** Most instructions of a request with tracing switched off, in those of a program without tracing. */
const TARGET = 1.01;
/** Requests until the compiler of JavaScript has settled. */
const WARM_UP = 12_000;
/** Passes of a round, each with its own count. */
const PASSES = 4;

/** A place of a compiled file, and the text in its place. */
type Edit = readonly [file: string, place: RegExp, text: string];

/** QEMU cannot reserve the room of a store of a tebibyte. */
const smallStore: Edit = [
  'src/store/engines/lmdb/lmdb.js',
  /^const mapBytes = .*;$/m,
  'const mapBytes = 2 ** 30;',
];

/** Takes tracing out of a request's way. */
const withoutSpans: readonly Edit[] = [
  ['src/http/reception.js', /^ {8}this\.span = server\.tracer.*\n.*\n.*methodOf\(request\);\n/m, ''],
  ['src/http/reception.js', /^ {4}span;\n/m, ''],
  ['src/http/exchange.js', /^ {4}receivedMs = 0;\n/m, ''],
  [
    'src/http/exchange.js',
    /^ {8}const \{ span, server \} = this;\n[^]*?span\.run\(.*\n/m,
    'this.handleNow();\n',
  ],
  [
    'src/http/exchange.js',
    /^ {8}const \{ span, receivedMs[^]*?stagesLine\(.*\n/m,
    'return timingLine(elapsedMs);\n',
  ],
  ['src/http/exchange.js', /^ {8}if \(this\.span\?\.isRecorded === true\)\n.*endSpan\(\);\n/m, ''],
];

/** The programs that are compared. */
const kinds = ['off', 'without'] as const;
type Kind = (typeof kinds)[number];

/** Makes a copy of the program with changes, each of which has exactly one place. */
function copyProgram(folder: string, edits: readonly Edit[]): string {
  cpSync(join(projectRoot, 'dist'), join(folder, 'dist'), { recursive: true });
  for (const name of readdirSync(projectRoot)) {
    // Without the build's program it is taken for an installed one, which has nothing to build.
    if (name === 'dist' || name === 'build.mjs' || name.startsWith('.')) continue;
    if (name === 'fusegate.mjs') cpSync(join(projectRoot, name), join(folder, name));
    else symlinkSync(join(projectRoot, name), join(folder, name));
  }
  for (const [file, place, text] of edits) {
    const path = join(folder, 'dist', file);
    const before = readFileSync(path, 'utf8');
    if (before.match(new RegExp(place, 'gm'))?.length !== 1)
      throw new Error(`${file} has not one place for ${place.source}: correct the benchmark`);
    writeFileSync(path, before.replace(place, text));
  }
  return folder;
}

/** Files by which a server starts its workers in QEMU. */
interface Counter {
  readonly environment: Readonly<Record<string, string>>;
  /** Instructions of a worker's first thread so far. */
  count(): number;
}

function makeCounter(folder: string, qemu: string): Counter {
  const [plugin, counts] = [join(folder, 'instructions.so'), join(folder, 'counts')];
  const source = join(projectRoot, 'bench/peers/instructions.c');
  execFileSync('cc', ['-O2', '-shared', '-fPIC', '-o', plugin, source], { stdio: 'inherit' });
  const node = join(folder, 'node.sh');
  writeFileSync(
    node,
    `#!/bin/sh\nexec ${qemu} -plugin ${plugin},counts=${counts} ${process.execPath} "$@"\n`,
  );
  chmodSync(node, 0o755);
  const preload = join(folder, 'preload.mjs');
  writeFileSync(preload, `process.execPath = ${JSON.stringify(node)};\n`);
  return {
    environment: { NODE_OPTIONS: `--import=${preload}` },
    count: () => Number(readFileSync(counts).readBigUInt64LE(0)),
  };
}

/** Sends a body over one connection that is kept; resolves to the answer's body. */
function askOver(url: string, body: Buffer): () => Promise<string> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  return () =>
    new Promise((resolve, reject) => {
      const sent = request(`${url}/v1/fuse`, { agent, method: 'POST', headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => {
          if (response.statusCode === 200) resolve(text);
          else reject(new Error(`status ${response.statusCode}: ${text}`));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
}

/** Instructions of a request in each pass of one server, and an answer. */
async function countOf(root: string, counter: Counter, requests: number) {
  const body = readBodies().find(({ docs, kind }) => docs === 10 && kind === 'ascii');
  if (body === undefined) throw new Error('there is no body of ten docs');
  const server = await startFusegate({ LOG_LEVEL: 'error', ...counter.environment }, root);
  try {
    const ask = askOver(server.url, readFileSync(body.path));
    for (let left = WARM_UP; left > 0; left -= 1) await ask();
    const passes: number[] = [];
    for (let pass = 0; pass < PASSES; pass += 1) {
      const before = counter.count();
      for (let left = requests; left > 0; left -= 1) await ask();
      passes.push((counter.count() - before) / requests);
    }
    return { passes, answer: await ask() };
  } finally {
    await server.stop();
  }
}

async function measure(folder: string, { rounds, requests, qemu }: InstructionsOptions) {
  const counter = makeCounter(folder, qemu);
  const roots: Record<Kind, string> = {
    off: copyProgram(mkdtempSync(join(folder, 'off-')), [smallStore]),
    without: copyProgram(mkdtempSync(join(folder, 'without-')), [smallStore, ...withoutSpans]),
  };
  const found: Record<Kind, number[]> = { off: [], without: [] };
  const answers = new Set<string>();
  for (let round = 0; round < rounds; round += 1)
    for (const kind of round % 2 === 0 ? kinds : [...kinds].reverse()) {
      const { passes, answer } = await countOf(roots[kind], counter, requests);
      found[kind].push(...passes);
      answers.add(answer);
    }
  if (answers.size !== 1) throw new Error('the two programs answer differently');
  return found;
}

/** Runs it, prints and judges the figures, and writes the record; resolves to the exit code. */
export async function benchInstructions(options: InstructionsOptions): Promise<number> {
  const startedAt = new Date();
  const qemu = versionOf(options.qemu, ['--version']);
  if (qemu === undefined) {
    console.error(`${options.qemu} does not start: install qemu-user, or name it with --qemu.`);
    return 2;
  }
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-instructions-'));
  let found: Record<Kind, number[]>;
  try {
    found = await measure(folder, options);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const share = spread(found.off).median / spread(found.without).median;
  const passed = share <= TARGET;
  const document = { startedAt: startedAt.toISOString(), machine: machine(), qemu, options };
  const record = { ...document, instructions: found, share, passed };
  if (options.json) console.log(JSON.stringify(record, null, 2));
  else {
    console.log(`tracing switched off: ${figures(spread(found.off))} instructions a request`);
    console.log(`without its code:     ${figures(spread(found.without))}`);
    console.log(`share of medians: ${share.toFixed(4)}  [at most ${TARGET}: ${passed ? 'pass' : 'missed'}]`);
  }
  if (options.record) {
    const file = join(projectRoot, 'bench/record', `${record.startedAt.slice(0, 10)}-instructions.json`);
    writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
  }
  return passed ? 0 : 2;
}
