/** The commands on the store in process: questions, progress, exact CSV, and a store that fails. */
import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { Command } from 'commander';
import { csvLine } from '../../src/commands/csv.js';
import { addExports } from '../../src/commands/export.js';
import { addForget } from '../../src/commands/forget.js';
import { addOptout } from '../../src/commands/optout.js';
import type { CommandParts } from '../../src/commands/withStore.js';
import { appendInterest } from '../../src/store/tables/interests.js';
import { appendLead } from '../../src/store/tables/leads.js';
import { recordOptout } from '../../src/store/tables/optouts.js';
import type { Store } from '../../src/store/store.js';
import { systemClock } from '../../src/system/clock.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { FailingStore, newUnitId, openTestStore, secrets } from '../support/serving.js';

const none = { message: null, source: null, segment: null, campaign: null, eventId: null };
const noDetails = { company: null, cloud: null, monthlyChars: null, timeline: null, compliance: null };

interface Ran {
  readonly code: number | string | undefined;
  readonly output: string;
  readonly errors: string;
  readonly progress: readonly string[];
  readonly questions: readonly string[];
}

afterEach(() => (process.exitCode = 0));

/** Runs one command on a store, which it must not close for others. `answer` undefined: nobody to ask. */
async function ran(store: Store, args: readonly string[], answer?: boolean): Promise<Ran> {
  let output = '';
  let errors = '';
  const [progress, questions]: [string[], string[]] = [[], []];
  const ask = (question: string): Promise<boolean> => {
    questions.push(question);
    return Promise.resolve(answer === true);
  };
  const parts: CommandParts = {
    environment: {},
    machine: { platform: 'linux', cores: 1 },
    called: () => undefined,
    operator: { user: 'ada', host: 'here' },
    clock: systemClock,
    randomness: systemRandomness,
    openStore: () => {
      const kept: Store = {
        ...{ commit: (...given) => store.commit(...given), newUnitId: () => store.newUnitId() },
        get: (space, key) => store.get(space, key),
        getMany: (space, keys) => store.getMany(space, keys),
        ...{ scan: (space, range) => store.scan(space, range), read: (log, range) => store.read(log, range) },
        ...{ last: (log) => store.last(log), trim: (...given) => store.trim(...given) },
        prune: (...given) => store.prune(...given),
        ...{ probe: () => store.probe(), close: () => Promise.resolve() },
      };
      return Promise.resolve({ store: kept, secrets });
    },
    write: (text) => Promise.resolve(void (output += text)),
    printError: (line) => (errors += `${line}\n`),
    showProgress: (text) => void progress.push(text),
    ask: answer === undefined ? undefined : ask,
  };
  const program = new Command('fusegate').exitOverride();
  for (const add of [addExports, addForget, addOptout]) add(program, parts);
  process.exitCode = 0;
  await program.parseAsync(args, { from: 'user' });
  const code = process.exitCode as number | string | undefined;
  process.exitCode = 0;
  return { code, output, errors, progress, questions };
}

async function withLeads(count: number): Promise<Store> {
  const store = await openTestStore();
  const at = Array.from({ length: count }, (_, index) => index + 1);
  await Promise.all(
    at.map((receivedAtMs) => {
      const email = `${receivedAtMs}@example.com`;
      return appendLead(store, newUnitId(), {
        id: `lead_${email}`,
        receivedAtMs,
        email,
        tier: null,
        ...none,
      });
    }),
  );
  return store;
}

test('CSV lines are RFC 4180, and no text is a formula', () => {
  assert.equal(csvLine(['a', 1, true, null, '']), 'a,1,true,,\r\n');
  assert.equal(csvLine(['a,b', 'a"b', 'a\nb', 'a\rb', ' a ']), '"a,b","a""b","a\nb","a\rb"," a "\r\n');
  for (const text of ['=1', '+1', '-1', '@x', '\t=1', '＝1', '＋1', '－1', '＠x']) {
    assert.equal(csvLine([text]), `'${text}\r\n`);
  }
  for (const text of ['\r=1', '\n=1']) assert.equal(csvLine([text]), `"'${text}"\r\n`);
  assert.equal(csvLine([-1, 'a=b', "'x"]), "-1,a=b,'x\r\n");
});

