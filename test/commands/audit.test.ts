/** `fusegate audit` as a program: POST /v1/audit's figures, the report, and its error messages. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AuditResponse } from '../../src/contract/audit.js';
import { native } from '../../src/native/addon.js';
import { answerAudit } from '../../src/text/auditAnswer.js';
import { projectRoot } from '../support/python.js';
import { temporaryFolder } from '../support/run.js';

const folder = temporaryFolder();

function audit(...args: readonly string[]) {
  const command = ['dist/src/main.js', 'audit', ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, {
    cwd: projectRoot,
    maxBuffer: 64 << 20,
  });
  return { code: status, text: stdout.toString(), said: stderr.toString() };
}

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

test('figures are those of POST /v1/audit on the same text', () => {
  const text = 'id,name\n1,CafÃ© ada@example.com\n2,plain\n3,I ❤️ it\n4,plain\n';
  const options = [
    '--stack',
    'qdrant',
    '--vertical',
    'retail',
    '--monthly-queries',
    '500',
    '--use-case',
    'rag',
  ];
  const { code, text: printed } = audit(file('small.csv', text), '--json', ...options);
  assert.equal(code, 0);
  const request = { text, stack: 'qdrant', vertical: 'retail', monthly_queries: 500, use_case: 'rag' };
  const answer = answerAudit(Buffer.from(JSON.stringify(request)), native, 1);
  assert.ok('report' in answer);
  assert.deepEqual(JSON.parse(printed), JSON.parse(JSON.stringify(answer.report)));
});

test('the report is written where asked for, and nowhere else', () => {
  const path = file('lines.txt', 'CafÃ©\nplain\n');
  const report = join(folder, 'report.html');
  const { code, text } = audit(path, '--report', report, '--company', 'Ex<b>ample');
  assert.equal(code, 0);
  assert.match(
    text,
    /^50\.0 % of the records \(1 of 2; .*\n.*\n {2}Mojibake +50\.00 % +1\nThe report is in /,
  );
  assert.match(readFileSync(report, 'utf8'), /<h1>Search audit for Ex&lt;b&gt;ample<\/h1>/);
  const silent = audit(path, '--json');
  assert.equal((JSON.parse(silent.text) as AuditResponse).html, null);
  assert.equal(existsSync(join(projectRoot, 'lines.audit.html')), false);
});

test('a file of many parts, in each format, counts every record', () => {
  const count = 400_000;
  const rows = Array.from({ length: count }, (_, at) =>
    at % 100 === 0 ? `CafÃ© number ${at}` : `plain number ${at}`,
  );
  const texts: Record<string, string> = {
    'big.txt': `${rows.join('\n')}\n`,
    'big.csv': `name,n\n${rows.map((row, at) => `"${row}",${at}`).join('\n')}\n`,
    'big.jsonl': `${rows.map((row) => JSON.stringify({ row })).join('\n')}\n`,
    'big.json': JSON.stringify(rows),
  };
  for (const [name, text] of Object.entries(texts)) {
    const { code, text: printed, said } = audit(file(name, text), '--json');
    assert.equal(code, 0, said);
    const { records, issues } = JSON.parse(printed) as AuditResponse;
    const found = issues.filter(({ count: each }) => each > 0).map(({ issue, count: each }) => [issue, each]);
    assert.deepEqual([records, found], [count, [['mojibake', count / 100]]], name);
    assert.match(said, /^audit: \d+ of \d+ (kB|MB)\n/);
  }
});

test('the progress of a small file is reported in bytes', () => {
  assert.equal(audit(file('small.txt', 'abc\n'), '--json').said, 'audit: 4 of 4 bytes\n');
});

test('what is wrong is said in a sentence, with exit code 1', () => {
  const cases: [string, readonly string[], RegExp][] = [
    [join(folder, 'none.csv'), [], /none\.csv cannot be read \(ENOENT.+\)\.\n$/],
    [folder, [], /cannot be read \(it is a folder\)\.\n$/],
    [
      file('open.csv', 'a,b\n1,"2\n'),
      ['--format', 'csv'],
      /a quoted field of the row on line 2 is not closed\.\n$/,
    ],
    [file('ragged.csv', 'a,b\n1,2\n1,2,3\n'), ['--format', 'csv'], /the row on line 3 has 3 fields/],
    [file('latin.txt', Buffer.from([0x61, 0xe9, 0x62])), [], /not UTF-8 at byte 1\.\n$/],
    [file('utf16.txt', Buffer.from('\ufeffabc', 'utf16le')), [], /this is UTF-16; save it as UTF-8\.\n$/],
    [file('x.json', '["a", '), ['--format', 'json'], /not JSON at byte 6\.\n$/],
    [file('ok.txt', 'a\n'), ['--report', join(folder, 'no/such/folder.html')], /cannot be written/],
  ];
  for (const [path, args, said] of cases) {
    const result = audit(path, ...args);
    assert.deepEqual([result.code, result.text], [1, ''], path);
    assert.match(result.said, said);
  }
  for (const args of [
    ['--aov-usd', '-1'],
    ['--monthly-queries', '1.5'],
    ['--use-case', 'x'],
    ['--months-running', ''],
  ]) {
    assert.notEqual(audit(file('ok.txt', 'a\n'), ...args).code, 0, args.join(' '));
  }
});
