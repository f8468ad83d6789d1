/** What some tests need besides Node: if a run has promised it, its absence is a failure, and else a skip. */

/** Whether `FUSEGATE_REQUIRE_PEERS` is set. */
export const peersRequired = process.env['FUSEGATE_REQUIRE_PEERS'] !== undefined;
