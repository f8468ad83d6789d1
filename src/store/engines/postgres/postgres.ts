/**
 * The store's engine on PostgreSQL, and on servers that speak its protocol: one table, standard SQL,
 * SERIALIZABLE transactions, no advisory locks, sequences or LISTEN.
 *
 * A transaction takes two round trips: BEGIN and the reads, then the writes and COMMIT. PostgreSQL shows a
 * transaction to others only once its log is synced, so every read returns data that is on disk. A
 * transaction that conflicted with another, or whose connection was lost, is decided again until its time
 * limit. This is safe even after a COMMIT whose answer was lost, because the transaction reads and writes the
 * id of its unit or group: either the second try finds the id, or the first try can no longer commit beside
 * it (serializability).
 *
 * Transactions that append take turns by a lock on a table, before PostgreSQL gives them their snapshot.
 * Without the lock, a transaction that waited for the head of a log would have to start over, because the
 * head has changed since its snapshot.
 *
 * Reads and writes have a circuit breaker each: a server that is being replaced, or whose disk is full, often
 * answers only one of them.
 */
import type { Clock, Timer } from '../../../system/clock.js';
import type { Log } from '../../../system/log.js';
import type { Randomness } from '../../../system/randomness.js';
import { Breaker, type BreakerTimes, type Probed } from './breaker.js';
import { textOf } from '../../bytes.js';
import type { Engine, KeyRange, ReadRecord, Scan, Write } from '../../engine.js';
import { serverName, type PostgresAddress } from './postgresAddress.js';
import { failureOf, isOfServer, pauseAfter, sqlStateOf, type Failure } from './postgresFailure.js';
import { migrate } from './postgresSchema.js';
import { openSession, type Row, type ServerSettings, type Session } from './postgresSession.js';
import { Slot } from './postgresSlot.js';
import { assertNoStandby, ofStandby } from './postgresStandby.js';
import { literal, selectLocked, selectMany, statementsOf, takeTurn, within } from './postgresStatements.js';
import { spaces } from '../../spaces.js';
import { StoreUnavailable, type Entry } from '../../store.js';

/** Times of the engine (ms). */
export interface PostgresTimes {
  /** Time limit of a call with all its tries, new connections included. */
  readonly deadline: number;
  /** Time limit for connecting. */
  readonly connect: number;
  /** Time that the server lets a transaction wait for our next message; then it releases its locks. */
  readonly idle: number;
  /** Times of the breakers: a server that is back serves again within a second. */
  readonly breaker: BreakerTimes;
}

const usualTimes: PostgresTimes = {
  deadline: 5_000,
  connect: 3_000,
  idle: 3_000,
  breaker: { silence: 1_000, doubt: 1_000, probe: 500, pause: 150 },
};

/** Delay of a refused call (ms): even a caller that retries at once leaves others their turn. */
const refusalMs = 1;

/** Most keys that one statement looks up. */
const keysTogether = 500;

/** Connections for reads outside transactions: a long scan does not block every look-up. */
const readers = 2;

/** Errors of a server without LOCK, or of a role that may not use it: turns only save work. */
const turnRefusals: ReadonlySet<string> = new Set(['0A000', '42601', '42501']);

/** Time limit of the server for a snapshot's statement, and for the pause before it (ms). */
const snapshotPatienceMs = 60_000;

const beginSnapshot = [
  'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  `SET LOCAL statement_timeout TO ${snapshotPatienceMs}`,
  `SET LOCAL idle_in_transaction_session_timeout TO ${snapshotPatienceMs}`,
].join('; ');

/** Parts of the engine. */
export interface PostgresParts {
  readonly address: PostgresAddress;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly randomness: Randomness;
  readonly times?: PostgresTimes;
}

