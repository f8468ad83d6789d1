/** What some tests need besides Node: where a run promised it, its lack is a failure, else a skip. */

/** Whether `FUSEGATE_REQUIRE_PEERS` is set. */
export const peersRequired = process.env['FUSEGATE_REQUIRE_PEERS'] !== undefined;
