/** `fusegate receipts import|export|verify`, `fusegate fragments hide|show`: manages the fragment door. */
import type { Command } from 'commander';
import { isLegacyId, readLegacy, type LegacyReceipt } from '../receipts/legacy.js';
import { isReceiptId } from '../store/receiptId.js';
import { receiptBody } from '../receipts/receipt.js';
import { verifyAnswer, type VerifiedAnswer } from '../receipts/verifyAnswer.js';
import { verifyProof } from '../log/proof.js';
import { recordsAfter } from '../store/entries.js';
import { findLegacyReceipt, keepLegacyReceipts } from '../store/tables/legacyReceipts.js';
import { keepNotice } from '../store/tables/notices.js';
import { reasonOf } from '../system/reason.js';
import { notCosigned, readTrust, type Trust, type TrustOptions } from './logTrust.js';
import { printable } from './printable.js';
import { withStore, type CommandContext, type CommandParts, type Ended } from './withStore.js';

/** Dependencies of the commands besides the store. */
export interface ReceiptsParts extends CommandParts {
  /** The lines of a file, or of standard input for `-`. @throws Error if it cannot be read */
  readonly readLines: (path: string) => AsyncIterable<string>;
  /** The bytes of an answer with status 200. @throws Error with the reason */
  readonly getBytes: (url: string) => Promise<Buffer>;
}

interface Json {
  readonly json?: boolean;
}

interface VerifyOptions extends Json, TrustOptions {
  readonly offline?: string;
}

