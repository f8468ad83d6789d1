/** The log of receipts on the wire (docs/log.md; C2SP tlog-checkpoint, tlog-tiles, tlog-proof). */
import typia from 'typia';
import { receipt } from './fragment.js';
import type { ReceiptPath } from './receipt.js';
import { door, html, plainText, read, type ResourceRoutes } from './route.js';
import { getOther } from './schema/route.js';
import { wireTypes } from './schema/wireType.js';

/** Path of a tile whose number has up to three digits. */
export interface TilePath {
  /** `0` to `5`, or `entries`. */
  level: string;
  /** The tile's number in three digits, such as `004`. */
  n1: string;
}

/** Path of a tile that is not full, or whose number has up to six digits. */
export interface TilePath2 extends TilePath {
  n2: string;
}

/** As {@link TilePath2}, with one more group of digits. */
export interface TilePath3 extends TilePath2 {
  n3: string;
}

/** As {@link TilePath3}, with one more group of digits. */
export interface TilePath4 extends TilePath3 {
  n4: string;
}

/** Path of a file of a stamp. */
export interface StampPath {
  /** The day of the stamp, UTC, as in `2026-11-23`. */
  day: string;
  /** `checkpoint.txt`, `checkpoint.txt.ots` or `header.txt`. */
  file: string;
}

const [receiptPathType, stampPathType, tilePathType, tilePath2Type, tilePath3Type, tilePath4Type] = wireTypes(
  typia.json.schemas<[ReceiptPath, StampPath, TilePath, TilePath2, TilePath3, TilePath4]>(),
);

/** The media type of tiles. */
export const bytesType = 'application/octet-stream';

const log = {
  ...door,
  method: 'GET',
  body: { kind: 'none' },
  unprocessable: false,
  headers: [],
  extension: true,
} as const;

const tile = {
  ...log,
  unprocessable: true,
  summary: 'A tile of the log of receipts',
  description:
    'Up to 256 hashes of the tree (levels 0 to 5), or up to 256 entries of the log (`entries`), as C2SP ' +
    'tlog-tiles defines them: `/tile/0/004`, `/tile/0/x001/234` beyond number 999, `/tile/0/004.p/17` for ' +
    'the first 17. A tile never changes.',
  answers: {
    200: { type: bytesType, description: 'The tile.' },
    304: { type: bytesType, description: 'Its `ETag` was sent in `If-None-Match`.' },
  },
  reads: ['if-none-match'],
  problems: { 404: ['tile_not_found'], 503: ['store_unavailable'] },
} as const;

/** The routes of the log. */
export const logRoutes = {
  logCheckpoint: {
    ...log,
    path: '/checkpoint',
    summary: 'The newest signed checkpoint of the log of receipts',
    description:
      'A signed note with the log’s name, its number of leaves and its root (C2SP tlog-checkpoint).',
    answers: { 200: { type: plainText, description: 'The checkpoint.' } },
    problems: { 503: ['log_not_ready', 'store_unavailable'] },
    example: getOther('/checkpoint', plainText),
  },
  logTile: {
    ...tile,
    path: '/tile/{level}/{n1}',
    parameters: { path: tilePathType },
    example: getOther('/tile/0/000', bytesType),
  },
  logTile2: {
    ...tile,
    path: '/tile/{level}/{n1}/{n2}',
    parameters: { path: tilePath2Type },
    documented: false,
    example: getOther('/tile/0/000.p/1', bytesType),
  },
  logTile3: {
    ...tile,
    path: '/tile/{level}/{n1}/{n2}/{n3}',
    parameters: { path: tilePath3Type },
    documented: false,
    example: getOther('/tile/0/x001/000.p/1', bytesType),
  },
  logTile4: {
    ...tile,
    path: '/tile/{level}/{n1}/{n2}/{n3}/{n4}',
    parameters: { path: tilePath4Type },
    documented: false,
    example: getOther('/tile/0/x001/x000/000.p/1', bytesType),
  },
  logVkey: {
    ...log,
    path: '/log/vkey',
    summary: 'The verifier key of the log of receipts',
    description: 'One line of text with which checkpoints are verified (C2SP signed-note). Keep a copy.',
    answers: { 200: { type: plainText, description: 'The key.' } },
    problems: { 503: ['log_not_ready', 'store_unavailable'] },
    example: getOther('/log/vkey', plainText),
  },
  logStamp: {
    ...log,
    path: '/log/stamps/{day}/{file}',
    summary: 'A file of a Bitcoin stamp of the log of receipts',
    description:
      'There is at most one stamp a day. Its files: `checkpoint.txt`, the signed checkpoint that was ' +
      'stamped; `checkpoint.txt.ots`, its timestamp (OpenTimestamps); `header.txt`, the header of the ' +
      'block in hexadecimal. They never change. `fusegate log verify` verifies them without this server.',
    parameters: { path: stampPathType },
    unprocessable: true,
    answers: {
      200: { type: bytesType, description: 'The file.' },
      304: { type: bytesType, description: 'Its `ETag` was sent in `If-None-Match`.' },
    },
    reads: ['if-none-match'],
    problems: { 404: ['stamp_not_found'], 503: ['store_unavailable'] },
    example: getOther('/log/stamps/2026-11-23/checkpoint.txt.ots', bytesType),
  },
  logPage: {
    ...log,
    path: '/log',
    summary: 'The log of receipts as a page',
    description: 'Its name, its size, its last checkpoint and its witnesses.',
    answers: { 200: { type: html, description: 'The page.' } },
    cors: false,
    documented: false,
    ...read,
    problems: { ...read.problems, 503: ['store_unavailable'] },
    example: getOther('/log', html),
  },
  receiptProof: {
    ...log,
    path: '/receipt/{id}/proof',
    summary: 'The proof that a receipt is in the log',
    description:
      'The path from the receipt’s leaf to the root of the newest checkpoint, and that checkpoint (C2SP ' +
      'tlog-proof). It is verified without this server: `fusegate receipts verify --offline`.',
    parameters: { path: receiptPathType },
    unprocessable: true,
    answers: { 200: { type: plainText, description: 'The proof.' } },
    problems: { 404: ['receipt_not_logged'], 503: ['log_not_ready', 'store_unavailable'] },
    example: getOther(`/receipt/${receipt}/proof`, plainText),
  },
} as const satisfies ResourceRoutes;

/** Ids of the log's routes. */
export type LogRoute = keyof typeof logRoutes;
