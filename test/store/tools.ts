/** Tools that some tests need besides Node. */
import { spawnSync } from 'node:child_process';
import { peersRequired } from '../peers/required.js';

/**
 * Why a test is skipped: a tool that is missing, and how to get it; false when all are there. With
 * `FUSEGATE_REQUIRE_PEERS` nothing is skipped, so that a missing tool fails the test.
 */
export function skipWithout(...tools: readonly string[]): string | false {
  if (peersRequired) return false;
  const missing = tools.filter((tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0);
  if (missing.length === 0) return false;
  return `${missing.join(' and ')} not installed (Debian: apt-get install ${missing.join(' ')})`;
}
