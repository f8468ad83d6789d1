/** The routes of the log of receipts: checkpoint, tiles, verifier key, a receipt's proof (docs/log.md). */
import { createHash } from 'node:crypto';
import { problemAnswer } from '../contract/answer.js';
import type { Answer, Handler, RouteRequest } from '../contract/exchange.js';
import { bytesType, type LogRoute } from '../contract/log.js';
import { plainText } from '../contract/route.js';
import type { Handlers } from '../contract/routes.js';
import { findStamp } from '../store/tables/logStamps.js';
import { findLeaf, findSigned, readLeaves, type SignedCheckpoint } from '../store/tables/receiptLog.js';
import { mayBeReceiptId } from '../store/receiptId.js';
import type { Store } from '../store/store.js';
import { verifierText } from './note.js';
import { proofText } from './proof.js';
import { parseTilePath, type TilePath } from './tilePath.js';
import { hashBytes, proofOf, storedTiles, tileWidth, widthOf, type TreeParts } from './tree.js';

/** Dependencies of the routes. */
export interface LogParts {
  readonly store: Store;
  readonly tree: TreeParts;
}

const notReady: Answer = {
  ...problemAnswer(503, 'log_not_ready', 'The log has no checkpoint for this yet. Try again in a second.'),
  headers: { 'retry-after': '1', 'cache-control': 'no-store' },
};

const noTile = problemAnswer(
  404,
  'tile_not_found',
  'The log has no such tile. Tiles are those of the sizes that GET /checkpoint answers.',
);

const noStamp = problemAnswer(
  404,
  'stamp_not_found',
  'The log has no such file of a stamp. GET /log names the last stamps.',
);

const notLogged = problemAnswer(
  404,
  'receipt_not_logged',
  'No receipt of the log has this id. Receipts of the first hash contract are not in it.',
);

async function signedOf(store: Store): Promise<SignedCheckpoint | undefined> {
  const signed = (await findSigned(store))?.signed;
  // Without a key the log waits for the operator's new one.
  return signed === undefined || signed.publicKey.byteLength === 0 ? undefined : signed;
}

function text(body: string, caching: string): Answer {
  const headers = { 'cache-control': caching };
  return { status: 200, body: { bytes: body, type: plainText }, headers, charge: 0 };
}

function checkpoint({ store }: LogParts): Handler {
  return async () => {
    const signed = await signedOf(store);
    return signed === undefined ? notReady : text(signed.note, 'no-cache');
  };
}

function vkey({ store }: LogParts): Handler {
  return async () => {
    const signed = await signedOf(store);
    if (signed === undefined) return notReady;
    const { origin: name, publicKey } = signed;
    return text(`${verifierText({ name, publicKey })}\n`, 'no-cache');
  };
}

/** Length-prefixed entries; undefined if the log has fewer. */
async function bundle(store: Store, { index, width }: TilePath): Promise<Buffer | undefined> {
  const leaves = await readLeaves(store, index * tileWidth, width);
  if (leaves.length < width) return undefined;
  const length = Buffer.of(hashBytes >> 8, hashBytes & 255);
  return Buffer.concat(leaves.flatMap(({ seal }) => [length, seal]));
}

/** The bytes of a published tile; undefined if there is none. */
async function tileBytes(store: Store, path: TilePath): Promise<Buffer | undefined> {
  const size = (await signedOf(store))?.size ?? 0;
  const { level, index, width } = path;
  if (widthOf(size, level === 'entries' ? 0 : level, index) < width) return undefined;
  if (level === 'entries') return bundle(store, path);
  const hashes = await storedTiles(store)(level, index);
  return hashes.byteLength < width * hashBytes ? undefined : hashes.subarray(0, width * hashBytes);
}

/** An immutable answer: a full tile, a tile of a given width, or a file of a stamp. */
function lastingAnswer(bytes: Uint8Array, request: RouteRequest): Answer {
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  const headers = { 'cache-control': 'public, max-age=31536000, immutable', etag };
  // Weak comparison (RFC 9110 section 13.1.2). No other tag can contain this one, as tags contain no quotes.
  const known = request.header('if-none-match');
  const isKnown = known.includes(etag) || known.trim() === '*';
  if (isKnown) return { status: 304, body: { bytes: '', type: '' }, headers, charge: 0 };
  return { status: 200, body: { bytes, type: bytesType }, headers, charge: 0 };
}

function tile({ store }: LogParts): Handler {
  return async (request) => {
    const { level = '', n1 = '', n2, n3, n4 } = request.path;
    const segments = [level, n1, n2, n3, n4].filter((segment) => segment !== undefined);
    const path = parseTilePath(segments);
    const bytes = path === undefined ? undefined : await tileBytes(store, path);
    return bytes === undefined ? noTile : lastingAnswer(bytes, request);
  };
}

function stamp({ store }: LogParts): Handler {
  return async (request) => {
    const { day = '', file = '' } = request.path;
    const found = /^\d{4}-\d\d-\d\d$/.test(day) ? await findStamp(store, day) : undefined;
    // Until its block is deep enough, the transaction may move to another block.
    if (found === undefined || found.stamp.height === null) return noStamp;
    const { note, timestamp, header } = found.stamp;
    switch (file) {
      case 'checkpoint.txt':
        return lastingAnswer(Buffer.from(note), request);
      case 'checkpoint.txt.ots':
        return lastingAnswer(timestamp, request);
      case 'header.txt':
        return lastingAnswer(Buffer.from(`${Buffer.from(header).toString('hex')}\n`), request);
      default:
        return noStamp;
    }
  };
}

function receiptProof({ store, tree }: LogParts): Handler {
  return async ({ path: { id = '' } }) => {
    const index = mayBeReceiptId(id) ? await findLeaf(store, id) : undefined;
    if (index === undefined) return notLogged;
    const signed = await signedOf(store);
    if (signed === undefined || index >= signed.size) return notReady;
    const hashes = await proofOf(tree, 'inclusion', index, signed.size, storedTiles(store));
    if (hashes === undefined) throw new Error(`The log has no proof of leaf ${index}: a tile is missing`);
    return text(proofText(index, hashes, signed.note), 'no-cache');
  };
}

/** The handler of each route of the log. */
export function logHandlers(parts: LogParts): Pick<Handlers, Exclude<LogRoute, 'logPage'>> {
  return {
    logCheckpoint: checkpoint(parts),
    logTile: tile(parts),
    logTile2: tile(parts),
    logTile3: tile(parts),
    logTile4: tile(parts),
    logStamp: stamp(parts),
    logVkey: vkey(parts),
    receiptProof: receiptProof(parts),
  };
}
