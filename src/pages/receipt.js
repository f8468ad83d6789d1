/**
 * Verifies a receipt in the browser (docs/receipt.md, docs/log.md): recomputes its digests and its seal,
 * walks its proof from the leaf to the signed root, and checks the signature. It trusts only one part of the
 * server's answers, the verifier key, and not even that if the reader pastes a key of their own.
 */
const check = document.getElementById('check');
const field = document.getElementById('vkey');
const verdict = document.getElementById('verdict');
const steps = document.getElementById('steps');

/** A verification failure; the message is a sentence. */
class Wrong extends Error {}

function holds(truth, words) {
  if (!truth) throw new Wrong(words);
}

const utf8 = (text) => new TextEncoder().encode(text);
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

function fromBase64(text) {
  holds(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3}={1,2})?$/.test(text), 'A line is no base64.');
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

const same = (one, other) => hex(one) === hex(other);

async function sha256(...parts) {
  const bytes = Uint8Array.from(parts.flatMap((part) => [...part]));
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
}

/** Canonical JSON of an object of strings. */
function canonical(members) {
  const sorted = Object.entries(members).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(Object.fromEntries(sorted));
}

/** Adds a line to the walk, with its hash. */
function step(words, hash) {
  const item = document.createElement('li');
  const line = document.createElement('p');
  line.textContent = words;
  item.append(line);
  if (hash !== undefined) {
    const code = document.createElement('code');
    code.className = 'hash';
    code.textContent = hex(hash);
    item.append(code);
  }
  steps.append(item);
}

/** Compares the page's texts with the verified ones: they came in different answers. */
function verifyShown({ fragment, envelope, stored_envelope_sha256: seal }) {
  for (const place of document.querySelectorAll('[data-field]')) {
    const shown = fragment?.[place.dataset.field] === place.textContent;
    holds(shown, 'This page shows another text than the one of the receipt.');
  }
  for (const place of document.querySelectorAll('[data-value]')) {
    const { value } = place.dataset;
    const shown = (value === 'stored_envelope_sha256' ? seal : envelope[value]) === place.textContent;
    holds(shown, 'This page shows another digest than the one of the receipt.');
  }
}

/** Recomputes the digests of the text; the dedupe key's needs the Unicode tables. */
async function verifyDigests({ fragment, envelope }) {
  const payload = canonical(fragment);
  const token = hex(await sha256(utf8(`fragment-confirm-v2\0${payload}`)));
  const texts = {
    content_sha256: fragment.content,
    content_bytes_sha256: fragment.content,
    submission_payload_sha256: `${fragment.title}\n${fragment.content}`,
    canonical_payload_sha256: payload,
    confirmation_binding_sha256: `fragment-confirm-v2\0${payload}`,
    confirmation_token_sha256: token,
  };
  let wrong = 0;
  for (const [name, text] of Object.entries(texts)) {
    const fits = hex(await sha256(utf8(text))) === envelope[name];
    const place = document.querySelector(`[data-digest="${name}"]`);
    place.textContent = `Recomputed in this browser: ${fits ? 'matches' : 'does not match'}.`;
    wrong += fits ? 0 : 1;
  }
  holds(wrong === 0, 'The text is not the one of the receipt: a digest does not match.');
  step('The text has the digests that the envelope names: six are recomputed.');
}

/** Verifies the seal of the envelope. */
async function verifySeal({ receipt, envelope, stored_envelope_sha256: stored }) {
  const seal = await sha256(utf8(canonical(envelope)));
  holds(
    envelope.receipt === receipt && receipt === check.dataset.receipt,
    'The envelope is of another receipt.',
  );
  holds(hex(seal) === stored, 'The seal is not that of the envelope.');
  const place = document.querySelector('[data-digest="stored_envelope_sha256"]');
  place.textContent = 'Recomputed in this browser: matches.';
  step('The seal is SHA-256 of the envelope:', seal);
  return seal;
}

/** Parses a proof. */
function readProof(text) {
  const [path, body, signatures] = text.split('\n\n');
  const [head, ...rest] = path.split('\n').filter((line) => !line.startsWith('extra '));
  holds(head === 'c2sp.org/tlog-proof@v1' && signatures !== undefined, 'The proof is no proof.');
  const [name, size, root] = body.split('\n');
  const index = Number(/^index (0|[1-9][0-9]{0,15})$/.exec(rest[0])?.[1] ?? NaN);
  const path32 = rest.slice(1).map(fromBase64);
  return {
    index,
    path: path32,
    checkpoint: { text: `${body}\n`, name, size: Number(size), root: fromBase64(root), signatures },
  };
}

