/** `fusegate models`: installs the real files of the shipped model from a hub, a URL and a folder. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { InstalledModel } from '../../src/models/embedder.js';
import { systemClock } from '../../src/system/clock.js';
import { copiedModel, shippedFolder } from '../support/models.js';
import { closedPort } from '../support/ports.js';
import { run, temporaryFolder } from '../support/run.js';
import { here, type Ended } from '../support/here.js';
import { startHub, type Hub } from './hub.js';

const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const hurried = fileURLToPath(new URL('hurried.js', import.meta.url));

const onnx = readFileSync(join(shippedFolder, 'model.onnx'));
const tokenizer = readFileSync(join(shippedFolder, 'tokenizer.json'));

/** The shipped model as a hub has it. */
const files: Readonly<Record<string, Buffer | string>> = {
  'onnx/model.onnx': onnx,
  'tokenizer.json': tokenizer,
  'config.json': JSON.stringify({ hidden_size: 384, max_position_embeddings: 512, model_type: 'bert' }),
  '1_Pooling/config.json': JSON.stringify({ pooling_mode_mean_tokens: true, pooling_mode_cls_token: false }),
  'sentence_bert_config.json': JSON.stringify({ max_seq_length: 256 }),
};

/** An address at which nothing answers. */
const nobodyThere = `http://127.0.0.1:${await closedPort()}`;

/** An operator with a folder of models. */
class Operator {
  readonly folder = temporaryFolder();
  readonly models = join(this.folder, 'models');
  /** Pauses between two attempts (ms): nobody waits for them here. */
  readonly pausesMs: number[] = [];

  constructor(private readonly hub?: Hub) {}

  private environment(): Record<string, string> {
    return {
      STORE_URL: `lmdb:${this.folder}/store`,
      MODELS_DIR: this.models,
      HF_ENDPOINT: this.hub?.address ?? nobodyThere,
    };
  }

  private async run(file: string, args: readonly string[]): Promise<Ended> {
    const command = run(file, ['models', ...args], this.environment());
    const { code } = await command.ended();
    return { code, output: command.output };
  }

  /** Runs `fusegate models …`, the program. */
  program(...args: readonly string[]): Promise<Ended> {
    return this.run(main, args);
  }

  /** The same without pauses: what it locked is free when it has ended. */
  elsewhere(...args: readonly string[]): Promise<Ended> {
    return this.run(hurried, args);
  }

  /** The command in this process, where loading everything and pauses take no time. */
  fusegate(...args: readonly string[]): Promise<Ended> {
    const sleep = (ms: number): Promise<void> => Promise.resolve(void this.pausesMs.push(ms));
    return here(['models', ...args], this.environment(), { ...systemClock, sleep });
  }

  /** Names in the folder of models. */
  left(): string[] {
    return existsSync(this.models) ? readdirSync(this.models) : [];
  }

  manifest(id: string): Record<string, unknown> {
    return JSON.parse(readFileSync(join(this.models, id, 'fusegate.json'), 'utf8')) as Record<
      string,
      unknown
    >;
  }
}

