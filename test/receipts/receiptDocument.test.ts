/** docs/receipt.md: its worked example, and its script against the native module on random fragments. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Fragment } from '../../src/contract/fragment.js';
import { native } from '../../src/native/addon.js';
import { examples } from '../support/examples.js';
import { findPython } from '../support/python.js';
import { temporaryFolder } from '../support/run.js';
import { digestNames } from './digestNames.js';

interface Example {
  readonly input: Readonly<Record<keyof Fragment, string | null>>;
  readonly receipt: string;
  readonly received_at: string;
  readonly canonical: string;
  readonly comparable: { readonly title: string; readonly content: string };
  readonly confirmation_token: string;
  readonly digests: Readonly<Record<string, string>>;
  readonly envelope: string;
}

const example = JSON.parse(readFileSync('test/vectors/receipt.json', 'utf8')) as Example;
const page = readFileSync('docs/receipt.md', 'utf8');

/** The page's fenced blocks of a language. */
function blocks(language: string): string[] {
  return [...page.matchAll(new RegExp('```' + language + '\n([^]*?)\n```', 'g'))].map(
    ([, text = '']) => text,
  );
}

const script = blocks('python')[0] ?? '';
const found = findPython(['unicodedata', 'hashlib'], 'no requirements');
const skip = 'missing' in found ? found.missing : false;
const python = 'python' in found ? found.python : '';

function seal(input: Readonly<Record<keyof Fragment, string | null>>, receipt: string, receivedAt: string) {
  const { title, content, mechanism, test: testing, kind, visitor } = input;
  const texts = [title, content, mechanism, testing, kind, visitor].map((text) => text ?? '');
  const [a = '', b = '', c = '', d = '', e = '', f = ''] = texts;
  return native.sealFragment(a, b, c, d, e, f, receipt, receivedAt);
}

describe('the worked example', () => {
  test('is the vector', () => {
    const [input = '', envelope = ''] = blocks('json');
    assert.deepEqual(JSON.parse(input), example.input);
    assert.deepEqual(JSON.parse(envelope), JSON.parse(example.envelope));
    assert.deepEqual(blocks('text'), [example.canonical, example.digests['stored_envelope_sha256']]);
    assert.ok(page.includes(`\`${example.comparable.title}\``));
    assert.ok(page.includes(`\`${example.comparable.content}\``));
  });

  test('is what the native module makes', () => {
    const sealed = seal(example.input, example.receipt, example.received_at);
    assert.deepEqual([sealed.canonical, sealed.envelope], [example.canonical, example.envelope]);
    assert.deepEqual(
      Object.values(sealed.digests),
      digestNames.map((name) => example.digests[name]),
    );
    assert.equal(sealed.seal, example.digests['stored_envelope_sha256']);
    assert.equal(example.digests['confirmation_binding_sha256'], example.confirmation_token);
  });
});

test('the example that agents are shown is an ordinary fragment, with its own digests', () => {
  const { request, response } = examples.receipt;
  const { fragment: shown, envelope } = response.body as {
    fragment: Fragment;
    envelope: { receipt: string };
  };
  const texts = Object.values<string>({ ...shown });
  for (const text of texts) assert.match(text, /^[A-Z][A-Za-z ,.]*$/);
  assert.ok(texts.length === 6 && request.path.endsWith(envelope.receipt));
  const sealed = seal(shown, envelope.receipt, '2026-11-21T09:30:00.000Z');
  assert.deepEqual(JSON.parse(sealed.envelope) as unknown, envelope);
  assert.equal((response.body as { stored_envelope_sha256: string }).stored_envelope_sha256, sealed.seal);
  const { body } = examples.dream.request;
  assert.deepEqual(body, {
    ...shown,
    idempotency_key: (body as { idempotency_key: string }).idempotency_key,
  });
});

