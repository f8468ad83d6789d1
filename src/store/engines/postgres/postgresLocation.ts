/** Stores on PostgreSQL, by URL. */
import type { EngineKind } from '../../engine.js';
import { parsePostgresUrl, serverName } from './postgresAddress.js';

/** PostgreSQL. */
export const postgresKind: EngineKind = {
  short: 'postgres://…',
  form: 'postgres://user:password@host:port/database with %-escapes for special characters',
  shared: true,
  locate(url) {
    if (!/^postgres(ql)?:\/\/./.test(url)) return undefined;
    const parsed = parsePostgresUrl(url);
    if ('wrong' in parsed) return parsed;
    const { address } = parsed;
    return {
      location: {
        url,
        name: serverName(address),
        folder: null,
        missing: () => undefined,
        async open(parts) {
          // Loaded here, so that commands without a store need not wait for the library.
          const { openPostgres } = await import('./postgres.js');
          return openPostgres({ ...parts, address });
        },
      },
    };
  },
};
