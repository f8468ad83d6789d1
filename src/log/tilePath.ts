/** Paths of tiles (C2SP tlog-tiles): `<level>/x001/x234/067`, with `.p/<width>` if not full. */
import { tileWidth } from './tree.js';

/** A requested tile: hashes of a level, or the entries themselves. */
export interface TilePath {
  readonly level: number | 'entries';
  readonly index: number;
  /** Number of hashes requested; a full tile has 256. */
  readonly width: number;
}

/** Parses the segments after `/tile/`; undefined if they are not a tile's path. */
export function parseTilePath([level = '', ...rest]: readonly string[]): TilePath | undefined {
  const [, last = '', width] = /^(.*?)(?:\.p\/([1-9][0-9]{0,2}))?$/.exec(rest.join('/')) ?? [];
  if (!/^(?:x[0-9]{3}\/){0,3}[0-9]{3}$/.test(last) || /^x000\//.test(last)) return undefined;
  if (level !== 'entries' && !/^[0-5]$/.test(level)) return undefined;
  if (width !== undefined && Number(width) >= tileWidth) return undefined;
  return {
    level: level === 'entries' ? level : Number(level),
    index: Number(last.replace(/[x/]/g, '')),
    width: width === undefined ? tileWidth : Number(width),
  };
}

/** The path after `/tile/`. */
export function tilePath({ level, index, width }: TilePath): string {
  const groups: string[] = [];
  for (let rest = index; groups.length === 0 || rest > 0; rest = Math.floor(rest / 1_000)) {
    groups.unshift(`${groups.length === 0 ? '' : 'x'}${String(rest % 1_000).padStart(3, '0')}`);
  }
  const partial = width === tileWidth ? '' : `.p/${width}`;
  return `${level}/${groups.join('/')}${partial}`;
}