/** Connects and migrates the tables. */
export async function openPostgres(parts: PostgresParts): Promise<Engine> {
  const engine = new PostgresEngine(parts);
  try {
    await engine.prepare();
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** A transaction that has begun. */
interface Begun {
  /** The keys that it has read. */
  readonly keys: readonly Uint8Array[];
  readonly read: ReadRecord;
}

/** Calls with the same needs of the server: they share connections and a breaker. */
interface Lane {
  readonly slots: readonly Slot[];
  readonly breaker: Breaker;
}

class PostgresEngine implements Engine {
  readonly triesAgain = true;
  private readonly writing: Lane;
  private readonly reading: Lane;
  private readonly times: PostgresTimes;
  private turn = 0;
  private answers = true;
  private takesTurns = true;

  constructor(private readonly parts: PostgresParts) {
    this.times = parts.times ?? usualTimes;
    this.writing = this.lane(1, (session) => this.probeWriting(session));
    this.reading = this.lane(readers, async (session) => {
      await entriesOf(session, { from: Buffer.of(0), to: Buffer.of(1), limit: 1 });
    });
  }

  /** Migrates the schema. At startup this may take a call's whole time limit. */
  async prepare(): Promise<void> {
    const slot = this.slotOf(this.writing);
    const begin = 'BEGIN ISOLATION LEVEL SERIALIZABLE';
    const result = await this.tries(slot, undefined, (session) => migrate(session, begin));
    if (result !== undefined) throw this.unavailable(result.tooNew);
  }

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    const value = `(SELECT value FROM fusegate_records WHERE key = ${literal(key)})`;
    return this.attempts(this.reading, async (session) => {
      const { first = [] } = await session.run(`SELECT ${value}, ${ofStandby}`);
      const [found = null, standby] = first;
      assertNoStandby(standby);
      return found === null ? undefined : bytesOf(first, 0);
    });
  }

  async getMany(keys: readonly Uint8Array[]): Promise<readonly (Uint8Array | undefined)[]> {
    const found = new Map<string, Uint8Array>();
    for (let from = 0; from < keys.length; from += keysTogether) {
      const statement = selectMany(keys.slice(from, from + keysTogether));
      const rows = await this.attempts(this.reading, (session) => recordsOf(session, statement));
      for (const { key, value } of rows) found.set(textOf(key), value);
    }
    return keys.map((key) => found.get(textOf(key)));
  }

  async scan(range: KeyRange): Promise<readonly Entry[]> {
    return this.attempts(this.reading, (session) => entriesOf(session, range));
  }

  /**
   * Not retried: a lost connection has lost its snapshot. REPEATABLE READ is enough, as nothing is written:
   * it sees the transactions that had committed when it began.
   */
  async snapshot<Value>(use: (scan: Scan) => Promise<Value>): Promise<Value> {
    const { address, clock } = this.parts;
    const failed = (error: unknown): never => {
      throw this.unavailable(failureOf(error).reason);
    };
    const session = await openSession(address, clock, this.times.connect).catch(failed);
    // The server's own limits end nothing if it, or the way to it, is silent.
    const inTime = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
      const timer = clock.after(2 * snapshotPatienceMs, session.drop);
      return answer.catch(failed).finally(() => timer.stop());
    };
    try {
      await inTime(session.run(beginSnapshot));
      return await use((range) => inTime(entriesOf(session, range)));
    } finally {
      await session.end();
    }
  }

  count(): Promise<number> {
    return this.attempts(this.reading, async (session) => {
      const { rows } = await session.run('SELECT count(*) FROM fusegate_records');
      return Number(rows[0]?.[0]);
    });
  }

  async transact(
    keys: () => readonly Uint8Array[],
    decide: (read: ReadRecord) => readonly Write[],
  ): Promise<void> {
    let thrown: { readonly error: unknown } | undefined;
    let decided: readonly Uint8Array[] | undefined;
    await this.attempts(this.writing, async (session) => {
      const begun = await this.beginReading(session, () => decided ?? keys());
      decided = begun.keys;
      let writes: readonly Write[];
      try {
        writes = decide(begun.read);
      } catch (error) {
        thrown = { error };
        await session.run('ROLLBACK');
        return;
      }
      await commit(session, writes);
    });
    if (thrown !== undefined) throw thrown.error;
  }

  removeRange(range: KeyRange): Promise<number> {
    const statement =
      'DELETE FROM fusegate_records WHERE key IN (SELECT key FROM fusegate_records ' +
      `WHERE ${within(range)} ORDER BY key LIMIT ${range.limit})`;
    return this.attempts(this.writing, async (session) => {
      const { count, command } = await session.run(`${this.begin(session)}; ${statement}; COMMIT`);
      assertCommitted(command);
      return count;
    });
  }

  async close(): Promise<void> {
    const lanes = [this.writing, this.reading];
    for (const { breaker } of lanes) breaker.stop();
    await Promise.all(lanes.flatMap(({ slots }) => slots.map((slot) => slot.end())));
  }

  /** A lane with `connections` connections. `probe`: does what the lane's calls do. */
  private lane(connections: number, probe: (session: Session) => Promise<void>): Lane {
    const { address, clock } = this.parts;
    const open = (): Promise<Session> => openSession(address, clock, this.times.connect);
    const slots = Array.from({ length: connections }, () => new Slot(open));
    const breaker = new Breaker({
      probe: (timeoutMs) => this.probed(timeoutMs, probe),
      longestProbe: this.times.connect,
      onOpen: () => {
        this.tell(false, breaker.refusal ?? '');
        for (const slot of slots) slot.drop();
      },
      onEnd: () => this.tellWhenAllAnswer(),
      times: this.times.breaker,
      clock,
    });
    return { slots, breaker };
  }

  /** Probes the server on a separate connection. */
  private async probed(timeoutMs: number, probe: (session: Session) => Promise<void>): Promise<Probed> {
    const { address, clock } = this.parts;
    let session: Session | undefined;
    let timer: Timer | undefined;
    try {
      session = await openSession(address, clock, timeoutMs);
      timer = clock.after(timeoutMs, session.drop);
      await probe(session);
      return { kind: 'works' };
    } catch (error) {
      const { kind, reason } = failureOf(error);
      if (kind === 'conflict') return { kind: 'works' };
      return { kind: isOfServer(error) ? 'refused' : 'silent', reason };
    } finally {
      timer?.stop();
      session?.end().catch(() => undefined);
    }
  }

  /** Writes a record and removes it in one transaction: a full disk, or a standby, refuses this. */
  private async probeWriting(session: Session): Promise<void> {
    const key = literal(Buffer.concat([Buffer.of(0), this.parts.randomness(16)]));
    const insert = `INSERT INTO fusegate_records (key, value) VALUES (${key}, '')`;
    const remove = `DELETE FROM fusegate_records WHERE key = ${key}`;
    const { command } = await session.run(`${this.begin(session)}; ${insert}; ${remove}; COMMIT`);
    assertCommitted(command);
  }

  private slotOf({ slots }: Lane): Slot {
    this.turn = (this.turn + 1) % slots.length;
    const slot = slots[this.turn];
    if (slot === undefined) throw new Error('A lane without a connection');
    return slot;
  }

  /** Statements that begin a transaction. Settings are local to it, so that poolers may share sessions. */
  private begin({ settings }: Session): string {
    const { deadline, idle } = this.times;
    return [
      'BEGIN ISOLATION LEVEL SERIALIZABLE',
      ...(settings.synchronousCommit === 'remote_apply' ? [] : ['SET LOCAL synchronous_commit TO on']),
      `SET LOCAL statement_timeout TO ${deadline}`,
      `SET LOCAL lock_timeout TO ${idle}`,
      `SET LOCAL idle_in_transaction_session_timeout TO ${idle}`,
      // A sequential scan would read, and so conflict with, every row.
      'SET LOCAL enable_seqscan TO off',
    ].join('; ');
  }

  /**
   * Begins a transaction and reads; found rows are locked. If it reads the head of a log, it waits for its
   * turn first, and calls `wanted` again: units that arrived meanwhile share it.
   */
  private async beginReading(session: Session, wanted: () => readonly Uint8Array[]): Promise<Begun> {
    let keys = wanted();
    let begin = `${this.begin(session)}; `;
    if (keys.some(([space]) => space === spaces.heads) && (await this.takeTurn(session, begin))) {
      keys = wanted();
      begin = '';
    }
    const { rows } = await session.run(begin + (keys.length === 0 ? '' : selectLocked(keys)));
    const found = new Map(rows.map((row) => [textOf(bytesOf(row, 0)), bytesOf(row, 1)]));
    return { keys, read: (key) => found.get(textOf(key)) };
  }

  /** Begins a transaction that waits for its turn to append. False: this server has no turns. */
  private async takeTurn(session: Session, begin: string): Promise<boolean> {
    if (!this.takesTurns) return false;
    try {
      await session.run(begin + takeTurn);
      return true;
    } catch (error) {
      if (!turnRefusals.has(sqlStateOf(error) ?? '')) throw error;
      await session.run('ROLLBACK');
      // A standby refuses the whole transaction with the same code; the next server has turns.
      assertNoStandby((await session.run(`SELECT ${ofStandby}`)).first?.[0]);
      this.takesTurns = false;
      return false;
    }
  }

  /** Tries a step while the server answers; fails at once while it is away. */
  private async attempts<Value>(lane: Lane, step: (session: Session) => Promise<Value>): Promise<Value> {
    const { refusal } = lane.breaker;
    if (refusal === undefined) return this.tries(this.slotOf(lane), lane.breaker, step);
    await this.parts.clock.sleep(refusalMs);
    throw this.unavailable(refusal);
  }

  /** Tries a step until it succeeds, cannot succeed, reaches its time limit, or the breaker opens. */
  private async tries<Value>(
    slot: Slot,
    breaker: Breaker | undefined,
    step: (session: Session) => Promise<Value>,
  ): Promise<Value> {
    const { clock, randomness } = this.parts;
    const endMs = clock.monotonicMs() + this.times.deadline;
    for (let attempt = 0; ; attempt += 1) {
      const silence = clock.after(this.times.breaker.silence, () => breaker?.waiting());
      const result = await this.attempt(slot, endMs, step);
      silence.stop();
      if (result.kind === 'outage') breaker?.failed(result.reason);
      else breaker?.answered();
      if (result.kind === 'outage' || result.kind === 'final') this.tell(false, result.reason);
      else this.tellWhenAllAnswer();
      if (result.kind === 'done') return result.value;
      const pauseMs = pauseAfter(result.kind, attempt, (randomness(1)[0] ?? 0) / 255);
      const late = clock.monotonicMs() + pauseMs >= endMs;
      const isAway = (): boolean => breaker?.refusal !== undefined;
      if (result.kind === 'final' || late || isAway()) throw this.unavailable(result.reason);
      await clock.sleep(pauseMs);
      if (isAway()) throw this.unavailable(result.reason);
    }
  }

  private async attempt<Value>(
    slot: Slot,
    endMs: number,
    step: (session: Session) => Promise<Value>,
  ): Promise<{ readonly kind: 'done'; readonly value: Value } | Failure> {
    let session: Session | undefined;
    let timer: Timer | undefined;
    try {
      session = await slot.take();
      const refused = refusalOf(session.settings);
      if (refused !== undefined) {
        session.drop();
        return { kind: 'final', reason: refused };
      }
      timer = this.parts.clock.after(Math.max(1, endMs - this.parts.clock.monotonicMs()), session.drop);
      return { kind: 'done', value: await step(session) };
    } catch (error) {
      const failure = failureOf(error);
      // The next try may find another server behind the same name.
      if (failure.kind === 'outage') session?.drop();
      else await session?.run('ROLLBACK').catch(() => session?.drop());
      return failure;
    } finally {
      timer?.stop();
    }
  }

  private tellWhenAllAnswer(): void {
    if (this.writing.breaker.answers && this.reading.breaker.answers) this.tell(true, '');
  }

  /** Logs when the server stops answering and when it is back. */
  private tell(answers: boolean, reason: string): void {
    if (answers === this.answers) return;
    this.answers = answers;
    const server = serverName(this.parts.address);
    if (answers) this.parts.log.info({}, `${server} answers again`);
    else this.parts.log.warn({ reason }, `${server} cannot be used; it is tried again`);
  }

  private unavailable(reason: string): StoreUnavailable {
    return new StoreUnavailable(`${serverName(this.parts.address)} ${reason}.`);
  }
}