describe('models add', () => {
  test('installs one commit from the hub; then the model can be listed, verified and removed', async () => {
    const hub = await startHub(files);
    const operator = new Operator(hub);
    const added = await operator.program('add', 'acme/tiny', '--license', 'MIT');
    assert.equal(added.code, 0, added.output);
    assert.match(added.output, /model\.onnx: \d+ of 23 MB/);
    assert.match(added.output, /Installed tiny \(23\.4 MB\) in .*has it after a restart/s);
    const { files: listed, ...facts } = operator.manifest('tiny');
    assert.deepEqual(facts, {
      id: 'tiny',
      kind: 'onnx',
      dimension: 384,
      pooling: 'mean',
      max_tokens: 256,
      query_prefix: '',
      document_prefix: '',
      license: 'MIT',
      provenance: `${hub.address}/acme/tiny at c0ffee`,
    });
    const sha256 = createHash('sha256').update(onnx).digest('hex');
    assert.deepEqual((listed as Record<string, unknown>)['model.onnx'], { bytes: onnx.byteLength, sha256 });
    assert.ok(hub.asked.some((path) => path === '/acme/tiny/resolve/c0ffee/tokenizer.json'));
    assert.deepEqual(operator.left(), ['tiny']);
    assert.deepEqual(readdirSync(join(operator.models, 'tiny')).sort(), [
      'fusegate.json',
      'model.onnx',
      'tokenizer.json',
    ]);

    const list = await operator.program('list');
    assert.match(list.output, /^ {2}tiny +onnx +384 +256 +23\.4 MB {2}MIT\n\* all-MiniLM-L6-v2/m);
    assert.match(list.output, /^ {2}model +kind +dimension +tokens +size +licence\n/);
    assert.match(list.output, /^ {2}static-256 +static +256 +all +8\.0 MB/m);
    const json = JSON.parse((await operator.fusegate('list', '--json')).output) as {
      models: InstalledModel[];
      default: string;
    };
    assert.deepEqual(
      json.models.map(({ id }) => id),
      ['tiny', 'all-MiniLM-L6-v2', 'static-256'],
    );
    assert.equal(json.default, 'all-MiniLM-L6-v2');
    assert.deepEqual(
      json.models.map(({ hubName }) => hubName),
      ['acme/tiny', 'sentence-transformers/all-MiniLM-L6-v2', null],
    );

    const fine = await operator.program('verify');
    assert.match(fine.output, /^ok {5}tiny: .*\nok {5}all-MiniLM-L6-v2: /);
    assert.equal(fine.code, 0);
    truncateSync(join(operator.models, 'tiny', 'model.onnx'), 99);
    const broken = await operator.fusegate('verify', 'tiny');
    assert.match(broken.output, /^WRONG {2}tiny: .*model\.onnx has 99 bytes/);
    assert.equal(broken.code, 1);
    assert.match((await operator.fusegate('list')).output, /^! tiny: .*model\.onnx has 99 bytes/m);

    assert.equal(
      (await operator.fusegate('remove', 'tiny')).output,
      'Removed tiny. A server that runs has it until its restart.\n',
    );
    assert.deepEqual(operator.left(), []);
    assert.match((await operator.fusegate('remove', 'tiny')).output, /There is no installed model tiny/);
    assert.match(
      (await operator.fusegate('remove', 'all-MiniLM-L6-v2')).output,
      /is included in Fusegate and cannot be removed/,
    );
    assert.match((await operator.fusegate('verify', 'tiny')).output, /There is no model tiny/);
  });

  test('resumes after a cut connection, within one run', async () => {
    const cut = { file: 'onnx/model.onnx', afterBytes: 7_000_000, times: 2 };
    const hub = await startHub(files, { cut });
    const operator = new Operator(hub);
    const added = await operator.fusegate('add', 'acme/tiny');
    assert.equal(added.code, 0, added.output);
    const ranges = hub.asked.filter((path) => path.startsWith('/cdn/onnx/model.onnx'));
    const starts = ranges.map((path) => Number(/bytes=(\d+)-/.exec(path)?.[1] ?? 0));
    assert.equal(starts.length, 3);
    assert.ok(
      starts[0] === 0 && starts.every((start, at) => at === 0 || start > (starts[at - 1] ?? 0)),
      starts.join(' '),
    );
    assert.deepEqual(readFileSync(join(operator.models, 'tiny', 'model.onnx')), onnx);
  });

  test('is not removed under a process that installs it; what was received for later is', async () => {
    const cut = { file: 'onnx/model.onnx', afterBytes: 3_000_000, times: 99 };
    const operator = new Operator(await startHub(files, { cut }));
    assert.equal((await operator.elsewhere('add', 'acme/tiny')).code, 1);
    const addon = fileURLToPath(new URL('../../src/native/addon.js', import.meta.url));
    const lock = join(operator.models, '.adding-tiny', 'lock');
    const installing = `
      import { native } from ${JSON.stringify(addon)};
      console.log(native.lockFile(${JSON.stringify(lock)}, String(process.pid)));
      process.stdin.resume();
    `;
    const holder = spawn(process.execPath, ['--input-type=module', '--eval', installing]);
    const [said] = (await once(holder.stdout, 'data')) as [Buffer];
    assert.equal(said.toString(), 'null\n');
    const refused = await operator.elsewhere('remove', 'tiny');
    assert.deepEqual([refused.code, operator.left()], [1, ['.adding-tiny']]);
    assert.equal(refused.output, `Process ${holder.pid} installs tiny at the moment.\n`);
    holder.stdin.end();
    await once(holder, 'exit');
    assert.match((await operator.elsewhere('remove', 'tiny')).output, /^Removed what was received of tiny\./);
    assert.deepEqual(operator.left(), []);
    assert.match((await operator.fusegate('remove', 'tiny')).output, /There is no installed model tiny/);
  });

  test('resumes in the next run, unless the file has changed by then', async () => {
    const cut = { file: 'onnx/model.onnx', afterBytes: 3_000_000, times: 99 };
    const hub = await startHub(files, { cut });
    const operator = new Operator(hub);
    const failed = await operator.elsewhere('add', 'acme/tiny');
    assert.equal(failed.code, 1);
    assert.match(failed.output, /model\.onnx could not be read to its end .*\nNothing was installed\.\n$/s);
    assert.deepEqual(operator.left(), ['.adding-tiny']);
    assert.doesNotMatch((await operator.fusegate('list')).output, /tiny/);
    const had = readFileSync(join(operator.models, '.adding-tiny/model.onnx.part')).byteLength;
    assert.ok(had > 0 && had < onnx.byteLength);

    cut.times = 0;
    const before = hub.asked.length;
    assert.equal((await operator.fusegate('add', 'acme/tiny')).code, 0);
    assert.ok(
      hub.asked.slice(before).some((path) => path.endsWith(` bytes=${had}-`)),
      hub.asked.join('\n'),
    );
    assert.deepEqual(readFileSync(join(operator.models, 'tiny', 'model.onnx')), onnx);

    cut.times = 99;
    assert.equal((await operator.elsewhere('add', 'acme/tiny', '--id', 'next')).code, 1);
    cut.times = 0;
    hub.commit = 'decaf';
    const after = hub.asked.length;
    assert.equal((await operator.fusegate('add', 'acme/tiny', '--id', 'next')).code, 0);
    assert.ok(hub.asked.slice(after).every((path) => !path.includes('bytes=')));
    assert.equal(operator.manifest('next')['provenance'], `${hub.address}/acme/tiny at decaf`);
  });

  test('accepts no file whose digest is wrong', async () => {
    const hub = await startHub(files, { wrongDigest: 'onnx/model.onnx' });
    const operator = new Operator(hub);
    const large = await operator.fusegate('add', 'acme/tiny');
    assert.equal(large.code, 1);
    assert.match(large.output, /does not have the SHA-256 that its hub names; what was received is removed/);
    assert.ok(!existsSync(join(operator.models, '.adding-tiny/model.onnx.part')));
    const small = await startHub(files, { wrongDigest: 'config.json' });
    const second = await new Operator(small).fusegate('add', 'acme/tiny');
    assert.match(second.output, /config\.json does not have the SHA-256/);
    const named = new Operator(await startHub(files));
    const wrong = await named.fusegate('add', 'acme/tiny', '--sha256', '0'.repeat(64));
    assert.match(wrong.output, /does not have the SHA-256 that --sha256 names\.\nNothing was installed/);
    assert.deepEqual(named.left(), []);
    const sha256 = createHash('sha256').update(onnx).digest('hex');
    assert.equal((await named.fusegate('add', 'acme/tiny', '--sha256', sha256.toUpperCase())).code, 0);
  });

  test('tries again while the server is busy, and reports its other answers', async () => {
    const busy = await startHub(files, { status: { file: 'tokenizer.json', status: 503, times: 2 } });
    const patient = new Operator(busy);
    assert.equal((await patient.fusegate('add', 'acme/tiny')).code, 0);
    assert.deepEqual(patient.pausesMs, [500, 1_000]);
    const denied = await startHub(files, { status: { file: 'tokenizer.json', status: 403, times: 9 } });
    const refused = await new Operator(denied).fusegate('add', 'acme/tiny');
    assert.match(refused.output, /tokenizer\.json answers with status 403\.\nNothing was installed/);
    assert.equal(denied.asked.filter((path) => path.endsWith('tokenizer.json')).length, 1);
    const operator = new Operator();
    const nobody = await operator.fusegate('add', 'acme/tiny');
    assert.match(nobody.output, /could not be read to its end \(.*ECONNREFUSED/);
    assert.deepEqual(operator.pausesMs, [500, 1_000, 2_000, 4_000]);
    const closed = await operator.fusegate('add', `${nobodyThere}/x`, '--id', 'closed');
    assert.match(closed.output, /ECONNREFUSED.*\nNothing was installed\.\n$/s);
    assert.deepEqual(operator.left(), []);
  });

  test('installs from a URL and from a folder', async () => {
    const hub = await startHub(files);
    const operator = new Operator(hub);
    const added = await operator.fusegate(
      'add',
      `${hub.address}/plain/`,
      '--id',
      'by-url',
      '--query-prefix',
      'query: ',
    );
    assert.equal(added.code, 0, added.output);
    assert.equal(operator.manifest('by-url')['provenance'], `${hub.address}/plain/`);
    assert.equal(operator.manifest('by-url')['query_prefix'], 'query: ');

    const plain = join(temporaryFolder(), 'plain-model');
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(plain, name)), { recursive: true });
      writeFileSync(join(plain, name), content);
    }
    assert.equal((await operator.fusegate('add', plain)).code, 0);
    assert.equal(operator.manifest('plain-model')['max_tokens'], 256);

    const whole = copiedModel(temporaryFolder(), 'whole', { query_prefix: 'q ', license: 'Apache-2.0' });
    assert.equal((await operator.fusegate('add', whole)).code, 0);
    assert.equal(operator.manifest('whole')['query_prefix'], 'q ');
    const given = ['--max-tokens', '32', '--license', 'MIT', '--query-prefix', '', '--pooling', 'cls'];
    const said = await operator.fusegate('add', whole, '--id', 'said', ...given);
    assert.equal(said.code, 1);
    assert.match(said.output, /says this itself: --pooling, --max-tokens, --query-prefix, --license\./);
    const prefix = await operator.fusegate('add', whole, '--id', 'said', '--document-prefix', 'p ');
    assert.match(prefix.output, /whole has a fusegate\.json, .*: --document-prefix\. Leave it out/);
    truncateSync(join(whole, 'model.onnx'), 5);
    const half = await operator.fusegate('add', whole, '--id', 'half');
    assert.match(half.output, /What was fetched is not what its fusegate\.json says: .*has 5 bytes/);
    assert.deepEqual(operator.left().sort(), ['by-url', 'plain-model', 'whole']);
  });

  test('refuses models that it cannot run, and names that are taken', async () => {
    const without = (name: string) =>
      Object.fromEntries(Object.entries(files).filter(([file]) => file !== name));
    for (const [offered, sentence] of [
      [without('onnx/model.onnx'), /has no ONNX file \(onnx\/model\.onnx or model\.onnx\)/],
      [without('tokenizer.json'), /has no tokenizer\.json/],
      [without('config.json'), /It has no config\.json\./],
      [without('1_Pooling/config.json'), /Set --pooling if you know it/],
      [{ ...files, 'onnx/model.onnx': Buffer.alloc(200_000, 7) }, /cannot be loaded/],
      [
        {
          ...files,
          'sentence_bert_config.json': '{"max_seq_length": 512}',
          'config.json': '{"hidden_size": 768}',
        },
        /no output of 768/,
      ],
    ] as const) {
      const operator = new Operator(await startHub(offered));
      const refused = await operator.fusegate('add', 'acme/tiny');
      assert.equal(refused.code, 1);
      assert.match(refused.output, sentence);
      assert.deepEqual(operator.left(), []);
    }
    const operator = new Operator(await startHub(files));
    assert.equal((await operator.fusegate('add', 'acme/tiny')).code, 0);
    assert.match(
      (await operator.fusegate('add', 'acme/tiny')).output,
      /tiny is installed already\. Remove it first/,
    );
    assert.match(
      (await operator.fusegate('add', 'acme/tiny', '--id', 'all-MiniLM-L6-v2')).output,
      /is included in Fusegate/,
    );
    assert.match(
      (await operator.fusegate('add', 'acme/tiny', '--id', '../up')).output,
      /cannot be a model’s id/,
    );
    assert.match(
      (await operator.fusegate('add', './nowhere')).output,
      /neither a model of a hub .* nor a folder/,
    );
    assert.match(
      (await operator.fusegate('add', 'acme/tiny', '--max-tokens', 'many')).output,
      /must be a whole number/,
    );
  });
});