describe('the script', { skip }, () => {
  const folder = temporaryFolder();
  const file = join(folder, 'receipt.py');
  writeFileSync(file, script);

  /** Runs it on an answer of GET /receipt/<id>. */
  function run(answer: unknown): { readonly status: number | null; readonly stdout: string } {
    const place = join(folder, 'answer.json');
    writeFileSync(place, JSON.stringify(answer));
    const { status, stdout, stderr } = spawnSync(python, [file, place], { encoding: 'utf8' });
    assert.equal(stderr, '');
    return { status, stdout };
  }

  const answer = {
    receipt: example.receipt,
    stored_envelope_sha256: example.digests['stored_envelope_sha256'],
    envelope: JSON.parse(example.envelope) as Record<string, string>,
    fragment: JSON.parse(example.canonical) as Fragment,
  };

  test('accepts the worked example', () => {
    const { status, stdout } = run(answer);
    assert.deepEqual([status, stdout.match(/^ok /gm)?.length], [0, 8], stdout);
  });

  test('detects a changed character', () => {
    const fragment = { ...answer.fragment, content: `${answer.fragment.content}.` };
    const { status, stdout } = run({ ...answer, fragment });
    assert.deepEqual([status, stdout.match(/^WRONG /gm)?.length], [1, 7], stdout);
  });

  test('leaves characters that its Python does not know undecided', () => {
    const sealed = seal(
      { ...example.input, title: '\u{10ffff}\ufffe' },
      example.receipt,
      example.received_at,
    );
    const envelope = JSON.parse(sealed.envelope) as Record<string, string>;
    const fragment = JSON.parse(sealed.canonical) as Fragment;
    const { status, stdout } = run({ ...answer, envelope, fragment, stored_envelope_sha256: sealed.seal });
    assert.equal(status, 0);
    assert.match(stdout, /^undecided dedupe_key_sha256$/m);
  });

  test('agrees with the native module on any characters that its Unicode version has', async () => {
    const assigned = spawnSync(python, ['-c', listAssigned], { encoding: 'utf8', maxBuffer: 1 << 26 }).stdout;
    const characters = JSON.parse(assigned) as string[];
    assert.ok(characters.length > 280_000);
    const inputs = fc.sample(fragments(characters), { numRuns: 2_000, seed: 20261121 });
    const theirs = await recompute(file, inputs);
    inputs.forEach((input, index) => {
      const { canonical, digests } = seal(input, '', '');
      const { content: a, submission: b, canonical: c, dedupe: d, binding: e, token: f } = digests;
      assert.deepEqual(theirs[index], [canonical, a, a, b, c, d, e, f], JSON.stringify(input));
    });
  });
});

/** Prints every assigned character (surrogates left out), as JSON. */
const listAssigned = `
import json, unicodedata
every = (chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
print(json.dumps([c for c in every if unicodedata.category(c) != "Cn"]))
`;

/** Characters that the rules name, all of one UTF-16 unit. */
const specials = ' \t\n\r\v\f\0\u001c\u0085\u00a0\u00ad\u200b\u2028\u3000"\\ßΣſﬁ\u0301\u0345';

/** Fragments of any of the characters, those that matter to the rules more often. */
function fragments(characters: readonly string[]): fc.Arbitrary<Example['input']> {
  const any = fc.nat({ max: characters.length - 1 }).map((index) => characters[index] ?? '');
  const early = fc.nat({ max: 3_000 }).map((index) => characters[index] ?? '');
  const special = fc.nat({ max: specials.length - 1 }).map((index) => specials.charAt(index));
  const text = fc
    .array(fc.oneof(any, early, special, fc.constantFrom('a', 'B')), { maxLength: 40 })
    .map((parts) => parts.join(''));
  const kind = fc.oneof(fc.constantFrom('bridge', ' Critique\u0007', 'TEﬅ_design', '', 'other'), text);
  const optional = fc.option(text, { freq: 4 });
  return fc.record({
    title: text,
    content: text,
    mechanism: optional,
    test: optional,
    kind,
    visitor: optional,
  });
}

/** What the script's functions make of each input: the canonical payload, then the digests in order. */
function recompute(file: string, inputs: readonly unknown[]): Promise<unknown[]> {
  const program = `
import json, runpy, sys
script = runpy.run_path(sys.argv[1])
for line in sys.stdin:
    accepted = script["accept"](json.loads(line))
    print(json.dumps([script["canonical"](accepted), *script["digests"](accepted).values()]))
`;
  const child = spawn(python, ['-c', program, file], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(inputs.map((input) => `${JSON.stringify(input)}\n`).join(''));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve) => {
    child.on('close', () =>
      resolve(
        output
          .trimEnd()
          .split('\n')
          .map((line): unknown => JSON.parse(line)),
      ),
    );
  });
}
