/** Settings of the server: the addresses that it listens on, and its public addresses. */
import { servableParts, servedParts, type ServedPart } from '../contract/served.js';
import { nearestName } from '../system/lookalikes.js';
import { isPrivate } from '../system/network.js';
import type { Parsed, Settings, ValuesOf } from '../system/settings.js';
import { integer, oneOf, orNull, originOf } from '../system/settingValues.js';

function parseHost(text: string): Parsed<string> {
  if (/^[A-Za-z0-9.:_%-]+$/.test(text)) return { value: text };
  return {
    wrong: 'must be an IP address or host name without scheme, port or brackets, such as 0.0.0.0 or ::',
  };
}

const parsePublicUrl = orNull(
  originOf(
    isPrivate,
    'must be https://<host> without a path (http only for this machine), such as https://example.com',
  ),
);

function parseServe(text: string): Parsed<readonly ServedPart[]> {
  const named = text.split(',').map((name) => name.trim());
  const unknown = named.find((name) => !servableParts.some((part) => part === name));
  if (unknown === undefined) return { value: servableParts.filter((part) => named.includes(part)) };
  const capitals = servableParts.map((part) => part.toUpperCase());
  const nearest = nearestName(unknown, capitals).toLowerCase();
  return {
    wrong:
      `must be parts separated by commas, of ${servableParts.join(', ')}; ` +
      `${JSON.stringify(unknown)} is not one of them, did you mean ${nearest}`,
  };
}

/** The setting of the parts that are served. */
export const servedSettings = {
  /** The parts that are served, in the contract's order. */
  serve: {
    name: 'SERVE',
    type: 'parts, by commas',
    fallback: servedParts.join(','),
    fallbackShown: 'all but mcp-write',
    meaning:
      `Parts that are served, of ${servableParts.map((part) => `\`${part}\``).join(', ')}. Paths of ` +
      'other parts are 404 and in no description, and no background work is done for them. ' +
      '`mcp-write` adds the tools that store fragments to `/mcp`.',
    parse: parseServe,
  },
} as const satisfies Settings;

/** The ports and the address that the server listens on. */
export const listenSettings = {
  /** TCP port that the workers share; 0 takes a free one. */
  port: {
    name: 'PORT',
    type: 'port, 0 to 65535',
    fallback: '8080',
    meaning: 'TCP port that Fusegate listens on; 0 takes a free one and prints it.',
    parse: integer(0, 65_535),
  },
  /** TCP port of the fragment door; 0 takes a free one; null: it shares `port`. */
  doorPort: {
    name: 'DOOR_PORT',
    type: 'port, 0 to 65535',
    fallback: '',
    fallbackShown: 'none: the door is on PORT',
    meaning:
      'TCP port that the fragment door is moved to ([door.md](door.md)); 0 takes a free one and prints it.',
    parse: orNull(integer(0, 65_535)),
  },
  /** Address that the server listens on. */
  host: {
    name: 'HOST',
    type: 'IP address or host name',
    fallback: '127.0.0.1',
    meaning: 'Address that Fusegate listens on. `0.0.0.0` and `::` are every address of the machine.',
    parse: parseHost,
  },
} as const satisfies Settings;

/** The processes that serve. */
export const workerSettings = {
  /** Count of worker processes. */
  workers: {
    name: 'WORKERS',
    type: 'whole number, 1 to 256',
    fallback: ({ platform, cores }) => (platform === 'darwin' ? '1' : String(Math.min(cores, 256))),
    fallbackShown: 'the machine’s cores; 1 on macOS',
    meaning: 'Worker processes that share the port.',
    parse: integer(1, 256),
  },
  /** Most connections of a worker; one address may have an eighth of them. */
  maxConnections: {
    name: 'MAX_CONNECTIONS',
    type: 'whole number, 16 to 1000000',
    fallback: '8192',
    meaning:
      'Connections that a worker keeps open; fewer if it may not have that many descriptors. One address ' +
      'may have an eighth of them, unless it is a trusted proxy.',
    parse: integer(16, 1_000_000),
  },
} as const satisfies Settings;

/** Public addresses. */
export const publicSettings = {
  /** Origin that clients see, such as `https://example.com`; null: unknown. */
  publicUrl: {
    name: 'PUBLIC_URL',
    type: '`https://<host>`; `http://` only for this machine',
    fallback: '',
    fallbackShown: 'none',
    meaning: 'Where clients reach Fusegate. Opt-out and click links and card payments need it.',
    parse: parsePublicUrl,
  },
  /** Origin at which clients see the fragment door; null: unknown. */
  publicDoorUrl: {
    name: 'PUBLIC_DOOR_URL',
    type: '`https://<host>`; `http://` only for this machine',
    fallback: '',
    fallbackShown: 'PUBLIC_URL where the door shares its port, else none',
    meaning: 'Where clients reach the fragment door; its OpenAPI description names it.',
    parse: parsePublicUrl,
  },
} as const satisfies Settings;

/** The values of `SERVER_TIMING`. */
const serverTimings = ['total', 'stages', 'off'] as const;

/** One of {@link serverTimings}. */
export type ServerTiming = (typeof serverTimings)[number];

/** The setting of the times that answers show. */
export const timingSettings = {
  /** The times in `Server-Timing`. */
  serverTiming: {
    name: 'SERVER_TIMING',
    type: serverTimings.join(', '),
    fallback: 'total',
    meaning:
      '`total`: `Server-Timing` has the whole time, on fuse and normalize. `stages`: it has the time of ' +
      'each stage, on every answer ([http.md](http.md)), which reveals more of the server than callers ' +
      'need. `off`: no answer has it.',
    parse: oneOf(serverTimings),
  },
} as const satisfies Settings;

/** The setting of the metrics' port. */
export const metricsSettings = {
  /** Port of the summed metrics; 0: off. */
  metricsPort: {
    name: 'METRICS_PORT',
    type: 'port, 0 to 65535',
    fallback: '0',
    meaning: 'Port, on HOST, of `GET /metrics` (Prometheus text, summed over the workers); 0 is off.',
    parse: integer(0, 65_535),
  },
} as const satisfies Settings;

/** The ports. */
type PortValues = ValuesOf<typeof listenSettings & typeof metricsSettings>;

/** A sentence if the door has a port of its own, and nothing to serve there. */
export function doorUnserved({
  doorPort = null,
  serve,
}: Partial<ValuesOf<typeof listenSettings & typeof servedSettings>>): string[] {
  if (doorPort === null || serve === undefined) return [];
  if (serve.includes('door') || serve.includes('explore')) return [];
  return ['DOOR_PORT is set, but SERVE names neither door nor explore. Unset DOOR_PORT, or add one of them.'];
}

/** A sentence if the tools that store are served, and the part that they belong to is not. */
export function writingUnserved({ serve = [] }: Partial<ValuesOf<typeof servedSettings>>): string[] {
  if (!serve.includes('mcp-write') || (serve.includes('mcp') && serve.includes('door'))) return [];
  return ['SERVE names mcp-write, which needs mcp and door. Add them, or leave it out.'];
}

/** A sentence for each port that two variables share. */
export function samePorts({ port, doorPort, metricsPort }: Partial<PortValues>): string[] {
  const named = [
    ['PORT', port],
    ['DOOR_PORT', doorPort ?? 0],
    ['METRICS_PORT', metricsPort],
  ] as const;
  return named.flatMap(([name, given], index) => {
    const other = named.slice(0, index).find(([, earlier]) => earlier === given);
    if (given === undefined || given === 0 || other === undefined) return [];
    return [`${name} must differ from ${other[0]}; both are ${given}.`];
  });
}
