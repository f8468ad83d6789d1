/** `npm run bench -- <name>`: the benchmarks, checked, plotted and recorded with the machine they ran on. */
import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { projectRoot } from '../test/support/python.js';
import { benchAccess } from './access.js';
import { benchAgainst, type AgainstOptions } from './against.js';
import { benchAudit } from './audit.js';
import { benchBatch } from './batch.js';
import { benchBeside } from './beside.js';
import { benchCensus } from './census.js';
import { benchCheckout } from './checkout.js';
import { benchDoor } from './door.js';
import { benchEmbed } from './embed.js';
import { benchFuse } from './fuse.js';
import { benchGrowth } from './growth.js';
import { benchIdle } from './idle.js';
import { benchInstructions } from './instructions.js';
import { benchLarge } from './large.js';
import { benchLeads } from './leads.js';
import { benchLog } from './log.js';
import { benchNodes } from './nodes.js';
import { benchNormalize } from './normalize.js';
import { benchOtlp } from './otlp.js';
import { benchRank } from './rank.js';
import { benchRerank } from './rerank.js';
import { benchSoak } from './soak.js';
import { benchTakeover } from './takeover.js';

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('a number above 0 is needed');
  return value;
}

function whole(text: string): number {
  const value = positive(text);
  if (!Number.isInteger(value)) throw new InvalidArgumentError('a whole number above 0 is needed');
  return value;
}

function counts(text: string): number[] {
  return text.split(',').map(whole);
}

const qemuName = process.arch === 'arm64' ? 'aarch64' : 'x86_64';

const program = new Command('bench').description(
  'Benchmarks of Fusegate. Exit code 2: a target was missed or not judged.',
);

/** Adds a benchmark whose result is the program's exit code. Its options are those of its command. */
function add(name: string, description: string, run: (options: never) => Promise<number>): Command {
  return program
    .command(name)
    .description(description)
    .action(async (options: unknown) => {
      process.exitCode = await run(options as never);
    });
}

add('fuse', 'POST /v1/fuse against an echo, FastAPI + rank_bm25, bm25s and tantivy', benchFuse)
  .option('--rounds <n>', 'rounds in which the peers take turns', whole, 5)
  .option('--seconds <s>', 'seconds of load a peer, body and round', whole, 4)
  .option('--connections <n>', 'connections of the load', whole, 8)
  .option('--body <text>', 'only bodies whose name contains this', '');
add('access', 'key check, limit and header lines of a request, beside an empty native call', benchAccess)
  .option('--rounds <n>', 'rounds in which the cases take turns', whole, 7)
  .option('--requests <n>', 'requests a case and round', whole, 50_000);
program
  .command('against <folder>')
  .description(
    'fuse, embed mode and normalize by this program and by a built working tree of another version',
  )
  .option('--rounds <n>', 'rounds in which the two take turns', whole, 7)
  .option('--seconds <s>', 'seconds of load a request and round', positive, 2)
  .option('--connections <n>', 'connections of the load', whole, 8)
  .option('--only <text>', 'only requests whose name contains this', '')
  .action(async (folder: string, options: AgainstOptions) => {
    process.exitCode = await benchAgainst(options, resolve(folder));
  });
add('batch', 'queries of ten docs as one POST /v1/fuse/batch, beside the same one by one', benchBatch)
  .option('--rounds <n>', 'rounds in which the two take turns', whole, 15)
  .option('--queries <n>', 'queries of a round', whole, 1_000);
add('beside', 'small requests at seven tenths of saturation beside all background work', benchBeside)
  .option('--fragments <n>', 'fragments that the index lacks when the work begins', whole, 60_000)
  .option('--rounds <n>', 'rounds, each with servers of its own', whole, 5)
  .option('--seconds <s>', 'seconds of each measurement', whole, 8)
  .option('--connections <n>', 'connections of the generator', whole, 16);
add('census', 'the worst request of every route, found by search', benchCensus)
  .option('--bodies <n>', 'bodies tried for each route', whole, 60)
  .option('--only <name>', 'routes whose name has this; nothing is recorded', '');
add(
  'growth',
  'what exploration costs by the number of fragments: times, memory, start, submissions',
  benchGrowth,
)
  .option('--counts <n,n>', 'numbers of fragments', counts, [10_000, 30_000, 100_000, 300_000])
  .option('--rounds <n>', 'rounds of submissions, beside an empty store in turns', whole, 3)
  .option('--seconds <s>', 'seconds of submissions into each of the two and round', whole, 2);
add('idle', 'memory of connections that do nothing, and requests beside them', benchIdle);
add('instructions', 'what tracing costs a request while it is off, in instructions (QEMU)', benchInstructions)
  .option('--rounds <n>', 'rounds in which the two programs take turns', whole, 3)
  .option('--requests <n>', 'requests of each count', whole, 4_000)
  .option('--qemu <program>', "QEMU's user mode for this processor, with plugins", `qemu-${qemuName}`);
