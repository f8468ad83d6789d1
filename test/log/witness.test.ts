/** Witnesses: what they cosign and refuse, whatever crashes; asking them; policies. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { cosign, cosignaturesOf, openCosignature } from '../../src/log/cosignature.js';
import {
  noteParts,
  parseVerifierKey,
  signCheckpoint,
  verifierText,
  type VerifierKey,
} from '../../src/log/note.js';
import { isCosigned, isMet, parsePolicy } from '../../src/log/policy.js';
import { isConsistent } from '../../src/log/proof.js';
import { addCheckpoint, type WitnessAnswer } from '../../src/log/witness.js';
import { Witnessing, type Post } from '../../src/log/witnessing.js';
import { native } from '../../src/native/addon.js';
import { naiveRoot } from '../reference/tree.js';
import { run, temporaryFolder, type Running } from '../support/run.js';
import { fence, keyOf, MemoryFile, sealOf, World } from './world.js';

const log: VerifierKey = { name: 'log.example', publicKey: keyOf(1).publicKey };
const witnessKey: VerifierKey = { name: 'witness.example/w1', publicKey: keyOf(9).publicKey };

/** Leaves of a history; `branch`: the histories differ from a place on. */
function leavesOf(count: number, branch = '', from = 0): Buffer[] {
  return Array.from({ length: count }, (_, at) => sealOf(at, at < from ? '' : branch));
}

function noteOf(leaves: readonly Buffer[], key = keyOf(1)): string {
  return signCheckpoint({ origin: log.name, size: leaves.length, root: naiveRoot(leaves) }, key);
}

/** The path by its definition (RFC 6962, 2.1.2). */
function naivePath(old: number, leaves: readonly Buffer[], isWhole = true): Buffer[] {
  if (old === leaves.length) return isWhole ? [] : [naiveRoot(leaves)];
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  const [left, right] = [leaves.slice(0, k), leaves.slice(k)];
  if (old <= k) return [...naivePath(old, left, isWhole), naiveRoot(right)];
  return [...naivePath(old - k, right, false), naiveRoot(left)];
}

function bodyOf(old: number, path: readonly Buffer[], note: string): string {
  return `old ${old}\n${path.map((hash) => `${hash.toString('base64')}\n`).join('')}\n${note}`;
}

/** A request that goes on honestly from a size. */
function grown(old: number, leaves: readonly Buffer[]): string {
  return bodyOf(old, old === 0 ? [] : naivePath(old, leaves), noteOf(leaves));
}

function witnessOn(file: MemoryFile): (body: string) => WitnessAnswer {
  const parts = {
    name: witnessKey.name,
    key: keyOf(9),
    logs: [log],
    clock: { wallMs: () => 1_700_000_000_500 },
  };
  return (body) => addCheckpoint({ ...parts, stateOf: () => file }, body);
}

test('consistency proofs verify for all sizes, and not with another hash, size or order', () => {
  for (let size = 1; size <= 34; size += 1) {
    const leaves = leavesOf(size);
    const root = naiveRoot(leaves);
    for (let old = 1; old <= size; old += 1) {
      const oldRoot = naiveRoot(leaves.slice(0, old));
      const path = naivePath(old, leaves);
      const holds = (from = old, fromRoot = oldRoot, to = size, toRoot = root, by = path): boolean =>
        isConsistent([from, fromRoot], [to, toRoot], by);
      assert.ok(holds(), `${old} of ${size}`);
      assert.ok(!holds(old, sealOf(1)) && !holds(old, oldRoot, size, sealOf(1)));
      assert.ok(!holds(old, oldRoot, size, root, [...path, sealOf(1)]));
      if (path.length > 0) assert.ok(!holds(old, oldRoot, size, root, path.slice(0, -1)));
      for (const at of path.keys()) {
        assert.ok(!holds(old, oldRoot, size, root, path.with(at, sealOf(1))));
      }
    }
  }
});

