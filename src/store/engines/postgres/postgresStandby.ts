/**
 * Standbys of PostgreSQL are refused: one may lack the last acknowledged writes for as long as it cannot
 * reach its primary. A leader that was cut off becomes one (Patroni, "demote"), and a balancer may send
 * connections to it for some seconds more.
 */

/**
 * An expression: `on` on a standby; null on a server that does not know the setting, as before PostgreSQL 14.
 * Each read checks it, not only the start of a session: a pooler may serve a session by another server later.
 */
export const ofStandby = "current_setting('in_hot_standby', true)";

/** The server is a standby. */
export class StandbyError extends Error {
  override readonly name = 'StandbyError';

  constructor() {
    super('is a standby, which may lack the last writes');
  }
}

/** @throws StandbyError if {@link ofStandby} says so. */
export function assertNoStandby(value: unknown): void {
  if (value === 'on') throw new StandbyError();
}
