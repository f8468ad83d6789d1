/** `npm run bench -- <name>`: the benchmarks, checked, plotted and recorded with the machine they ran on. */
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { projectRoot } from '../test/peers/python.js';
import { benchAccess } from './access.js';
import type { AccessOptions } from './access.js';
import { benchAudit } from './audit.js';
import type { AuditOptions } from './audit.js';
import { benchBatch, type BatchOptions } from './batch.js';
import { benchCensus, type CensusOptions } from './census.js';
import { benchCheckout, type CheckoutOptions } from './checkout.js';
import { benchDoor } from './door.js';
import { benchEmbed } from './embed.js';
import type { EmbedOptions } from './embed.js';
import type { DoorOptions } from './door.js';
import { benchFuse } from './fuse.js';
import type { FuseOptions } from './fuse.js';
import { benchGrowth, type GrowthOptions } from './growth.js';
import { benchIdle, type IdleOptions } from './idle.js';
import { benchLarge } from './large.js';
import type { LargeOptions } from './large.js';
import { benchLeads } from './leads.js';
import type { LeadsOptions } from './leads.js';
import { benchLog, type LogOptions } from './log.js';
import { benchNodes, type NodesOptions } from './nodes.js';
import { benchNormalize } from './normalize.js';
import type { NormalizeOptions } from './normalize.js';
import { benchOtlp, type OtlpOptions } from './otlp.js';
import { benchRank, type RankOptions } from './rank.js';
import { benchRerank } from './rerank.js';
import type { RerankOptions } from './rerank.js';
import { benchSoak } from './soak.js';
import type { SoakOptions } from './soak.js';
import { benchTakeover, type TakeoverOptions } from './takeover.js';

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

const program = new Command('bench').description(
  'Benchmarks of Fusegate. Exit code 2: a target was missed or not judged.',
);
program
  .command('fuse')
  .description('POST /v1/fuse against an echo, FastAPI + rank_bm25, bm25s and tantivy')
  .option('--rounds <n>', 'rounds in which the peers take turns', whole, 5)
  .option('--seconds <s>', 'seconds of load a peer, body and round', whole, 4)
  .option('--connections <n>', 'connections of the load', whole, 8)
  .option('--body <text>', 'only bodies whose name contains this', '')
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: FuseOptions) => {
    process.exitCode = await benchFuse(options);
  });
program
  .command('access')
  .description('key check, limit and header lines of a request, beside an empty native call')
  .option('--rounds <n>', 'rounds in which the cases take turns', whole, 7)
  .option('--requests <n>', 'requests a case and round', whole, 50_000)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: AccessOptions) => {
    process.exitCode = await benchAccess(options);
  });
program
  .command('batch')
  .description('queries of ten docs as one POST /v1/fuse/batch, beside the same one by one')
  .option('--rounds <n>', 'rounds in which the two take turns', whole, 15)
  .option('--queries <n>', 'queries of a round', whole, 1_000)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: BatchOptions) => {
    process.exitCode = await benchBatch(options);
  });
program
  .command('census')
  .description('the worst request of every route, found by search')
  .option('--bodies <n>', 'bodies tried for each route', whole, 60)
  .option('--only <name>', 'routes whose name has this; nothing is recorded', '')
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: CensusOptions) => {
    process.exitCode = await benchCensus(options);
  });
program
  .command('growth')
  .description('what exploration costs by the number of fragments: times, memory, start, submissions')
  .option('--counts <n,n>', 'numbers of fragments', counts, [10_000, 30_000, 100_000, 300_000])
  .option('--rounds <n>', 'rounds of submissions, beside an empty store in turns', whole, 3)
  .option('--seconds <s>', 'seconds of submissions into each of the two and round', whole, 2)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: GrowthOptions) => {
    process.exitCode = await benchGrowth(options);
  });
program
  .command('idle')
  .description('memory of connections that do nothing, and requests beside them')
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: IdleOptions) => {
    process.exitCode = await benchIdle(options);
  });
program
  .command('soak')
  .description('resident memory of a worker under good, bad and aborted requests')
  .option('--requests <n>', 'requests in all', whole, 2_000_000)
  .option('--connections <n>', 'connections of the load', whole, 16)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: SoakOptions) => {
    process.exitCode = await benchSoak(options);
  });
program
  .command('large')
  .description('99th percentile of small requests while a 32 MiB request is always in flight')
  .option('--seconds <s>', 'seconds of load, idle and again beside the large requests', positive, 20)
  .option('--connections <n>', 'connections of the small requests', whole, 2)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: LargeOptions) => {
    process.exitCode = await benchLarge(options);
  });
program
  .command('leads')
  .description('durable POST /v1/leads and GET /c/{token}: rates, and what is in the store afterwards')
  .option('--seconds <s>', 'seconds of load of each kind', positive, 10)
  .option('--connections <n>', 'clients at once', whole, 64)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: LeadsOptions) => {
    process.exitCode = await benchLeads(options);
  });
