/** `/log`: the log of receipts for people: its size, last checkpoint and witnesses, and how to verify it. */
import type { Answer, Handler } from '../contract/exchange.js';
import { cosignaturesOf } from '../log/cosignature.js';
import { verifierText, type VerifierKey } from '../log/note.js';
import { stampsFrom, type StoredStamp } from '../store/tables/logStamps.js';
import { findSigned, type SignedCheckpoint } from '../store/tables/receiptLog.js';
import type { Store } from '../store/store.js';
import { dateText, dayMs, timeText } from '../system/clock.js';
import { escapeHtml, unnamedPage, type PageMaker } from './page.js';
import { commandsHtml, factsHtml, timeHtml } from './receipt.js';

const lead = `<p>Every receipt of this server is an entry of one log that only grows. Its state is signed
within a second of a new entry: an entry that changed or is gone is found by whoever kept a checkpoint or
a proof. <a href="/docs/guides/log">How that works</a></p>`;

const empty = `<section class="sheet"><h1>The log of receipts</h1>
${lead}
<p class="state">Nothing is signed yet. The first checkpoint comes about a second after the server’s
start.</p>
</section>`;

/** The witnesses that cosigned a checkpoint, and when. */
function witnessesHtml({ note }: SignedCheckpoint, witnesses: readonly VerifierKey[]): string {
  const rows = cosignaturesOf(note, witnesses).map(({ name, timeS }) => {
    return `<li>${escapeHtml(name)}, ${timeHtml(timeText(timeS * 1_000))}</li>`;
  });
  if (rows.length === 0) {
    return `<p class="state">No witness has cosigned this checkpoint: only a comparison of
checkpoints shows whether everybody sees the same log.</p>`;
  }
  const count = rows.length === 1 ? 'one witness' : `${rows.length} witnesses`;
  return `<p class="state good">Cosigned by ${count}: each
verified that the log only grew since the last checkpoint it saw.</p>
<ul>${rows.join('\n')}</ul>`;
}

/** Days before the last checkpoint whose stamps are shown, and the most stamps. */
const shownDays = 30;
const mostStamps = 40;

/** The stamps of the last month of the log, the newest first. */
async function shownStamps(store: Store, { atMs }: SignedCheckpoint): Promise<readonly StoredStamp[]> {
  const from = dateText(atMs - shownDays * dayMs);
  return (await stampsFrom(store, from, mostStamps)).reverse();
}

/** The last stamps in Bitcoin; empty if the operator makes none. */
function stampsHtml(stamps: readonly StoredStamp[]): string {
  if (stamps.length === 0) return '';
  const rows = stamps.map(({ day, stamp: { size, height } }) => {
    const receipts = size === 1 ? 'one receipt' : `${size.toLocaleString('en')} receipts`;
    if (height === null) return `<li>${escapeHtml(day)}: ${receipts}, waiting for its block</li>`;
    const files = ['checkpoint.txt', 'checkpoint.txt.ots', 'header.txt'].map((file) => {
      return `<a href="/log/stamps/${escapeHtml(day)}/${file}" download>${file}</a>`;
    });
    return `<li>${escapeHtml(day)}: ${receipts}, block ${height} (${files.join(', ')})</li>`;
  });
  return `<h2>Stamps in Bitcoin</h2>
<p>A stamp shows that the log had these receipts, as they are, before its block. Verify it with
<code>fusegate log verify</code>, or with OpenTimestamps and a node of your own.</p>
<ul>${rows.join('\n')}</ul>
`;
}

function main(
  signed: SignedCheckpoint,
  witnesses: readonly VerifierKey[],
  stamps: readonly StoredStamp[],
): string {
  const { origin, publicKey, size, root, note, atMs } = signed;
  const vkey = verifierText({ name: origin, publicKey });
  return `<article class="sheet">
<h1>The log of receipts</h1>
${lead}
${factsHtml([
  ['Name', escapeHtml(origin)],
  ['Receipts', size.toLocaleString('en')],
  ['Root', `<code class="hash">${Buffer.from(root).toString('base64')}</code>`],
  ['Signed', timeHtml(timeText(atMs))],
])}
<h2>Verifier key</h2>
<p>Keep a copy: by it you know this log again, whoever answers at this address.</p>
<code class="value">${escapeHtml(vkey)}</code>
<h2>Last checkpoint</h2>
<pre tabindex="0" role="region" aria-label="Checkpoint"><code>${escapeHtml(note)}</code></pre>
<h2>Witnesses</h2>
${witnessesHtml(signed, witnesses)}
${stampsHtml(stamps)}<h2>Check all of it</h2>
<p>An audit reads every entry and computes every hash; with a checkpoint that you kept it says whether the log
still begins with that.</p>
${commandsHtml(`curl -s ADDRESS/checkpoint &gt; checkpoint.txt
fusegate log audit ADDRESS --vkey '${escapeHtml(vkey)}' --since checkpoint.txt`)}
</article>`;
}

/** Shows the log. `witnesses`: the keys whose cosignatures are shown. */
export function logPage(
  { store }: { readonly store: Store },
  witnesses: readonly VerifierKey[],
  page: PageMaker = unnamedPage,
): Handler<undefined> {
  return async (): Promise<Answer> => {
    const signed = (await findSigned(store))?.signed;
    // Without a key the log waits for the operator's new one.
    const isSigned = signed !== undefined && signed.publicKey.byteLength > 0;
    const shown = isSigned ? main(signed, witnesses, await shownStamps(store, signed)) : empty;
    const files = { styles: ['receipt.css'], modules: ['receipt.js'] };
    return page({ title: 'The log of receipts', headed: true, main: shown, ...files });
  };
}
