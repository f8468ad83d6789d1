/** Peers that answer in process, each a child driven over lines of JSON, so that rounds can take turns. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { projectRoot } from '../test/support/python.js';
import { checkBm25s, checkFusegate, checkRankBm25, checkTantivy } from './check.js';
import type { Check } from './check.js';
import type { Body } from './bodies.js';

/** A request body in a file. */
export interface BodyFile {
  readonly name: string;
  readonly path: string;
}

/** A running peer. */
export interface InProcess<Kind extends BodyFile = Body> {
  readonly name: string;
  /** Whether its tokenizer can do what the body asks for. */
  readonly takes: (body: Kind) => boolean;
  /** Answers once, and fails unless the answer is right. */
  readonly verify: (body: Kind) => Promise<void>;
  /** Seconds a request, over about `seconds`. */
  readonly measure: (body: Kind, seconds: number) => Promise<number>;
  readonly stop: () => Promise<void>;
}

/** How a peer is started, and what its answers must be. */
export interface Program<Kind extends BodyFile> {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Throws where an answer is wrong. */
  readonly check: (body: Kind, answer: unknown) => void;
  readonly takes?: (body: Kind) => boolean;
}

/** Starts a peer. */
export function startPeer<Kind extends BodyFile>(program: Program<Kind>): InProcess<Kind> {
  const { name, command, args, check, takes = () => true } = program;
  const child = spawn(command, args, { cwd: projectRoot, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (body: Kind, seconds: number): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify({ body: body.path, seconds })}\n`);
    const line = await lines.next();
    if (line.done === true) throw new Error(`${name} ended`);
    return JSON.parse(line.value);
  };
  return {
    name,
    takes,
    verify: async (body) => {
      const answer = await ask(body, 0);
      try {
        check(body, answer);
      } catch (error) {
        throw new Error(`${name} answers ${body.name} wrongly`, { cause: error });
      }
    },
    measure: async (body, seconds) => {
      const timing = (await ask(body, seconds)) as { requests: number; seconds: number };
      return timing.seconds / timing.requests;
    },
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
}

/** Builds the Rust peer; `undefined`, with the reason printed, where that fails. */
function buildTantivy(say: (line: string) => void): string | undefined {
  const folder = join(projectRoot, 'bench/native');
  const build = spawnSync(
    'cargo',
    ['build', '--release', '--locked', '--manifest-path', join(folder, 'Cargo.toml')],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  if (build.status === 0) return join(folder, 'target/release/fusegate-bench-peers');
  say('tantivy is left out: its build failed (see above).');
  return undefined;
}

/** Starts the native core, rank_bm25, bm25s and tantivy. */
export function startInProcess(python: string | undefined, say: (line: string) => void): InProcess[] {
  const native = join(projectRoot, 'dist/bench/peers/native.js');
  const script = 'bench/peers/inprocess.py';
  const of =
    (check: Check) =>
    ({ request }: Body, answer: unknown): void =>
      check(request, answer);
  const programs: Program<Body>[] = [
    { name: 'native core', command: process.execPath, args: [native], check: of(checkFusegate) },
  ];
  if (python !== undefined) {
    const peer = { command: python };
    programs.push({ ...peer, name: 'rank_bm25', args: [script, 'rank_bm25'], check: of(checkRankBm25) });
    programs.push({ ...peer, name: 'bm25s', args: [script, 'bm25s'], check: of(checkBm25s) });
  }
  say('Building the Rust peer (tantivy; some minutes the first time) …');
  const tantivy = buildTantivy(say);
  if (tantivy !== undefined) {
    // It refuses a member whose first value is of another type, whatever the last one is.
    const takes = ({ request, name }: Body): boolean =>
      request.tokenizer !== 'ngram' && !name.endsWith('repeated names');
    programs.push({ name: 'tantivy', command: tantivy, args: [], check: of(checkTantivy), takes });
  }
  return programs.map(startPeer);
}