test('a witness cosigns a log that grew, and answers as tlog-witness says', () => {
  const file = new MemoryFile();
  const ask = witnessOn(file);
  const [three, seven] = [leavesOf(3), leavesOf(7)];
  const first = ask(grown(0, three));
  assert.equal(first.status, 200);
  const { text = '' } = noteParts(noteOf(three)) ?? {};
  const line = openCosignature(text, first.body.trimEnd(), witnessKey);
  assert.equal(line?.timeS, 1_700_000_000);
  assert.equal(
    openCosignature(text, first.body.trimEnd(), { ...witnessKey, publicKey: keyOf(8).publicKey }),
    undefined,
  );
  assert.equal(openCosignature(text.replace('\n3\n', '\n4\n'), first.body.trimEnd(), witnessKey), undefined);
  assert.deepEqual(ask(grown(3, three)).status, 200, 'the same again');
  const cases: readonly (readonly [string, number, string?])[] = [
    [grown(0, seven), 409, '3\n'],
    [grown(2, seven), 409, '3\n'],
    [bodyOf(3, [], noteOf(leavesOf(3, 'other'))), 409, '3\n'],
    [bodyOf(3, naivePath(3, seven).slice(1), noteOf(seven)), 422],
    [bodyOf(3, naivePath(3, leavesOf(7, 'other', 3)), noteOf(leavesOf(7, 'other', 2))), 422],
    [bodyOf(8, [], noteOf(seven)), 400],
    [bodyOf(3, naivePath(3, seven), noteOf(seven, keyOf(2))), 403],
    [grown(3, seven).replaceAll('log.example', 'other.example'), 404],
    [grown(3, seven).replace('old 3', 'old 03'), 400],
    [grown(3, seven).replace('old 3', 'old x'), 400],
    [
      bodyOf(
        3,
        Array.from({ length: 64 }, () => sealOf(1)),
        noteOf(seven),
      ),
      400,
    ],
    ['', 400],
    ['old 3\n\n', 400],
  ];
  for (const [body, status, said] of cases) {
    const answer = ask(body);
    assert.equal(answer.status, status, body);
    assert.doesNotMatch(answer.body, /\u2014/);
    if (said !== undefined) assert.deepEqual([answer.body, answer.type], [said, 'text/x.tlog.size']);
    assert.equal(file.state?.size, 3);
  }
  assert.equal(ask(grown(3, seven)).status, 200);
  assert.equal(file.state?.size, 7);
});

test('a witness whose file is damaged cosigns nothing, and leaves the file as it is', () => {
  const file = new MemoryFile();
  file.wrong = 'it is damaged';
  const answer = witnessOn(file)(grown(0, leavesOf(3)));
  assert.deepEqual([answer.status, file.state], [500, undefined]);
});

test('an empty log is cosigned, and only with its root', () => {
  const ask = witnessOn(new MemoryFile());
  assert.equal(ask(bodyOf(0, [], noteOf([]))).status, 200);
  const wrong = signCheckpoint({ origin: log.name, size: 0, root: sealOf(1) }, keyOf(1));
  assert.notEqual(ask(bodyOf(0, [], wrong)).status, 200);
  assert.equal(ask(grown(0, leavesOf(2))).status, 200);
});

test('whatever crashes, a witness cosigns one history', () => {
  const step = fc.record({
    branch: fc.constantFrom('', '', 'a', 'b'),
    from: fc.integer({ min: 0, max: 12 }),
    count: fc.integer({ min: 0, max: 12 }),
    old: fc.option(fc.integer({ min: 0, max: 12 }), { freq: 4 }),
    fault: fc.constantFrom(undefined, undefined, 'not written' as const, 'written' as const),
  });
  const property = fc.property(fc.array(step, { minLength: 3, maxLength: 40 }), (steps) => {
    const file = new MemoryFile();
    const signed: Buffer[][] = [];
    for (const { branch, from, count, old, fault } of steps) {
      const leaves = leavesOf(count, branch, from);
      const start = Math.min(count, old ?? file.state?.size ?? 0);
      file.fault = fault;
      try {
        // A new object each time: nothing but the file is remembered.
        if (witnessOn(file)(grown(start, leaves)).status === 200) signed.push(leaves);
      } catch (error) {
        assert.match(String(error), /crash/);
      }
      file.fault = undefined;
    }
    const longest = signed.reduce<Buffer[]>((most, each) => (each.length > most.length ? each : most), []);
    for (const each of signed) assert.deepEqual(each, longest.slice(0, each.length));
  });
  fc.assert(property, { numRuns: 300 });
});

const policyText = `# A policy
#of three
log ${verifierText(log)} https://log.example/
witness X1 ${verifierText(witnessKey, 'witness')} https://w1.example/
witness X2 ${verifierText({ name: 'w2', publicKey: keyOf(8).publicKey }, 'witness')}
witness X3 ${verifierText({ name: 'w3', publicKey: keyOf(7).publicKey }, 'witness')}
\tgroup  two 2 X1 X2
group all-of-it any two X3
quorum all-of-it
`;

