/** Findings of `fusegate doctor` about the machine: Node, clock, open files, the data folder's holder. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../system/reason.js';
import { finding, type Finding } from './finding.js';

/** Releases of Node that are tested. */
const testedNode = [20, 22, 24];

/** Node, and the HTTP server's native build, which must fit it. `load` throws where none does. */
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

/** How far a file may be ahead of the clock (ms): clocks of a network's file systems differ a little. */
const aheadMs = 60_000;

/** The clock, compared with what the data folder's files say was written last. */
export function clockFinding(dataFolder: string, nowMs: number): Finding {
  const written = ['', 'lock', 'limits', 'store', 'store/data.mdb'].map((name) => {
    return statSync(join(dataFolder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  });
  const latestMs = Math.max(...written);
  const now = new Date(nowMs).toISOString();
  if (latestMs <= nowMs + aheadMs) return finding('ok', 'clock', `It says ${now}.`);
  const text =
    `It says ${now}, and ${dataFolder} was written at ${new Date(latestMs).toISOString()}: the clock went ` +
    'back. Limits, expiry and receipts go by it: set it before you serve.';
  return finding('problem', 'clock', text);
}

/** Descriptors that connections leave to files, the store and other parts. */
const otherDescriptors = 256;

/** The process's limit of open files, which bounds connections. */
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
 * The process id of the server that holds a data folder; null: none does; undefined where
 * the system, unlike Linux, does not say. The lock is looked at and not taken: no start fails meanwhile.
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
