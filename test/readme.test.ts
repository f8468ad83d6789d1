/** Every command of README.md is run as written, and every answer in it is compared with the real one. */
import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from './support/ports.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** Code blocks in order. */
const blocks = [...readme.matchAll(/^```(\w+)\n(.*?)^```/gms)].map((match) => ({
  language: match[1] ?? '',
  text: (match[2] ?? '').trim(),
}));
const commands = blocks.flatMap(({ language, text }, at) => {
  const next = blocks[at + 1];
  if (language !== 'sh') return [];
  const shown = (wanted: string) => (next?.language === wanted ? next.text : undefined);
  return [{ text, answer: shown('json'), output: shown('text') }];
});

/** Commands that install, or run these tests: continuous integration runs them on a clean clone. */
const elsewhere: ReadonlySet<string> = new Set(['npm install && npm start', 'npm install && npm test']);

describe('README', () => {
  let server: ChildProcess;
  let port = 0;
  const folder = mkdtempSync(join(tmpdir(), 'fusegate-readme-'));

  const environment = (): NodeJS.ProcessEnv => ({
    ...process.env,
    PORT: String(port),
    WORKERS: '1',
    STORE_URL: `lmdb:${join(folder, 'data/store')}`,
  });

  before(async () => {
    port = await freePort();
    server = spawn('npm', ['start'], {
      cwd: root,
      env: environment(),
      stdio: 'ignore',
      detached: true,
    });
    for (let tries = 0; tries < 150; tries++) {
      const answered = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined);
      if (answered?.status === 200) return;
      await sleep(200);
    }
    assert.fail('npm start did not serve');
  });

  after(() => {
    if (server.pid !== undefined) process.kill(-server.pid, 'SIGTERM');
    rmSync(folder, { recursive: true, force: true });
  });

  for (const { text, answer, output } of commands) {
    test(text.split('\n')[0] ?? '', async () => {
      if (elsewhere.has(text)) {
        const integration = readFileSync(join(root, '.ci/run'), 'utf8');
        assert.match(integration, text.endsWith('start') ? /npm start/ : /&& .*npm test/);
        return;
      }
      assert.match(text, /^(curl|npx fusegate) /, 'a command that this test knows how to run');
      const here = text.replaceAll(':8080', `:${port}`).replaceAll('/var/backups', folder);
      const { stdout } = await run('bash', ['-ec', here], { cwd: root, env: environment() });
      assert.notEqual(stdout, '');
      if (answer !== undefined) assert.deepEqual(JSON.parse(stdout), JSON.parse(answer));
      if (output !== undefined) assert.equal(stdout.trim(), output);
    });
  }

  test('shows an answer for every request it makes', () => {
    const silent = commands.filter(
      ({ text, answer, output }) => text.includes('/v1/') && answer === undefined && output === undefined,
    );
    assert.deepEqual(silent, []);
    assert.ok(commands.length >= 6);
  });
});
