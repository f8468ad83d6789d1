/**
 * `bench normalize`: one request of POST /v1/normalize in process, bytes in to bytes out, against ftfy, emoji
 * and confusable_homoglyphs in Python on the same text. The peers take turns; what counts is the ratio.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NormalizeResponse } from '../src/contract/normalize.js';
import { findPython, projectRoot } from '../test/support/python.js';
import { startPeer, type BodyFile, type InProcess } from './inprocess.js';
import { machine, versionOf, writeRecord } from './machine.js';
import { benchTexts, type BenchText } from './normalizeTexts.js';
import type { RecordOptions } from './options.js';
import { dotPlot } from './plot.js';
import { figure, figures, ratios, spread, type Spread } from './statistics.js';

/** What the command line may set. */
export interface NormalizeOptions extends RecordOptions {
  readonly rounds: number;
  /** Seconds a peer, text and round. */
  readonly seconds: number;
}

interface TextBody extends BodyFile, BenchText {
  readonly bytes: number;
}

interface Figures {
  readonly text: string;
  readonly bytes: number;
  readonly microseconds: Readonly<Record<string, Spread>>;
  readonly megabytesPerSecond: Spread;
  readonly target: number;
  readonly timesPython: Spread | null;
  readonly reached: boolean;
}

/** Least rate (MB/s of text) by name. */
const targets: Readonly<Record<string, number>> = { ASCII: 2000 };
const OTHER_TARGET = 150;
const TIMES_PYTHON = 50;

const PEER = 'ftfy + emoji + confusable_homoglyphs';

/** Words without what glosses put in. */
function words(text: string): string[] {
  return text.replaceAll(/ ?[^ ]+ \([^)]*\)/g, '').match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
}

/** Share of the truth's words that stand at the same place. */
function recovered({ truth }: BenchText, normalized: string): number {
  const [expected, found] = [words(truth), words(normalized)];
  const same = expected.filter((word, at) => word === found[at]).length;
  return expected.length === found.length ? same / expected.length : 0;
}

/** Every damaged word must come back, and the changes must make the answer out of the text. */
function checkNative(body: TextBody, answer: unknown): void {
  const { text, normalized, changes, stats } = answer as NormalizeResponse;
  if (text !== body.text) throw new Error('the text does not come back');
  const share = recovered(body, normalized);
  if (share !== 1) throw new Error(`${figure(100 * share)} % of the words are as they were`);
  const points = Array.from(text);
  for (const { start, end, original } of changes) {
    if (points.slice(start, end).join('') !== original) throw new Error(`a span is not true: ${start}`);
  }
  const glossed = (stats['emoji'] ?? 0) > 0;
  if (glossed !== /\p{Extended_Pictographic}/u.test(text)) throw new Error('emoji are not told');
}

/** The peer repairs less: it must undo the mojibake and name the emoji. */
function checkPython(body: TextBody, answer: unknown): void {
  const { normalized } = answer as { normalized: string };
  if (/Ã[^ ]/.test(normalized)) throw new Error('mojibake is left');
  const emoji = /\p{Extended_Pictographic}/u.test(body.text);
  if (emoji && !normalized.includes('(red heart)')) throw new Error('emoji have no names');
  const same = new Set(words(normalized));
  const share = words(body.truth).filter((word) => same.has(word.normalize('NFKC'))).length;
  if (share < 0.95 * words(body.truth).length) throw new Error('words are lost');
}

async function measure(
  peers: readonly InProcess<TextBody>[],
  body: TextBody,
  { rounds, seconds }: NormalizeOptions,
): Promise<Figures> {
  const times = new Map<string, number[]>(peers.map(({ name }) => [name, []]));
  for (const peer of peers) await peer.measure(body, Math.min(1, seconds));
  for (let round = 0; round < rounds; round++) {
    for (const peer of peers) times.get(peer.name)?.push(await peer.measure(body, seconds));
  }
  const ours = times.get('native core') ?? [];
  const theirs = times.get(PEER);
  const rate = spread(ours.map((time) => body.bytes / time / 1e6));
  const ratio = theirs === undefined ? null : ratios(theirs, ours);
  const target = targets[body.name] ?? OTHER_TARGET;
  return {
    text: body.name,
    bytes: body.bytes,
    microseconds: Object.fromEntries(
      Array.from(times, ([name, all]) => [name, spread(all.map((time) => time * 1e6))]),
    ),
    megabytesPerSecond: rate,
    target,
    timesPython: ratio,
    reached: rate.median >= target && ratio !== null && ratio.median >= TIMES_PYTHON,
  };
}

