/**
 * One session of a PostgreSQL server over postgres.js, by the protocol's simple queries (PostgreSQL,
 * Frontend/Backend Protocol, "Simple Query"): several statements in one message, nothing prepared. A whole
 * part of a transaction takes one round trip, and any pooler works.
 *
 * postgres.js 3.4 reconnects by itself after a lost connection. The next statements would then run outside
 * their transaction, or end the process with a write to a closed socket. So a session supplies its own
 * socket, once: a lost session stays lost, and its user opens another.
 */
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import postgres from 'postgres';
import type { Clock } from '../../../system/clock.js';
import type { PostgresAddress } from './postgresAddress.js';
import { assertNoStandby, ofStandby } from './postgresStandby.js';

/** A row's columns: bytea as bytes, everything else as PostgreSQL's text. */
export type Row = readonly (Uint8Array | string | null)[];

/** Outcome of statements. */
export interface Answer {
  /** Rows of the last statement. */
  readonly rows: readonly Row[];
  /** The first row of the first statement. */
  readonly first: Row | undefined;
  /** The last statement's command, such as `COMMIT`; a commit of a failed transaction says `ROLLBACK`. */
  readonly command: string;
  /** Rows affected by the first statement that reports a count. */
  readonly count: number;
}

/** A session. Statements of several calls are sent without waiting and answered in order. */
export interface Session {
  /** Parameters that the server sent at the start of the session. */
  readonly settings: ServerSettings;
  /**
   * Runs statements. Rejects with postgres.PostgresError if the server refused one (the later ones of the
   * same call did not run), with another error if the connection was lost.
   */
  readonly run: (statements: string) => Promise<Answer>;
  /** True if the connection is gone; it never comes back. */
  readonly lost: () => boolean;
  /** Cuts the connection: pending calls reject with this reason. */
  readonly drop: (why?: string) => void;
  /** Closes the session properly. No call may be under way. */
  readonly end: () => Promise<void>;
}

/** Settings of the server that durability depends on; null: unknown to the engine. */
export interface ServerSettings {
  readonly fsync: string | null;
  readonly synchronousCommit: string | null;
}

/** Connects a socket; rejects after `timeoutMs`. */
function openSocket({ host, port }: PostgresAddress, clock: Clock, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = host.startsWith('/')
      ? connect({ path: join(host, `.s.PGSQL.${port}`) })
      : connect({ host, port, noDelay: true, keepAlive: true });
    const timer = clock.after(timeoutMs, () => socket.destroy(new Error('connecting took too long')));
    socket.once('error', reject);
    socket.once('close', () => timer.stop());
    socket.once('connect', () => {
      timer.stop();
      socket.off('error', reject);
      // postgres.js attaches its listener a little later; an earlier error shows as the close after it.
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}

/** Routine of the server that warns when a commit no longer waits for its standby. */
const standbyWait = 'SyncRepWaitForLSN';

/** `unreplicated`: a commit is about to be reported that the synchronous standby may lack. */
function clientOf(
  address: PostgresAddress,
  timeoutMs: number,
  socket: () => Promise<Socket>,
  unreplicated: () => void,
): postgres.Sql {
  const options = {
    host: address.host,
    port: address.port,
    user: address.user,
    pass: address.password,
    database: address.database,
    ssl: address.tls,
    connection: { application_name: address.applicationName },
    max: 1,
    fetch_types: false,
    prepare: false,
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: Math.ceil(timeoutMs / 1_000),
    onnotice: ({ routine }: postgres.Notice) => {
      if (routine === standbyWait) unreplicated();
    },
    socket,
  };
  return postgres(options);
}

/**
 * Opens a session.
 * @throws Error if the server cannot be reached, refuses it, or is a standby.
 */
export async function openSession(
  address: PostgresAddress,
  clock: Clock,
  timeoutMs: number,
): Promise<Session> {
  let socket: Socket | undefined = await openSocket(address, clock, timeoutMs);
  const given = socket;
  const connected = (): Promise<Socket> => {
    const once = socket;
    socket = undefined;
    return once === undefined ? Promise.reject(new Error('the connection was lost')) : Promise.resolve(once);
  };
  // The outcome is unknown then: the caller asks for it, and commits again, on a new connection.
  const unreplicated = (): void => link.drop('the standby may lack a commit');
  const link: ReturnType<typeof linkOf> = linkOf(
    clientOf(address, timeoutMs, connected, unreplicated),
    given,
  );
  const timer = clock.after(timeoutMs, link.drop);
  link.watch();
  try {
    const { rows } = await link.run(
      `SELECT current_setting('fsync', true), current_setting('synchronous_commit', true), ${ofStandby}`,
    );
    const [fsync = null, synchronousCommit = null, standby] = rows[0] ?? [];
    assertNoStandby(standby);
    // TLS has removed the socket's listeners.
    if (address.tls !== false) link.watch();
    return { ...link, settings: { fsync: textOf(fsync), synchronousCommit: textOf(synchronousCommit) } };
  } catch (error) {
    link.drop();
    throw error;
  } finally {
    timer.stop();
  }
}

function textOf(value: Uint8Array | string | null): string | null {
  return typeof value === 'string' ? value : null;
}

/** A session's calls, over its client and its socket. */
function linkOf(
  sql: postgres.Sql,
  socket: Socket,
): Omit<Session, 'settings'> & { readonly watch: () => void } {
  const waiting = new Set<(error: unknown) => void>();
  let gone = false;
  // Without this, a query that postgres.js has not sent before the connection ends would never settle.
  const lose = (error: unknown): void => {
    gone = true;
    socket.destroy();
    for (const reject of waiting) reject(error);
    waiting.clear();
  };
  const run = (statements: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      if (gone || socket.destroyed) {
        reject(new Error('the connection was closed'));
        return;
      }
      waiting.add(reject);
      const settle = (): unknown => waiting.delete(reject);
      sql
        .unsafe(statements)
        .values()
        .then(
          (result) => {
            settle();
            resolve(answerOf(result));
          },
          (error: unknown) => {
            settle();
            reject(error instanceof Error ? error : new Error(String(error)));
            if (!(error instanceof postgres.PostgresError)) lose(error);
          },
        );
    });
  return {
    run,
    watch: () => socket.on('close', () => lose(new Error('the connection was closed'))),
    lost: () => gone || socket.destroyed,
    drop: (why = 'no answer in time') => lose(new Error(why)),
    async end() {
      gone = true;
      await sql.end({ timeout: 1 });
      socket.destroy();
    },
  };
}

interface Result extends ReadonlyArray<Row> {
  readonly command: string;
  readonly count: number | null;
}

/** Several results come as a list, a single one by itself. */
function answerOf(result: unknown): Answer {
  const isList = Array.isArray(result) && !('command' in result);
  const [first, last] = isList ? [result[0] as Result, result.at(-1) as Result] : [result, result];
  const { command, count } = last as Result;
  return { rows: last as Result, first: (first as Result)[0], command, count: count ?? 0 };
}