program
  .command('log')
  .description('submissions with the log of receipts and without it; a proof; an audit of a large log')
  .option('--rounds <n>', 'rounds in which the two take turns', whole, 7)
  .option('--seconds <s>', 'seconds of submissions each and round', positive, 2)
  .option('--leaves <n>', 'leaves of the large log', whole, 1_000_000)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: LogOptions) => {
    process.exitCode = await benchLog(options);
  });
program
  .command('nodes')
  .description('durable leads by one node and by two on one PostgreSQL, and what each lead costs it')
  .option('--rounds <n>', 'rounds in which they take turns', whole, 5)
  .option('--seconds <s>', 'seconds of load of each and round', positive, 4)
  .option('--connections <n>', 'clients at once, of all nodes', whole, 64)
  .option('--against <folder>', 'a built working tree that takes turns with this one', '')
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: NodesOptions) => {
    process.exitCode = await benchNodes(options);
  });
program
  .command('normalize')
  .description('POST /v1/normalize against ftfy + emoji + confusable_homoglyphs')
  .option('--rounds <n>', 'rounds in which the peers take turns', whole, 5)
  .option('--seconds <s>', 'seconds a peer, text and round', positive, 2)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: NormalizeOptions) => {
    process.exitCode = await benchNormalize(options);
  });
program
  .command('otlp')
  .description('POST /v1/fuse of 10 docs without a collector, with one, and with one that gets every request')
  .option('--rounds <n>', 'rounds in which they take turns', whole, 9)
  .option('--seconds <s>', 'seconds of load of each and round', positive, 3)
  .option('--connections <n>', 'connections of the load', whole, 8)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: OtlpOptions) => {
    process.exitCode = await benchOtlp(options);
  });
program
  .command('audit')
  .description('POST /v1/audit of 500 records, and fusegate audit of a file: times and memory')
  .option('--rounds <n>', 'rounds; of the file at most 3', whole, 11)
  .option('--megabytes <n>', 'size of the file', whole, 1000)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: AuditOptions) => {
    process.exitCode = await benchAudit(options);
  });
program
  .command('door')
  .description('digests of a fragment, durable POST /dream, verified GET /receipt/{id}, GET /graph/near')
  .option('--seconds <s>', 'seconds of load of each kind', positive, 10)
  .option('--connections <n>', 'clients at once', whole, 64)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: DoorOptions) => {
    process.exitCode = await benchDoor(options);
  });
program
  .command('checkout')
  .description(
    'on-chain orders and polls on a real btcd: rates, the cost of watching, how soon a payment is found',
  )
  .option('--seconds <s>', 'seconds of load of each kind', positive, 10)
  .option('--connections <n>', 'clients at once', whole, 64)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: CheckoutOptions) => {
    process.exitCode = await benchCheckout(options);
  });
program
  .command('rank')
  .description('nDCG@10 of requests on judged collections, by analyzer, learnt statistics and model; rates')
  .option('--model <text>', 'only models whose id contains this', '')
  .option('--data <folder>', 'the judged collections', join(projectRoot, '../shared/data'))
  .option('--rounds <n>', 'rounds in which kinds of requests take turns; 0: no rates', Number, 400)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: RankOptions) => {
    process.exitCode = await benchRank(options);
  });
program
  .command('rerank')
  .description('POST /v2/rerank of 100 docs against POST /v1/fuse and two FastAPI servers; p99')
  .option('--rounds <n>', 'rounds in which the peers take turns', whole, 5)
  .option('--seconds <s>', 'seconds of load of each kind', positive, 5)
  .option('--connections <n>', 'connections of the load', whole, 8)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: RerankOptions) => {
    process.exitCode = await benchRerank(options);
  });
program
  .command('embed')
  .description('embed mode against sentence-transformers behind FastAPI: cold, warm, static; p99; memory')
  .option('--rounds <n>', 'rounds in which the peers take turns', whole, 3)
  .option('--seconds <s>', 'seconds of load of each kind', positive, 5)
  .option('--requests <n>', 'requests under which the memory is looked at', whole, 40_000)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: EmbedOptions) => {
    process.exitCode = await benchEmbed(options);
  });
program
  .command('takeover')
  .description('requests at a constant rate while server after server takes the place of the one before')
  .option('--takeovers <n>', 'servers that take over, one after the other', whole, 100)
  .option('--rate <n>', 'requests a second', whole, 5_000)
  .option('--workers <n>', 'workers of a server', whole, 1)
  .option('--connections <n>', 'connections that are kept', whole, 32)
  .option('--json', 'print one JSON document instead of text', false)
  .option('--no-record', 'write nothing to bench/record')
  .action(async (options: TakeoverOptions) => {
    process.exitCode = await benchTakeover(options);
  });
try {
  await program.parseAsync();
} catch (error) {
  // A benchmark that measured nothing, or something wrong, has no figures to show.
  console.error(error);
  process.exitCode = 1;
}
