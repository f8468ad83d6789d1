/** Go programs that peer tests run: built once from modules whose versions are pinned; needs Go. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { projectRoot } from './python.js';

/** Where the programs are built to. */
export const programs = resolve(process.env['FUSEGATE_PEERS_DIR'] ?? join(projectRoot, '.peers'));

/** A program. */
export interface GoProgram {
  /** The folder of the module that pins it, or is it, under the project's root. */
  readonly module: string;
  /** The Go package. */
  readonly path: string;
  readonly tags: string;
}

/** Builds the programs that are not there in the pinned versions; says what it does, as it takes minutes. */
export function buildPrograms(wanted: Readonly<Record<string, GoProgram>>): void {
  mkdirSync(programs, { recursive: true });
  for (const [name, { module, path, tags }] of Object.entries(wanted)) {
    const folder = join(projectRoot, module);
    const own = readdirSync(folder).filter((file) => file.endsWith('.go'));
    const pins = ['go.mod', 'go.sum', ...own].map((file) => readFileSync(join(folder, file)));
    const stamp = `${createHash('sha256').update(Buffer.concat(pins)).digest('hex')} ${tags}\n`;
    const [program, note] = [join(programs, name), join(programs, `${name}.stamp`)];
    if (existsSync(program) && existsSync(note) && readFileSync(note, 'utf8') === stamp) continue;
    console.error(`Building ${path} …`);
    const flags = ['-mod=readonly', '-buildvcs=false', '-trimpath', '-tags', tags, '-ldflags', '-s -w'];
    execFileSync('go', ['build', ...flags, '-o', program, path], {
      cwd: folder,
      env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '' },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    writeFileSync(note, stamp);
  }
}
