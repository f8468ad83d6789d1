/** A server with routes made for the tests, on a free port. */
import { after } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, RouteRequest } from '../../src/contract/exchange.js';
import type { ServedRoute } from '../../src/http/routes.js';
import { createServer, type Server, type ServerParts } from '../../src/http/server.js';
import { systemClock, type Clock } from '../../src/system/clock.js';
import type { Log, LogFields } from '../../src/system/log.js';
import { systemRandomness } from '../../src/system/randomness.js';
import { route, text } from '../http/routes.js';

/** What a recording log was told. */
export interface Logged {
  readonly level: string;
  readonly fields: LogFields;
  readonly message: string;
}

/** A log that keeps its events. */
export function recordingLog(lines: Logged[]): Log {
  const record = (level: string) => (fields: LogFields, message: string) =>
    void lines.push({ level, fields, message });
  return {
    debug: record('debug'),
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
    debugging: true,
  };
}

/**
 * A clock of whole milliseconds: it has none of the moments at which the server looks whether a client takes
 * short answers.
 */
export const wholeClock: Clock = {
  ...systemClock,
  monotonicMs: () => Math.trunc(systemClock.monotonicMs()),
};

type AnyRequest = RouteRequest<never>;

/** The routes that most tests use. */
export function testRoutes(): ServedRoute[] {
  let acted = 0;
  const json = (value: unknown): Answer => ({ status: 200, body: { json: value }, charge: 0 });
  return [
    {
      route: route({ id: 'echo', method: 'POST', path: '/echo', cors: true, timed: true }),
      handler: (request: AnyRequest) => ({
        status: 200,
        body: { bytes: request.body, type: 'text/plain' },
        charge: 0,
      }),
    },
    {
      route: route({ id: 'slow', method: 'POST', path: '/slow' }),
      handler: async (request: AnyRequest) => {
        const kept = request.retain();
        await pause(100);
        return { status: 200, body: { bytes: kept, type: 'text/plain' }, charge: 0 };
      },
    },
    { route: route({ id: 'hello', path: '/hello', cors: true }), handler: () => json({ hello: 'world' }) },
    { route: route({ id: 'later', path: '/later' }), handler: () => pause(50).then(() => text('later')) },
    {
      route: route({ id: 'item', path: '/items/{item}/parts/{part}' }),
      handler: (request: AnyRequest) => json({ path: request.path, query: request.query }),
    },
    { route: route({ id: 'fixed', path: '/items/fixed/parts/one' }), handler: () => text('fixed') },
    {
      route: route({ id: 'act', path: '/act', acts: true }),
      handler: (request: AnyRequest) => text(`acted ${request.mayAct ? (acted += 1) : acted} times`),
    },
    {
      route: route({ id: 'broken', path: '/broken' }),
      handler: () => {
        throw new Error('a secret detail');
      },
    },
    {
      route: route({ id: 'rejected', path: '/rejected' }),
      handler: () => Promise.reject(new Error('a secret detail')),
    },
    {
      route: route({ id: 'injected', path: '/injected' }),
      handler: (request: AnyRequest) => ({
        ...text('x'),
        headers: { 'x-given': request.query['given'] ?? '' },
      }),
    },
    {
      route: route({ id: 'headers', path: '/headers', headers: ['x-api-key'] }),
      handler: (request: AnyRequest) => text(request.header('x-api-key')),
    },
    {
      route: route({ id: 'large', path: '/large' }),
      handler: (request: AnyRequest) => text('x'.repeat(Number(request.query['bytes']))),
    },
    { route: route({ id: 'nothing', path: '/nothing' }), handler: () => ({ ...text('', 204) }) },
  ];
}

/** A listening server. */
export interface TestServer {
  readonly server: Server;
  readonly port: number;
  readonly logged: Logged[];
  /** The value of a metric without labels, now; NaN if there is none. */
  readonly metric: (name: string) => number;
}

/** Starts a server that is drained when the tests are over. */
export async function startServer(given: Partial<ServerParts> = {}): Promise<TestServer> {
  const logged: Logged[] = [];
  const server = createServer({
    routes: testRoutes(),
    clock: wholeClock,
    log: recordingLog(logged),
    randomness: systemRandomness,
    ...given,
  });
  const port = await server.listen('127.0.0.1', 0);
  if (port === undefined) throw new Error('no free port');
  after(() => server.drain(0));
  const metric = (name: string): number =>
    server.metrics().find((each) => each.name === name)?.values[0]?.value ?? Number.NaN;
  return { server, port, logged, metric };
}