const anyWitness = `witness w ${verifierText(witnessKey, 'witness')}`;

test('a group that needs one, and one that needs all, are met by exactly these witnesses', () => {
  const names = policyText.replace('two 2 X1 X2', 'two all X1 X2').replace('any two X3', '1 two X3');
  const policy = parsePolicy(names);
  assert.ok('quorum' in policy, JSON.stringify(policy));
  assert.deepEqual(
    [['X1'], ['X1', 'X2'], ['X3']].map((cosigned) => isMet(policy, new Set(cosigned))),
    [false, true, true],
  );
  const one = parsePolicy(`${anyWitness}\ngroup g all w\nquorum g\n`);
  assert.ok('quorum' in one && isMet(one, new Set(['w'])) && !isMet(one, new Set()));
});

test('policies follow the specification', () => {
  const policy = parsePolicy(policyText);
  assert.ok('quorum' in policy);
  assert.deepEqual(policy.logs, [log]);
  assert.deepEqual(
    policy.witnesses.map(({ name, url }) => [name, url]),
    [
      ['X1', 'https://w1.example'],
      ['X2', null],
      ['X3', null],
    ],
  );
  const sets: readonly (readonly [readonly string[], boolean])[] = [
    [[], false],
    [['X1'], false],
    [['X1', 'X2'], true],
    [['X3'], true],
    [['two'], false],
  ];
  for (const [names, met] of sets) assert.equal(isMet(policy, new Set(names)), met, names.join());
  const none = parsePolicy('quorum none\n');
  assert.ok('quorum' in none && isMet(none, new Set()));
  for (const [line, words] of [
    ['', /no quorum/],
    ['quorum X1\n', /names X1, which no line before/],
    ['quorum none\nquorum none\n', /line 2, which is a second quorum/],
    ['quorum\n', /no quorum, or more than one/],
    ['quorum none none\n', /no quorum, or more than one/],
    [`log ${verifierText(log)} https://a more\n`, /no verifier key of an Ed25519 log/],
    [
      policyText.replace('witness X1', `log ${verifierText(log)}\nwitness X1`),
      /line 4, .*log for the second/,
    ],
    [`${anyWitness} https://a more\n`, /no verifier key of an Ed25519 witness/],
    [`${anyWitness} nowhere\n`, /address that is no URL/],
    [`${anyWitness}\n${anyWitness.replace(' w ', ' v ')}\n`, /line 2, .*name or key for the second time/],
    [anyWitness.replace(' w ', ' none '), /name or key for the second time/],
    [`${anyWitness}\ngroup none any w\n`, /line 2, which has no new name/],
    [`${anyWitness}\ngroup w any w\n`, /line 2, which has no new name/],
    [`${anyWitness}\ngroup g any\n`, /line 2, which has no new name, or no members/],
    [`${anyWitness}\ngroup g 2 w\n`, /line 2, which has no threshold/],
    [`${anyWitness}\ngroup g most w\n`, /line 2, which has no threshold/],
    [`${anyWitness}\ngroup g any v\n`, /line 2, which names v, which no line before/],
    ['witness none x\n', /no verifier key of an Ed25519 witness/],
    [`witness w ${verifierText(log)}\n`, /no verifier key of an Ed25519 witness/],
    [`log ${verifierText(witnessKey, 'witness')}\n`, /no verifier key of an Ed25519 log/],
    [policyText.replace('2 X1 X2', '3 X1 X2'), /no threshold/],
    [policyText.replace('2 X1 X2', '0 X1 X2'), /no threshold/],
    [policyText.replace('any two X3', 'any two X1'), /names X1, which is a member already/],
    [policyText.replace('witness X2', 'witness X1'), /a second time|second time/],
    ['quorom none\n', /does not begin with/],
  ] as const) {
    const wrong = parsePolicy(line);
    assert.ok('wrong' in wrong, line);
    assert.match(wrong.wrong, words);
  }
});

/** Asks witnesses for the log of a world, each through a function. */
function asking(
  world: World,
  posts: Readonly<Record<string, Post>>,
): { told: string[]; ask: () => Promise<void> } {
  const told: string[] = [];
  const witnesses = Object.keys(posts).map((url, at) => {
    const key = { name: `w${at}`, publicKey: keyOf(20 + at).publicKey };
    return { name: `W${at}`, key, url };
  });
  const post: Post = (url, body) => {
    const own = posts[url.replace('/add-checkpoint', '')];
    return own === undefined ? Promise.reject(new Error('no such witness')) : own(url, body);
  };
  const warn = (about: object): void => void told.push(JSON.stringify(about));
  let nowMs = 0;
  const clock = { monotonicMs: () => nowMs };
  const witnessing = new Witnessing({
    store: world.store.seen,
    tree: native,
    witnesses,
    post,
    clock,
    log: { warn },
  });
  const ask = (): Promise<void> => {
    nowMs += 1e9;
    return witnessing.cosign(fence);
  };
  return { told, ask };
}