function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`;
}

/** Most invalid lines that are reported. */
const mostTold = 20;

interface Line {
  readonly receipt: string;
  readonly line: string;
}

/** Reads a file of legacy receipts; returns all errors if there are any. */
async function readAll(parts: ReceiptsParts, path: string): Promise<Line[] | { readonly wrong: string }> {
  const lines = new Map<string, string>();
  const wrong: string[] = [];
  let number = 0;
  try {
    for await (const line of parts.readLines(path)) {
      number += 1;
      if (line.trim() === '') continue;
      const read = readLegacy(line);
      const reason = 'wrong' in read ? read.wrong : again(lines, read.legacy, line);
      if (reason !== undefined) wrong.push(`Line ${number} ${reason}.`);
      else if ('legacy' in read) lines.set(read.legacy.receipt, line);
    }
  } catch (error) {
    return { wrong: `${path} cannot be read (${reasonOf(error)}).` };
  }
  if (wrong.length === 0) return [...lines].map(([receipt, line]) => ({ receipt, line }));
  const more = wrong.length > mostTold ? [`And ${wrong.length - mostTold} more.`] : [];
  return { wrong: [...wrong.slice(0, mostTold), ...more, 'Nothing was imported.'].join('\n') };
}

function again(lines: ReadonlyMap<string, string>, { receipt }: LegacyReceipt, line: string) {
  const earlier = lines.get(receipt);
  return earlier === undefined || earlier === line ? undefined : `has receipt ${receipt} once more`;
}

/** Receipts in one unit. */
const together = 100;

async function importFile(parts: ReceiptsParts, context: CommandContext, path: string): Ended {
  const lines = await readAll(parts, path);
  if ('wrong' in lines) return lines;
  const fresh: Line[] = [];
  for (const each of lines) {
    const present = await findLegacyReceipt(context.store, each.receipt);
    if (present === undefined) fresh.push(each);
    else if (present !== each.line) {
      return { wrong: `Receipt ${each.receipt} is there already, with other content. Nothing was imported.` };
    }
  }
  for (let at = 0; at < fresh.length; at += together) {
    const group = fresh.slice(at, at + together);
    const outcome = await keepLegacyReceipts(context.store, group);
    if (outcome.kind === 'taken') return { wrong: `Another import wrote ${outcome.receipt}. Run it again.` };
    parts.showProgress?.(`${at + group.length} of ${fresh.length} receipts`);
  }
  const present = lines.length - fresh.length;
  const already = present === 0 ? '' : ` ${counted(present, 'receipt')} of the file ${was(present)} there.`;
  await parts.write(`Imported ${counted(fresh.length, 'receipt')}.${already}\n`);
  return 0;
}

function was(count: number): string {
  return count === 1 ? 'was' : 'were';
}

async function exportAll(parts: ReceiptsParts, { store }: CommandContext): Ended {
  let count = 0;
  for (const space of ['fragments', 'legacyReceipts'] as const) {
    for await (const { key } of recordsAfter(store, space)) {
      const id = Buffer.from(key).toString();
      const body = await receiptBody(store, id);
      await parts.write(`${JSON.stringify(body)}\n`);
      count += 1;
      if (count % 1_000 === 0) parts.showProgress?.(`${count} receipts`);
    }
  }
  return 0;
}

/** The verdict on a digest, for people. */
function verdict(value: boolean | null): string {
  return value === null ? 'undecided' : value ? 'ok' : 'WRONG';
}

function report({ receipt, verification, withheld }: VerifiedAnswer): string {
  const { verified, fields, envelope } = verification;
  const rows = Object.entries(fields).map(([name, value]) => `  ${verdict(value).padEnd(9)}  ${name}\n`);
  const seal = envelope === null ? '' : `  ${verdict(envelope).padEnd(9)}  stored_envelope_sha256\n`;
  const why = withheld ? '  The operator withholds the content: its digests cannot be recomputed.\n' : '';
  return `${printable(receipt)}: ${verified ? 'verified' : 'NOT VERIFIED'}\n${rows.join('')}${seal}${why}`;
}

/** The answers in a file or at a URL: one JSON value, or one a line. */
async function* answersOf(parts: ReceiptsParts, place: string): AsyncGenerator<string> {
  if (/^https?:\/\//.test(place)) {
    yield (await parts.getBytes(place)).toString();
    return;
  }
  let whole: string | undefined = '';
  for await (const line of parts.readLines(place)) {
    if (line.trim() === '') continue;
    // A receipt may span several lines; a first line that is complete by itself means one receipt a line.
    if (whole === undefined || (whole === '' && isJson(line))) {
      whole = undefined;
      yield line;
    } else whole += `${line}\n`;
  }
  if (whole !== undefined && whole !== '') yield whole;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function readAnswer(text: string): VerifiedAnswer | { readonly wrong: string } {
  try {
    return verifyAnswer(JSON.parse(text));
  } catch {
    return { wrong: 'is not JSON' };
  }
}

async function verifyPlace(parts: ReceiptsParts, place: string, { json }: Json): Ended {
  const counts = { verified: 0, failed: 0 };
  let number = 0;
  try {
    for await (const text of answersOf(parts, place)) {
      number += 1;
      const outcome = readAnswer(text);
      if ('wrong' in outcome) return { wrong: `Receipt ${number} of ${place} ${outcome.wrong}.` };
      counts[outcome.verification.verified ? 'verified' : 'failed'] += 1;
      await parts.write(json === true ? `${JSON.stringify(outcome)}\n` : report(outcome));
    }
  } catch (error) {
    return { wrong: `${place} cannot be read (${reasonOf(error)}).` };
  }
  if (number === 0) return { wrong: `${place} has no receipt.` };
  if (number > 1 && json !== true) {
    await parts.write(`${counted(counts.verified, 'receipt')} verified, ${counts.failed} not.\n`);
  }
  return counts.failed === 0 ? 0 : 1;
}

async function textOf(parts: ReceiptsParts, path: string): Promise<string> {
  let text = '';
  for await (const line of parts.readLines(path)) text += `${line}\n`;
  return text;
}

/** The seal of a valid receipt, in a file or at a URL; a sentence part if it is invalid. */
async function sealOf(parts: ReceiptsParts, place: string): Promise<Buffer | { readonly wrong: string }> {
  const isUrl = /^https?:\/\//.test(place);
  const text = isUrl ? (await parts.getBytes(place)).toString() : await textOf(parts, place);
  const outcome = readAnswer(text);
  if ('wrong' in outcome) return outcome;
  // A withheld fragment's answer still has the envelope, and its seal is the leaf.
  const { verified, envelope } = outcome.verification;
  if (envelope !== true || !(verified || outcome.withheld)) return { wrong: 'does not verify' };
  const seal = (JSON.parse(text) as { readonly stored_envelope_sha256?: unknown }).stored_envelope_sha256;
  return Buffer.from(typeof seal === 'string' ? seal : '', 'hex');
}

/** Verifies a receipt, and the proof (a file) that a log contains it. */
async function verifyOffline(parts: ReceiptsParts, place: string, proof: string, trust: Trust): Ended {
  try {
    const seal = await sealOf(parts, place);
    if ('wrong' in seal) return { wrong: `The receipt of ${place} ${seal.wrong}.` };
    const text = await textOf(parts, proof);
    const tried = trust.keys.map((key) => verifyProof(text, seal, key));
    const outcome = tried.find((each) => 'index' in each) ??
      tried[0] ?? { wrong: 'is not of a log in the policy' };
    if ('wrong' in outcome) return { wrong: `The proof ${proof} ${outcome.wrong}.` };
    const { index, checkpoint } = outcome;
    const lacking = notCosigned(trust, text.slice(text.indexOf('\n\n') + 2));
    if (lacking !== undefined) return { wrong: `The proof ${proof} has a checkpoint that ${lacking}.` };
    const leaf = `leaf ${index} of ${checkpoint.size}`;
    const cosigned = trust.policy === undefined ? '' : ', cosigned as the policy wants';
    await parts.write(`${place}: verified, ${leaf} in the log ${printable(checkpoint.origin)}${cosigned}\n`);
    return 0;
  } catch (error) {
    return { wrong: `The receipt or its proof cannot be read (${reasonOf(error)}).` };
  }
}

/** Reads the trust options, and verifies offline. */
function verifyWith(parts: ReceiptsParts, place: string, proof: string, options: VerifyOptions): Ended {
  const trust = readTrust(options);
  return 'wrong' in trust ? Promise.resolve(trust) : verifyOffline(parts, place, proof, trust);
}

interface Reason {
  readonly reason: string;
}

async function notice(
  parts: ReceiptsParts,
  { store }: CommandContext,
  id: string,
  hidden: boolean,
  { reason }: Reason,
): Ended {
  const absent = { wrong: `There is no receipt ${id}.` };
  if (!isReceiptId(id) && !isLegacyId(id)) return absent;
  const found = await receiptBody(store, id);
  if (found === undefined) return absent;
  const atMs = parts.clock.wallMs();
  await keepNotice(store, id, { hidden, reason, atMs });
  await parts.write(
    hidden
      ? `The content of ${id} is withheld everywhere; its digests and its seal stay.\n`
      : `The content of ${id} is shown again.\n`,
  );
  return 0;
}

/** Adds the commands to the program. */
export function addReceipts(program: Command, parts: ReceiptsParts): void {
  const onStore = async (run: (context: CommandContext) => Ended): Promise<void> => {
    process.exitCode = await withStore(parts, run);
  };
  const receipts = program.command('receipts').description('import, export and verify receipts of fragments');
  const fragments = program.command('fragments').description('withhold the content of fragments');
  const add = (group: Command, name: string, description: string): Command =>
    group.command(name).description(description).allowExcessArguments(false);
  add(receipts, 'import <file>', 'import receipts of the first hash contract, one JSON object a line').action(
    (file: string) => onStore((context) => importFile(parts, context, file)),
  );
  add(receipts, 'export', 'write every receipt, as GET /receipt/{id} answers it, one a line').action(() =>
    onStore((context) => exportAll(parts, context)),
  );
  add(receipts, 'verify <place>', 'recompute all of a receipt in a file (- is standard input) or at a URL')
    .option('--json', 'print JSON, one object a receipt')
    .option('--offline <proof>', 'the file of its proof (GET /receipt/{id}/proof), verified without a server')
    .option('--vkey <key>', 'verifier key of the log, with --offline')
    .option(
      '--policy <file>',
      'policy with keys of logs and the witnesses that must have cosigned, with --offline',
    )
    .action(async (place: string, options: VerifyOptions) => {
      const { offline, vkey, policy } = options;
      if ((offline === undefined) !== (vkey === undefined && policy === undefined)) {
        parts.printError('--offline goes with --vkey or --policy, and they with it.');
        process.exitCode = 1;
        return;
      }
      const ended =
        offline === undefined
          ? await verifyPlace(parts, place, options)
          : await verifyWith(parts, place, offline, options);
      if (typeof ended !== 'number') parts.printError(ended.wrong);
      process.exitCode = typeof ended === 'number' ? ended : 1;
    });
  for (const [name, hidden, description] of [
    ['hide', true, 'withhold a content everywhere; the receipt still answers with its digests'],
    ['show', false, 'show a content again'],
  ] as const) {
    add(fragments, `${name} <receipt>`, description)
      .requiredOption('--reason <text>', 'why, for whoever reads the receipt')
      .action((id: string, options: Reason) =>
        onStore((context) => notice(parts, context, id, hidden, options)),
      );
  }
}
