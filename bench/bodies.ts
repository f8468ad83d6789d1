/**
 * The bodies that are measured: those of `bench/data`, one of them written in other ways, and, where they lie
 * beside the project, real ones.
 */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { ReferenceRequest } from '../test/reference/fuse.js';
import { projectRoot } from '../test/support/python.js';
import { plainStyle, type Style, writeBody } from '../test/support/bodies.js';

/** What decides which targets a body has. */
export type BodyKind = 'ascii' | 'cjk' | 'escapes' | 'unicode' | 'written';

/** One body of POST /v1/fuse. */
export interface Body {
  /** Where it comes from and its file's name, such as `synthetic 100`. */
  readonly name: string;
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly docs: number;
  readonly kind: BodyKind;
  readonly request: ReferenceRequest;
}

const FOLDERS = [
  { label: 'synthetic', folder: join(projectRoot, 'bench/data') },
  { label: 'collections', folder: join(projectRoot, '../shared/data/bodies') },
];

function kindOf(file: string, bytes: Uint8Array): BodyKind {
  if (file.includes('cjk')) return 'cjk';
  if (file.includes('escapes')) return 'escapes';
  return bytes.every((byte) => byte < 128) ? 'ascii' : 'unicode';
}

function read(label: string, path: string): Body {
  const file = basename(path, '.json');
  const bytes = new Uint8Array(readFileSync(path));
  const request = JSON.parse(new TextDecoder().decode(bytes)) as ReferenceRequest;
  const name = `${label} ${file.replace('fuse_', '').replaceAll('_', ' ')}`;
  return { name, path, bytes, docs: request.docs.length, kind: kindOf(file, bytes), request };
}

/** Other ways to write the same request. */
const writings: readonly { readonly name: string; readonly style: Style }[] = [
  { name: 'all of it escaped', style: { ...plainStyle, escaped: 1, escapedNames: 1 } },
  { name: 'escaped names', style: { ...plainStyle, escapedNames: 0.2 } },
  { name: 'repeated names', style: { ...plainStyle, repeated: 1, extra: 1 } },
];

/** A body's request written in other ways, in files that go with this process. */
function rewritten({ name, docs, request }: Body): Body[] {
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-bodies-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return writings.map(({ name: written, style }) => {
    const bytes = writeBody(request, style);
    const path = join(folder, `${written.replaceAll(' ', '_')}.json`);
    writeFileSync(path, bytes);
    return { name: `${name}, ${written}`, path, bytes, docs, kind: 'written', request };
  });
}

/** Every body whose documents have dense scores, the smallest of each folder first. */
export function readBodies(): Body[] {
  const bodies = FOLDERS.filter(({ folder }) => existsSync(folder)).flatMap(({ label, folder }) =>
    readdirSync(folder)
      .filter((file) => file.endsWith('.json') && !file.includes('nodense'))
      .map((file) => read(label, join(folder, file)))
      .sort((left, right) => left.docs - right.docs || left.name.localeCompare(right.name)),
  );
  return bodies.flatMap((body) => (body.name === 'synthetic 100' ? [body, ...rewritten(body)] : [body]));
}
