/**
 * `npm run test:loaded -- [FOLDERS OR FILES OF TEST] [--times N] [--busy N] [--seed N]`: runs tests N times
 * (10), each time in another order of their files, on a machine where N processes (two a core) do nothing but
 * keep it busy. A test that waits for time, or that minds its neighbours, fails here. The seed of a run that
 * failed gives its order again.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { run } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { shuffled } from './order.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const built = join(root, 'dist/test');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    times: { type: 'string', default: '10' },
    busy: { type: 'string', default: String(2 * availableParallelism()) },
    seed: { type: 'string', default: '1' },
  },
});

/** Test files, but for those of peers, which wait for programs of others. */
function testFiles(): string[] {
  const names = readdirSync(built, { recursive: true, encoding: 'utf8' });
  const asked = positionals.map((path) =>
    relative(root, resolve(path))
      .replace(/^dist\//, '')
      .replace(/\.ts$/, '.js'),
  );
  return names
    .filter((name) => name.endsWith('.test.js') && !name.startsWith('peers/'))
    .filter((name) => asked.length === 0 || asked.some((each) => `test/${name}`.startsWith(each)))
    .map((name) => join(built, name))
    .sort();
}

/** Keeps the machine busy until all of them are ended. */
function keepBusy(processes: number): ChildProcess[] {
  return Array.from({ length: processes }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
}

/** A result, as the event `test:fail` carries it. */
interface Failed {
  readonly name: string;
  readonly file?: string;
  readonly details: { readonly error: Error };
}

/** Most characters of a reason that are shown. */
const mostShown = 500;

/** What an error says, in one line, and its place in the test. */
function shortly({ message, stack = '' }: Error): string {
  const place = /[^/( ]+\.test\.[jt]s:\d+/.exec(stack)?.[0] ?? '';
  return `${message.replaceAll(/\s+/g, ' ').slice(0, mostShown)} ${place}`.trimEnd();
}

/** Files after whose tests the progress is told. */
const toldFiles = 40;

/** Runs the files once, and tells what fails as it does; resolves to the number of failures. */
async function once(files: readonly string[]): Promise<number> {
  let failures = 0;
  const done = new Set<string>();
  const events = run({ files: [...files], concurrency: 3 });
  events.on('test:fail', (data) => {
    const { name, file = '', details } = data as Failed;
    const { error } = details;
    failures += 1;
    const reason = shortly(error.cause instanceof Error ? error.cause : error);
    console.log(`  ${relative(root, file)}: ${name}: ${reason}`);
  });
  events.on('test:pass', ({ file = '' }: { readonly file?: string }) => {
    if (done.has(file)) return;
    done.add(file);
    if (done.size % toldFiles === 0) console.log(`  ${done.size} of ${files.length} files`);
  });
  await events.forEach(() => undefined);
  return failures;
}

const files = testFiles();
const busy = keepBusy(Number(values.busy));
process.on('exit', () => busy.forEach((each) => each.kill('SIGKILL')));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
let failures = 0;
for (let at = 0; at < Number(values.times); at += 1) {
  const seed = Number(values.seed) + at;
  const begunMs = performance.now();
  console.log(`seed ${seed}`);
  const failed = await once(shuffled(files, seed));
  failures += failed;
  const seconds = Math.round((performance.now() - begunMs) / 1_000);
  console.log(`seed ${seed}: ${files.length} files in ${seconds} s, ${failed} failures`);
}
process.exit(failures === 0 ? 0 : 1);