function postTo(number: number, file = new MemoryFile()): Post {
  const parts = { name: `w${number}`, key: keyOf(20 + number), logs: [log], clock: { wallMs: () => 5_000 } };
  return (_, body) => Promise.resolve(addCheckpoint({ ...parts, stateOf: () => file }, body));
}

const keys = [0, 1, 2].map((number) => ({ name: `w${number}`, publicKey: keyOf(20 + number).publicKey }));

test('checkpoints are cosigned by the witnesses that answer, from whatever size they know', async () => {
  const world = new World();
  const file = new MemoryFile();
  let isDown = false;
  const second = postTo(1, file);
  const posts = {
    'http://one': postTo(0),
    'http://two': (...given: Parameters<Post>) =>
      isDown ? Promise.reject(new Error('down')) : second(...given),
  };
  const { told, ask } = asking(world, posts);
  const cosigners = async (): Promise<string[]> => {
    return cosignaturesOf((await world.signed())?.note ?? '', keys).map(({ name }) => name);
  };
  await ask();
  for (const [count, down, expected] of [
    [3, false, ['w0', 'w1']],
    [4, true, ['w0']],
    [250, true, ['w0']],
    [300, false, ['w0', 'w1']],
  ] as const) {
    isDown = down;
    await world.add(count);
    await world.round();
    await ask();
    assert.deepEqual(await cosigners(), expected);
  }
  assert.equal(file.state?.size, 557);
  assert.deepEqual(Buffer.from(file.state.root), naiveRoot(world.leaves));
  assert.equal(told.length, 2);
  // A process that starts knows of no witness what it has seen.
  await world.add(1);
  await world.round();
  const fresh = asking(world, posts);
  await fresh.ask();
  assert.deepEqual([await cosigners(), fresh.told], [['w0', 'w1'], []]);
});

test('a witness that saw more than the store has, or another history, is reported', async () => {
  const [world, ahead, other] = [new World(), new MemoryFile(), new MemoryFile()];
  await world.add(3);
  await world.round();
  ahead.writeNow({ size: 7, root: naiveRoot(leavesOf(7)) });
  other.writeNow({ size: 3, root: naiveRoot(leavesOf(3, 'other')) });
  const posts = {
    'http://ahead': postTo(0, ahead),
    'http://other': postTo(1, other),
    'http://forger': postTo(0),
    'http://broken': () => Promise.resolve({ status: 500, body: '' }),
    'http://wavering': (_: string, body: string) =>
      Promise.resolve({ status: 409, body: body.startsWith('old 1\n') ? '2\n' : '1\n' }),
  };
  const { told, ask } = asking(world, posts);
  await ask();
  const [first = '', second = '', third = '', fourth = '', fifth = ''] = [...told].sort();
  assert.match(fourth, /W3.*it answers with status 500/);
  assert.match(fifth, /W4.*it names one size after another/);
  assert.match(first, /W0.*it has seen a checkpoint of 7 leaves, and this store has 3/);
  assert.match(second, /W1.*it knows another history of 3 leaves/);
  assert.match(third, /W2.*its answer is not signed by its key/);
  assert.doesNotMatch((await world.signed())?.note ?? '', / w\d /);
});

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));

async function startWitness(folder: string): Promise<{ running: Running; url: string; vkey: string }> {
  const args = [
    'log',
    'witness',
    '--name',
    'w.example',
    '--log',
    verifierText(log),
    '--listen',
    '127.0.0.1:0',
  ];
  const running = run(main, [...args, '--folder', folder], {});
  const [, vkey = '', url = ''] = await running.prints(/witness w\.example (\S+) (http:\S+)\n/);
  return { running, url, vkey };
}

