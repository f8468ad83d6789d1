/** Findings of `fusegate doctor` about the machine: Node, clock, open files, holder of the data folder. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { timeText } from '../system/clock.js';
import { reasonOf } from '../system/reason.js';
import { finding, type Finding } from './finding.js';

/** Tested releases of Node. */
const testedNode = [20, 22, 24];

/** Node, and the HTTP server's native build for it. `load` throws if none fits. */
export function nodeFinding(nodeVersion: string, load: () => unknown): Finding {
  try {
    load();
  } catch (error) {
    return finding('problem', 'node', reasonOf(error));
  }
  if (testedNode.includes(Number.parseInt(nodeVersion, 10))) {
    return finding('ok', 'node', `Node ${nodeVersion} is fine, and a build of uWebSockets.js fits it.`);
  }
  const tested = testedNode.join(', ');
  const text = `Node ${nodeVersion} is not one of those that Fusegate is tested on (${tested}).`;
  return finding('note', 'node', text);
}

/** Time by which a file may be ahead of the clock (ms): clocks of network file systems differ a little. */
const aheadMs = 60_000;

/** Compares the clock with the latest modification time in the data folder. */
export function clockFinding(dataFolder: string, nowMs: number): Finding {
  const written = ['', 'lock', 'limits', 'store', 'store/data.mdb'].map((name) => {
    return statSync(join(dataFolder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  });
  const latestMs = Math.max(...written);
  const now = timeText(nowMs);
  if (latestMs <= nowMs + aheadMs) return finding('ok', 'clock', `It says ${now}.`);
  const text =
    `It says ${now}, and ${dataFolder} was written at ${timeText(latestMs)}: the clock went ` +
    'back. Limits, expiry and receipts go by it: set it before you serve.';
  return finding('problem', 'clock', text);
}

/** Descriptors reserved for files, the store and other parts. */
const otherDescriptors = 256;

/** The process's limit of open files, which limits its connections. */
export function filesFinding(descriptors: number, maxConnections: number): Finding {
  if (descriptors >= maxConnections + otherDescriptors) {
    const many = descriptors === Infinity ? 'Any number of' : String(descriptors);
    return finding('ok', 'files', `${many} open files are allowed.`);
  }
  const text =
    `Only ${descriptors} open files are allowed (ulimit -n): a worker takes fewer connections than ` +
    `MAX_CONNECTIONS (${maxConnections}). Allow ${maxConnections + otherDescriptors}.`;
  return finding('note', 'files', text);
}

/**
 * The process id of the server that holds a data folder; null: none does; undefined: the system cannot tell
 * (only Linux can). The lock is only inspected, not taken, so a server can start meanwhile.
 */
export function holderOf(
  dataFolder: string,
  readLocks: () => string = () => readFileSync('/proc/locks', 'utf8'),
): string | null | undefined {
  const path = join(dataFolder, 'lock');
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return null;
    const isHeld = new RegExp(` (?:FLOCK|OFDLCK|POSIX) .*:${found.ino} `, 'm').test(readLocks());
    return isHeld ? readFileSync(path, 'utf8').trim() : null;
  } catch {
    return undefined;
  }
}