test('a static model whose files do not match is not used, and the commands say why', async () => {
  const operator = new Operator();
  const folder = join(operator.models, 'lame');
  mkdirSync(folder, { recursive: true });
  const content = { 'vocabulary.txt': 'a\nb\n', 'vectors.i8': '1'.repeat(511) };
  for (const [name, text] of Object.entries(content)) writeFileSync(join(folder, name), text);
  const listed = Object.entries(content).map(([name, text]) => {
    const sha256 = createHash('sha256').update(text).digest('hex');
    return [name, { bytes: text.length, sha256 }];
  });
  const shipped = JSON.parse(readFileSync(join(shippedFolder, 'fusegate.json'), 'utf8')) as object;
  const manifest = {
    ...shipped,
    id: 'lame',
    kind: 'static',
    dimension: 256,
    files: Object.fromEntries(listed) as unknown,
  };
  writeFileSync(join(folder, 'fusegate.json'), JSON.stringify(manifest));
  const { output } = await operator.fusegate('list');
  assert.match(output, /! lame: .*is no static model: its vectors do not fit its vocabulary\./);
  const verified = await operator.fusegate('verify');
  assert.equal(verified.code, 1);
  assert.match(verified.output, /WRONG {2}lame: .*do not fit/);
  assert.match(verified.output, /ok {5}static-256: /);
});
