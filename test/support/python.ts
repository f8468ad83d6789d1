/** The Python that runs the peers: PYTHON, else the project's .venv, else python3 of the PATH. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { peersRequired } from '../peers/required.js';

/** The project's root folder, with a trailing separator. */
export const projectRoot = fileURLToPath(new URL('../../..', import.meta.url));

/** Either the interpreter's path, or one sentence that says what is missing and how to get it. */
export type PythonFinding = { readonly python: string } | { readonly missing: string };

/**
 * Finds a Python that can import the given modules.
 *
 * @throws where one is missing and `FUSEGATE_REQUIRE_PEERS` is set, so that a run that promised the peers
 * cannot
 *   pass without them
 */
export function findPython(modules: readonly string[], requirements: string): PythonFinding {
  const found = tryPython(modules, requirements);
  if ('missing' in found && peersRequired) throw new Error(found.missing);
  return found;
}

function tryPython(modules: readonly string[], requirements: string): PythonFinding {
  const ours = `${projectRoot}.venv/bin/python`;
  const python = process.env['PYTHON'] ?? (existsSync(ours) ? ours : 'python3');
  const find =
    'import sys; from importlib.util import find_spec; ' +
    'sys.exit(" ".join(m for m in sys.argv[1:] if not find_spec(m)) or 0)';
  const tried = spawnSync(python, ['-c', find, ...modules], { encoding: 'utf8' });
  if (tried.error !== undefined) return { missing: `no Python: ${python} does not start (set PYTHON)` };
  const absent = tried.stderr.trim();
  if (tried.status === 0 && absent === '') return { python };
  const install = `python3 -m venv .venv && .venv/bin/pip install -r ${requirements}`;
  return { missing: `${python} lacks ${absent}. Run: ${install}` };
}
