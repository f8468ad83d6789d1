/** The Python that runs the peers: PYTHON, else the project's .venv, else python3 of the PATH. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The project's root folder, with a trailing separator. */
export const projectRoot = fileURLToPath(new URL('../../../', import.meta.url));

/** Either the interpreter's path, or one sentence that says what is missing and how to get it. */
export type PythonFinding = { readonly python: string } | { readonly missing: string };

/** Finds a Python that can import the given modules. */
export function findPython(modules: readonly string[], requirements: string): PythonFinding {
  const ours = `${projectRoot}.venv/bin/python`;
  const python = process.env['PYTHON'] ?? (existsSync(ours) ? ours : 'python3');
  const absentModules = '" ".join(m for m in sys.argv[1:] if not importlib.util.find_spec(m))';
  const find = `import importlib.util, sys; sys.exit(${absentModules} or 0)`;
  const tried = spawnSync(python, ['-c', find, ...modules], { encoding: 'utf8' });
  if (tried.error !== undefined) return { missing: `no Python: ${python} does not start (set PYTHON)` };
  const absent = tried.stderr.trim();
  if (tried.status === 0 && absent === '') return { python };
  const install = `python3 -m venv .venv && .venv/bin/pip install -r ${requirements}`;
  return { missing: `${python} lacks ${absent}. Run: ${install}` };
}