/** Walks from the leaf to the root (RFC 9162, 2.1.3.2). */
async function walk(seal, { index, path, checkpoint }) {
  const { size, root } = checkpoint;
  holds(index >= 0 && index < size, 'The proof names no leaf of its checkpoint.');
  let node = await sha256([0], seal);
  step(`The leaf, entry ${index.toLocaleString('en')}, is SHA-256 of a zero byte and the seal:`, node);
  let [at, last] = [BigInt(index), BigInt(size) - 1n];
  for (const neighbour of path) {
    // A node without a sibling at the right edge moves up unchanged.
    while (last > 0n && at === last && at % 2n === 0n) [at, last] = [at / 2n, last / 2n];
    holds(last > 0n, 'The path is too long.');
    const isRight = at % 2n === 1n;
    node = isRight ? await sha256([1], neighbour, node) : await sha256([1], node, neighbour);
    const other = `${isRight ? 'left' : 'right'} neighbour ${hex(neighbour).slice(0, 8)}…`;
    step(`With its ${other} it makes the node above:`, node);
    [at, last] = [at / 2n, last / 2n];
  }
  holds(last === 0n && same(node, root), 'The path does not lead to the root of the checkpoint.');
  step(`That is the root of the checkpoint of ${size.toLocaleString('en')} receipts.`);
}

/** Parses a verifier key. */
async function readKey(text) {
  const [, name, id, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/.exec(text.trim()) ?? [];
  holds(name !== undefined, 'This is not a verifier key.');
  const bytes = fromBase64(encoded);
  const digest = await sha256(utf8(`${name}\n`), bytes);
  const isKey = bytes[0] === 1 && bytes.length === 33 && hex(digest.slice(0, 4)) === id;
  holds(isKey, 'This is not a verifier key: one of its characters is wrong.');
  return { name, id, bytes: bytes.slice(1) };
}

async function verifySignature({ text, name, signatures }, vkey) {
  const key = await readKey(vkey);
  holds(name === key.name, `The checkpoint is of another log, ${name}.`);
  const imported = await crypto.subtle.importKey('raw', key.bytes, 'Ed25519', false, ['verify']);
  for (const line of signatures.split('\n')) {
    const [dash, signer, encoded = ''] = line.split(' ');
    if (dash !== '\u2014' || signer !== key.name) continue;
    const bytes = fromBase64(encoded);
    if (hex(bytes.slice(0, 4)) !== key.id) continue;
    if (!(await crypto.subtle.verify('Ed25519', imported, bytes.slice(4), utf8(text)))) continue;
    step(`The checkpoint is signed by the key ${key.id} of ${name}.`);
    return;
  }
  throw new Wrong('The checkpoint is not signed by this key.');
}

async function get(path, accept) {
  const response = await fetch(path, { headers: { accept } });
  if (!response.ok) throw new Error(`${path} answers ${response.status}`);
  return response.text();
}

function say(words, state) {
  verdict.textContent = words;
  verdict.className = `state ${state}`;
}

async function verify() {
  steps.replaceChildren();
  say('Verifying …', '');
  const path = `/receipt/${check.dataset.receipt}`;
  const own = field.value.trim();
  try {
    const [answer, proof, served] = await Promise.all([
      get(path, 'application/json').then(JSON.parse),
      get(`${path}/proof`, 'text/plain'),
      own === '' ? get('/log/vkey', 'text/plain') : own,
    ]);
    verifyShown(answer);
    if (answer.fragment !== null) await verifyDigests(answer);
    const read = readProof(proof);
    await walk(await verifySeal(answer), read);
    await verifySignature(read.checkpoint, served);
    const whose = own === '' ? 'the key that this server answers: compare it with one you kept' : 'your key';
    say(`Verified, by ${whose}. The receipt is in the log, and neither can change unseen.`, 'good');
  } catch (error) {
    if (error instanceof Wrong) say(`Not verified. ${error.message}`, 'bad');
    else say(`It could not be verified here (${error.message}). The commands below do it elsewhere.`, 'bad');
  }
}

for (const place of document.querySelectorAll('.origin')) place.textContent = location.origin;
if (check !== null) {
  check.hidden = false;
  if (globalThis.crypto?.subtle === undefined) {
    check.querySelector('form').hidden = true;
    say('This browser computes hashes only on pages that come by https. The commands below do it.', '');
  } else {
    check.querySelector('form').addEventListener('submit', (event) => {
      event.preventDefault();
      void verify();
    });
    await verify();
  }
}