/** Why a server with these settings is refused, if so. */
function refusalOf({ fsync }: ServerSettings): string | undefined {
  return fsync === 'off'
    ? 'runs with fsync = off, so that nothing would be durable: set it to on'
    : undefined;
}

/** Writes and commits in one message unless the writes are very large. */
async function commit(session: Session, writes: readonly Write[]): Promise<void> {
  const statements = statementsOf(writes);
  const last = [...statements.splice(-1), 'COMMIT'].join('; ');
  // Sent without waiting. After a failure the server refuses the other statements, and COMMIT does not run.
  const answers = await Promise.all([...statements, last].map((statement) => session.run(statement)));
  assertCommitted(answers.at(-1)?.command);
}

function assertCommitted(command: string | undefined): void {
  if (command !== 'COMMIT') throw new Error(`PostgreSQL answered COMMIT with ${command ?? 'nothing'}`);
}

function entriesOf(session: Session, range: KeyRange): Promise<Entry[]> {
  const statement = `SELECT key, value FROM fusegate_records WHERE ${within(range)} ORDER BY key`;
  return recordsOf(session, `${statement} LIMIT ${range.limit}`);
}

/** The records that a statement selects on a server that is no standby. */
async function recordsOf(session: Session, statement: string): Promise<Entry[]> {
  const { rows, first = [] } = await session.run(`SELECT ${ofStandby}; ${statement}`);
  assertNoStandby(first[0]);
  return rows.map((row) => ({ key: bytesOf(row, 0), value: bytesOf(row, 1) }));
}

function bytesOf(row: Row, column: number): Uint8Array {
  const value = row[column];
  if (!(value instanceof Uint8Array)) throw new Error('A column of fusegate_records is not bytea');
  return value;
}
