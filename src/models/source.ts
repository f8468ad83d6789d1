/** The source of a model to install: a hub by the model's id, a URL, or a folder. */
import { copyFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { shortReasonOf } from '../system/reason.js';
import { stripEnd } from '../system/strip.js';
import { download, type Downloaded, type DownloadParts } from './download.js';

/** A source of a model's files. */
export interface ModelSource {
  /** The model's id, unless the operator names another. */
  readonly name: string;
  /** Writes a file, given by its path in the source, to a path. */
  readonly fetch: (
    file: string,
    path: string,
    onProgress: DownloadParts['onProgress'],
  ) => Promise<Downloaded>;
  /** The origin of the fetched files. */
  readonly provenance: () => string;
  /** A pointer to the licence. */
  readonly license: string;
}

/** Dependencies of sources. */
export interface SourceParts extends Pick<DownloadParts, 'fetch' | 'clock'> {
  /** The hub's address, such as `https://huggingface.co`. */
  readonly hub: string;
  /** Commit, tag or branch of a model on the hub. */
  readonly revision: string;
}

/** `<owner>/<name>`, as hubs name models. A folder of the working directory is written `./<folder>`. */
const hubPattern = /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*$/;

function hubSource(id: string, { hub, revision, ...parts }: SourceParts): ModelSource {
  const at = stripEnd(hub, '/');
  let commit: string | undefined;
  return {
    name: id.split('/')[1] ?? id,
    license: `see ${at}/${id}`,
    provenance: () => `${at}/${id} at ${commit ?? revision}`,
    async fetch(file, path, onProgress) {
      // All files come from the first one's commit, even if others are pushed meanwhile.
      const from = encodeURIComponent(commit ?? revision);
      const outcome = await download(`${at}/${id}/resolve/${from}/${file}`, path, { ...parts, onProgress });
      if (outcome.kind === 'done') commit ??= outcome.commit;
      return outcome;
    },
  };
}

function urlSource(url: string, parts: SourceParts): ModelSource {
  const base = new URL(url.endsWith('/') ? url : `${url}/`);
  return {
    name: basename(base.pathname),
    license: `see ${base.href}`,
    provenance: () => base.href,
    fetch: (file, path, onProgress) => download(new URL(file, base).href, path, { ...parts, onProgress }),
  };
}

function folderSource(folder: string): ModelSource {
  return {
    name: basename(folder),
    license: `see ${folder}`,
    provenance: () => folder,
    async fetch(file, path, onProgress) {
      try {
        const { size } = await stat(join(folder, file));
        await copyFile(join(folder, file), path);
        onProgress(size, size);
        return { kind: 'done', commit: undefined };
      } catch (error) {
        const code = shortReasonOf(error);
        if (code === 'ENOENT') return { kind: 'absent' };
        return { kind: 'failed', reason: `${join(folder, file)} cannot be copied (${code}).` };
      }
    },
  };
}

/** The source that a text names, or a sentence if it names none. */
export async function sourceOf(
  text: string,
  parts: SourceParts,
): Promise<ModelSource | { readonly wrong: string }> {
  if (/^https?:\/\//.test(text)) {
    return URL.canParse(text) ? urlSource(text, parts) : { wrong: `${text} is no URL.` };
  }
  if (hubPattern.test(text)) return hubSource(text, parts);
  const folder = resolve(text);
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() === true) return folderSource(folder);
  return { wrong: `${text} is neither a model of a hub (owner/name), nor a URL, nor a folder.` };
}