function print({ text, bytes, microseconds, megabytesPerSecond, target, timesPython }: Figures): void {
  console.log(`\n${text} (${figure(bytes)} bytes)`);
  for (const [name, time] of Object.entries(microseconds)) console.log(`  ${name}: ${figures(time)} µs`);
  const verdict = (value: Spread, least: number) =>
    `${figures(value)}  [target >= ${least}: ${value.median >= least ? 'pass' : 'missed'}]`;
  console.log(`  native core: MB/s ${verdict(megabytesPerSecond, target)}`);
  if (timesPython !== null) console.log(`  times Python: ${verdict(timesPython, TIMES_PYTHON)}`);
}

function plot(all: readonly Figures[], host: string): string {
  const series = ['native core', PEER];
  return dotPlot({
    title: 'One normalize request in process, bytes in to bytes out',
    subtitle: `Median and range of the rounds, one core, texts of 95,000 characters. ${host}`,
    axis: 'microseconds a request (logarithmic)',
    series,
    rows: all.map(({ text, microseconds, megabytesPerSecond }) => ({
      label: text,
      values: series.map((name) => microseconds[name]),
      note: `native ${figure(megabytesPerSecond.median)} MB/s`,
    })),
  });
}

function startPeers(python: string | undefined): InProcess<TextBody>[] {
  const native = join(projectRoot, 'dist/bench/peers/native.js');
  const ours = {
    name: 'native core',
    command: process.execPath,
    args: [native, 'normalize'],
    check: checkNative,
  };
  const theirs = { name: PEER, args: ['bench/peers/normalize.py'], check: checkPython };
  return python === undefined
    ? [startPeer<TextBody>(ours)]
    : [startPeer<TextBody>(ours), startPeer<TextBody>({ ...theirs, command: python })];
}

/** The bodies in a folder of their own. */
function writeBodies(folder: string): TextBody[] {
  return benchTexts().map((text, at) => {
    const path = join(folder, `${at}.json`);
    writeFileSync(path, JSON.stringify({ text: text.text }));
    return { ...text, path, bytes: Buffer.byteLength(text.text) };
  });
}

/** Runs it all, prints figures beside their targets, and writes the record; resolves to the exit code. */
export async function benchNormalize(options: NormalizeOptions): Promise<number> {
  const say = (line: string): void => console.error(line);
  const found = findPython(['ftfy', 'emoji', 'confusable_homoglyphs'], 'bench/peers/requirements.txt');
  if ('missing' in found) say(`The Python peer is left out: ${found.missing}`);
  const python = 'python' in found ? found.python : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-bench-'));
  const host = machine();
  const startedAt = new Date();
  const peers = startPeers(python);
  const all: Figures[] = [];
  try {
    for (const body of writeBodies(folder)) {
      say(`${body.name} …`);
      for (const peer of peers) await peer.verify(body);
      const measured = await measure(peers, body, options);
      all.push(measured);
      if (!options.json) print(measured);
    }
  } finally {
    for (const peer of peers) await peer.stop();
    rmSync(folder, { recursive: true });
  }
  const { rounds, seconds } = options;
  const versions = { python: python === undefined ? null : versionOf(python, ['-V']) };
  const record = {
    startedAt: startedAt.toISOString(),
    machine: host,
    versions,
    settings: { rounds, seconds },
    all,
  };
  if (options.json) console.log(JSON.stringify(record, null, 2));
  if (options.record) {
    const drawn = plot(all, `${host.cpu}, Node ${host.node.slice(1)}`);
    for (const file of writeRecord('normalize', startedAt, record, drawn)) say(`Wrote ${file}`);
  }
  return all.every(({ reached }) => reached) ? 0 : 2;
}