describe('export', () => {
  test('writes in pieces and reports its progress', async () => {
    const { code, output, progress } = await ran(await withLeads(450), [
      'leads',
      'export',
      '--format',
      'csv',
    ]);
    assert.equal(code, 0);
    assert.equal(output.split('\r\n').length, 452);
    assert.deepEqual(progress, [
      'leads: 200 rows, position 200 of 450',
      'leads: 400 rows, position 400 of 450',
      'leads: 450 rows\n',
    ]);
  });

  test('stops with a reason where the opt-outs cannot be read: no row goes out unmarked', async () => {
    const failing = new FailingStore(await withLeads(3));
    const { seen } = failing;
    const halved: Store = {
      ...seen,
      get: (space, key) => {
        failing.failure = 'not written';
        return seen.get(space, key);
      },
    };
    const { code, output, errors } = await ran(halved, ['leads', 'export', '--format', 'jsonl']);
    assert.deepEqual([code, output, errors], [1, '', 'The store does not answer (told to fail).\n']);
  });

  test('of a store that fails is an error, for every table', async () => {
    const failing = new FailingStore(await openTestStore());
    failing.failure = 'not written';
    for (const table of ['leads', 'interests', 'optouts', 'clicks']) {
      const { code, errors } = await ran(failing.seen, [table, 'export', '--format', 'csv']);
      assert.deepEqual([code, errors], [1, 'The store does not answer (told to fail).\n'], table);
    }
    const { code } = await ran(failing.seen, ['optout', 'check', 'a@b']);
    assert.equal(code, 1);
  });
});

describe('forget', () => {
  test('asks first, and erases nothing on no, everything on yes', async () => {
    const store = await withLeads(2);
    const interest = { id: 'i', receivedAtMs: 1, email: ' 1@EXAMPLE.com', deliveryModel: 'oem_embedded' };
    await appendInterest(store, newUnitId(), { ...interest, ...noDetails, ...none });
    await recordOptout(store, secrets, '1@example.com', 1);
    const question =
      'Erase 1 lead and 1 interest of 1@example.com, and the address of its opt-out? ' +
      'This cannot be undone. [y/N] ';
    const no = await ran(store, ['forget', '1@Example.com'], false);
    assert.deepEqual([no.code, no.errors, no.questions], [1, 'Nothing was erased.\n', [question]]);
    const yes = await ran(store, ['forget', '1@Example.com'], true);
    assert.deepEqual([yes.code, yes.questions], [0, [question]]);
    assert.equal(
      yes.output,
      'Erased 1 lead and 1 interest; the opt-out stays, as a keyed hash of the address.\n',
    );
    const rest = await ran(store, ['leads', 'export', '--format', 'jsonl']);
    assert.deepEqual(rest.output.match(/\d@example\.com/g)?.slice(-1), ['2@example.com']);
    assert.equal(rest.output.trim().split('\n').length, 1);
    const nothing = await ran(store, ['forget', 'nobody@example.com'], true);
    assert.deepEqual(
      [nothing.output, nothing.questions],
      ['Nothing is stored about nobody@example.com.\n', []],
    );
  });

  test('that fails half-way says so and can be run again', async () => {
    const failing = new FailingStore(await withLeads(1));
    const { seen } = failing;
    const once: Store = {
      ...seen,
      commit: (operations, id) => {
        failing.failure = 'written';
        return seen.commit(operations, id).finally(() => (failing.failure = undefined));
      },
    };
    const failed = await ran(once, ['forget', '1@example.com', '--yes']);
    assert.deepEqual([failed.code, failed.errors], [1, 'The store does not answer (told to fail).\n']);
    const again = await ran(seen, ['forget', '1@example.com', '--yes']);
    assert.deepEqual([again.code, again.output], [0, 'Nothing is stored about 1@example.com.\n']);
  });
});
