/**
 * Where a PostgreSQL server is and how to speak to it: the `postgres://` URL as libpq reads it (RFC 3986).
 */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';

/** Encryption of the connection: libpq's `sslmode`; `verify-ca` and `verify-full` verify the server. */
type SslMode = 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';

/** A server's address and the user's credentials. It holds the password: it is never printed. */
export interface PostgresAddress {
  /** Host name or IP address; a folder (it begins with `/`) for a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly applicationName: string;
  /** The `ssl` option of postgres.js: no TLS, TLS if the server supports it, or TLS with these options. */
  readonly tls: false | 'prefer' | ConnectionOptions;
}

const known = ['host', 'port', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'application_name'] as const;

const sslModes: readonly SslMode[] = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];

const shape = 'postgres://user:password@host:port/database?sslmode=verify-full';

/**
 * Parses a `postgres://` or `postgresql://` URL. The user and the database have libpq's defaults: `postgres`
 * and the user's name. `wrong` is a sentence part that follows the setting's name and shows nothing of the
 * URL.
 */
export function parsePostgresUrl(
  text: string,
): { readonly address: PostgresAddress } | { readonly wrong: string } {
  // libpq allows a user without a host; the URL standard does not.
  const whole = text.replace(/^([^/]*\/\/[^/?]*@)(?=[/?]|$)/, '$1localhost');
  if (!/^postgres(ql)?:\/\//.test(whole) || !URL.canParse(whole)) {
    return { wrong: `must be a URL such as ${shape}, with %-escapes for the password's special characters` };
  }
  const url = new URL(whole);
  const query = url.searchParams;
  const foreign = [...query.keys()].find((name) => !known.some((one) => one === name));
  if (foreign !== undefined)
    return { wrong: `has a parameter it does not know; known are ${known.join(', ')}` };
  const mode = sslModes.find((one) => one === (query.get('sslmode') ?? 'prefer'));
  if (mode === undefined) return { wrong: `has an sslmode that is not one of ${sslModes.join(', ')}` };
  try {
    return { address: addressOf(url, mode) };
  } catch {
    return { wrong: 'names a certificate or key file that cannot be read, or has a wrong %-escape' };
  }
}

function addressOf(url: URL, mode: SslMode): PostgresAddress {
  const query = url.searchParams;
  const host = query.get('host') ?? (decodeURIComponent(url.hostname).replace(/^\[|\]$/g, '') || 'localhost');
  const user = decodeURIComponent(url.username) || 'postgres';
  return {
    host,
    port: Number(query.get('port') ?? (url.port === '' ? 5432 : url.port)),
    user,
    password: decodeURIComponent(url.password),
    database: decodeURIComponent(url.pathname.slice(1)) || user,
    applicationName: query.get('application_name') ?? 'fusegate',
    tls: host.startsWith('/') ? false : tlsOf(host, mode, query),
  };
}

function tlsOf(host: string, mode: SslMode, query: URLSearchParams): PostgresAddress['tls'] {
  if (mode === 'disable' || mode === 'prefer') return mode === 'disable' ? false : 'prefer';
  const file = (name: string): Buffer | undefined => {
    const path = query.get(name);
    return path === null || path === 'system' ? undefined : readFileSync(path);
  };
  const [ca, cert, key] = [file('sslrootcert'), file('sslcert'), file('sslkey')];
  return {
    host,
    // Server Name Indication allows host names only (RFC 6066, section 3).
    ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
    ca,
    cert,
    key,
    // As in libpq, a root certificate makes `require` check the chain.
    rejectUnauthorized: mode !== 'require' || ca !== undefined,
    ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
  };
}

/** The server's name in messages. */
export function serverName({ host, port }: PostgresAddress): string {
  if (host.startsWith('/')) return `PostgreSQL at ${host}`;
  return `PostgreSQL at ${host.includes(':') ? `[${host}]` : host}:${port}`;
}