test('fusegate log witness cosigns, and contradicts nothing after it is killed', async () => {
  const folder = join(temporaryFolder(), 'witness');
  let { running, url, vkey } = await startWitness(folder);
  const firstKey = vkey;
  const send = async (body: string): Promise<{ status: number; body: string }> => {
    const answer = await fetch(`${url}/add-checkpoint`, { method: 'POST', body });
    return { status: answer.status, body: await answer.text() };
  };
  let known = 0;
  for (const size of [2, 5, 9]) {
    const note = noteOf(leavesOf(size));
    const answer = await send(grown(known, leavesOf(size)));
    assert.equal(answer.status, 200);
    const key = parseVerifierKey(vkey, 'witness');
    assert.ok(key !== undefined && vkey === firstKey);
    assert.equal(cosignaturesOf(note + answer.body, [key]).length, 1);
    known = size;
    running.child.kill('SIGKILL');
    await running.ended();
    ({ running, url, vkey } = await startWitness(folder));
    const forked = leavesOf(12, 'other', 1);
    assert.deepEqual(await send(grown(0, forked)), { status: 409, body: `${size}\n` });
    assert.equal((await send(grown(known, forked))).status, 422);
  }
  assert.equal((await (await fetch(`${url}/vkey`)).text()).trim(), vkey);
  assert.equal((await fetch(`${url}/`)).status, 404);
  assert.equal((await send('x'.repeat(20_000))).status, 413);
  const second = run(
    main,
    ['log', 'witness', '--name', 'w', '--log', verifierText(log), '--folder', folder],
    {},
  );
  assert.equal((await second.ended()).code, 1);
  assert.match(second.output, /Another witness uses/);
  running.child.kill('SIGTERM');
  assert.equal((await running.ended()).code, 0);
  assert.match(readFileSync(join(folder, 'witness-key'), 'utf8'), /^[0-9a-f]{64}\n$/);
});

test('disconnects and endless bodies make a witness print nothing, and it continues to serve', async () => {
  const { running, url, vkey } = await startWitness(join(temporaryFolder(), 'witness'));
  const { hostname, port } = new URL(url);
  const printed = running.output.length;
  const head = `POST /add-checkpoint HTTP/1.1\r\nHost: w\r\nContent-Length: 1000000\r\n\r\n`;
  for (let at = 0; at < 20; at += 1) {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    await new Promise((written) => socket.write(`${head}old 0`, written));
    socket.resetAndDestroy();
  }
  const socket = connect(Number(port), hostname);
  socket.write(head + 'x'.repeat(20_000));
  let answer = '';
  socket.on('data', (data: Buffer) => (answer += data.toString()));
  await once(socket, 'close');
  assert.match(answer, /^HTTP\/1\.1 413 /);
  assert.equal((await (await fetch(`${url}/vkey`)).text()).trim(), vkey);
  running.child.kill('SIGTERM');
  await running.ended();
  assert.equal(running.output.slice(printed), '');
});

test('a cosignature has a time of eight bytes that fits a Date', () => {
  const { text } = noteParts(noteOf(leavesOf(1))) ?? assert.fail();
  const lineAt = (timeS: number): string => cosign(text, witnessKey.name, keyOf(9), timeS).trimEnd();
  const bytes = Buffer.from(lineAt(7).split(' ').at(-1) ?? '', 'base64');
  assert.deepEqual([bytes.byteLength, bytes.readBigUInt64BE(4)], [4 + 8 + 64, 7n]);
  assert.equal(openCosignature(text, lineAt(7), witnessKey)?.timeS, 7);
  const most = 8_640_000_000_000;
  assert.equal(new Date(most * 1_000).getTime(), most * 1_000, 'the latest time that a Date has');
  assert.equal(openCosignature(text, lineAt(most), witnessKey)?.timeS, most);
  assert.equal(openCosignature(text, lineAt(most + 1), witnessKey), undefined);
  assert.deepEqual(cosignaturesOf('no note', [witnessKey]), []);
});

test('a checkpoint is cosigned once the witnesses that the policy requires have signed', () => {
  const note = noteOf(leavesOf(1));
  const policy = parsePolicy(policyText);
  assert.ok('quorum' in policy);
  const lines = [9, 8].map((number) => {
    const name = number === 9 ? witnessKey.name : 'w2';
    const parts = { name, key: keyOf(number), logs: [log], clock: { wallMs: () => 1 } };
    return addCheckpoint({ ...parts, stateOf: () => new MemoryFile() }, bodyOf(0, [], note)).body;
  });
  assert.equal(isCosigned(policy, note), false);
  assert.equal(isCosigned(policy, note + (lines[0] ?? '')), false);
  assert.equal(isCosigned(policy, note + lines.join('')), true);
});