add('soak', 'resident memory of a worker under good, bad and aborted requests', benchSoak)
  .option('--requests <n>', 'requests in all', whole, 2_000_000)
  .option('--connections <n>', 'connections of the load', whole, 16);
add('large', '99th percentile of small requests while a 32 MiB request is always in flight', benchLarge)
  .option('--seconds <s>', 'seconds of load, idle and again beside the large requests', positive, 20)
  .option('--connections <n>', 'connections of the small requests', whole, 2);
add(
  'leads',
  'durable POST /v1/leads and GET /c/{token}: rates, and what is in the store afterwards',
  benchLeads,
)
  .option('--seconds <s>', 'seconds of load of each kind', positive, 10)
  .option('--connections <n>', 'clients at once', whole, 64);
add('log', 'submissions with the log of receipts and without it; a proof; an audit of a large log', benchLog)
  .option('--rounds <n>', 'rounds in which the two take turns', whole, 7)
  .option('--seconds <s>', 'seconds of submissions each and round', positive, 2)
  .option('--leaves <n>', 'leaves of the large log', whole, 1_000_000);
add(
  'nodes',
  'durable leads by one node and by two on one PostgreSQL, and what each lead costs it',
  benchNodes,
)
  .option('--rounds <n>', 'rounds in which they take turns', whole, 5)
  .option('--seconds <s>', 'seconds of load of each and round', positive, 4)
  .option('--connections <n>', 'clients at once, of all nodes', whole, 64)
  .option('--against <folder>', 'a built working tree that takes turns with this one', '');
add('normalize', 'POST /v1/normalize against ftfy + emoji + confusable_homoglyphs', benchNormalize)
  .option('--rounds <n>', 'rounds in which the peers take turns', whole, 5)
  .option('--seconds <s>', 'seconds a peer, text and round', positive, 2);
add(
  'otlp',
  'POST /v1/fuse of 10 docs without a collector, with one, and with one that gets every request',
  benchOtlp,
)
  .option('--rounds <n>', 'rounds in which they take turns', whole, 9)
  .option('--seconds <s>', 'seconds of load of each and round', positive, 3)
  .option('--connections <n>', 'connections of the load', whole, 8);
add('audit', 'POST /v1/audit of 500 records, and fusegate audit of a file: times and memory', benchAudit)
  .option('--rounds <n>', 'rounds; of the file at most 3', whole, 11)
  .option('--megabytes <n>', 'size of the file', whole, 1000);
add(
  'door',
  'digests of a fragment, durable POST /dream, verified GET /receipt/{id}, GET /graph/near',
  benchDoor,
)
  .option('--seconds <s>', 'seconds of load of each kind', positive, 10)
  .option('--connections <n>', 'clients at once', whole, 64);
add(
  'checkout',
  'on-chain orders and polls on a real btcd: rates, the cost of watching, how soon a payment is found',
  benchCheckout,
)
  .option('--seconds <s>', 'seconds of load of each kind', positive, 10)
  .option('--connections <n>', 'clients at once', whole, 64);
add(
  'rank',
  'nDCG@10 of requests on judged collections, by analyzer, learnt statistics and model; rates',
  benchRank,
)
  .option('--model <text>', 'only models whose id contains this', '')
  .option('--data <folder>', 'the judged collections', join(projectRoot, '../shared/data'))
  .option('--rounds <n>', 'rounds in which kinds of requests take turns; 0: no rates', Number, 400);
add('rerank', 'POST /v2/rerank of 100 docs against POST /v1/fuse and two FastAPI servers; p99', benchRerank)
  .option('--rounds <n>', 'rounds in which the peers take turns', whole, 5)
  .option('--seconds <s>', 'seconds of load of each kind', positive, 5)
  .option('--connections <n>', 'connections of the load', whole, 8);
add(
  'embed',
  'embed mode against sentence-transformers behind FastAPI: cold, warm, static; p99; memory',
  benchEmbed,
)
  .option('--rounds <n>', 'rounds in which the peers take turns', whole, 3)
  .option('--seconds <s>', 'seconds of load of each kind', positive, 5)
  .option('--requests <n>', 'requests under which the memory is looked at', whole, 40_000);
add(
  'takeover',
  'requests at a constant rate while server after server takes the place of the one before',
  benchTakeover,
)
  .option('--takeovers <n>', 'servers that take over, one after the other', whole, 100)
  .option('--rate <n>', 'requests a second', whole, 5_000)
  .option('--workers <n>', 'workers of a server', whole, 1)
  .option('--connections <n>', 'connections that are kept', whole, 32);
for (const command of program.commands) {
  command
    .option('--json', 'print one JSON document instead of text', false)
    .option('--no-record', 'write nothing to bench/record');
}
try {
  await program.parseAsync();
} catch (error) {
  // A benchmark that measured nothing, or something wrong, has no figures to show.
  console.error(error);
  process.exitCode = 1;
}
