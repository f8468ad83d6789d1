/**
 * What the audit's headline is worth: on Cranfield with damage planted in a known share of the records, over
 * a hundred seeds, its interval covers that share, and on clean records it says that there is no gain. The
 * collection is not part of the project: it is read from a folder next to it.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { native } from '../../src/native/addon.js';
import { auditReport } from '../../src/text/audit.js';
import { projectRoot } from '../support/python.js';
import { sharesOf } from '../vectors/auditCollections.js';

const path = join(projectRoot, '../shared/data/cranfield/docs.jsonl');
const skip = existsSync(path) ? false : 'no ../shared/data/cranfield beside the project';

const SEEDS = 100;
const SAMPLE = 300;

const docs = (): string[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { text: string }).text)
    .filter((text) => text.length > 100);

/** Ways to damage a word. */
const damages: readonly ((text: string) => string)[] = [
  (text) => text.replace(/e/, Buffer.from('é').toString('latin1')),
  (text) => text.replace(/(?<=[a-z])o(?=[a-z])/, 'о'),
  (text) => text.replace(/(?<=[a-z]{2})(?=[a-z]{2})/, '\u200b'),
  (text) => text.replace(/[a-z]/, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0)),
];

function headline(records: string[]) {
  const { findings } = native.auditRecords(records, 'custom', false, 2);
  assert.ok(findings != null);
  return auditReport(findings, {}, { unicode: '', cldr: '' }).headline;
}

/**
 * Damages a word that stands in the record once, so that it is no longer found: another occurrence would
 * still be found by who asks for it. A record without such a word stays as it is.
 */
function damagedBy(damage: (text: string) => string, text: string): string {
  const words = text.match(/[a-z]+/g) ?? [];
  const once = words.find((word) => {
    return word.length >= 4 && damage(word) !== word && words.filter((each) => each === word).length === 1;
  });
  return once === undefined ? text : text.replace(new RegExp(`\\b${once}\\b`), damage(once));
}

/** `SAMPLE` records drawn by chance, each damaged with the chance `share`. */
function drawn(all: readonly string[], share: number, chance: () => number): string[] {
  return Array.from({ length: SAMPLE }, () => {
    const text = all[Math.floor(chance() * all.length)] ?? '';
    if (chance() >= share) return text;
    const damage = damages[Math.floor(chance() * damages.length)] ?? ((same: string) => same);
    const damaged = damagedBy(damage, text);
    assert.notEqual(damaged, text);
    return damaged;
  });
}

test('the interval covers the planted share', { skip }, (context) => {
  const all = docs();
  for (const planted of [0.02, 0.1, 0.3]) {
    let covered = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { low, high } = headline(drawn(all, planted, sharesOf(seed)));
      covered += Number(low <= planted && planted <= high);
    }
    context.diagnostic(`${planted}: covered in ${covered} of ${SEEDS}`);
    assert.ok(covered >= 90, `${planted} is covered in ${covered} of ${SEEDS}`);
    // An interval that is always right would be of no use: at 95 % some must miss.
    assert.ok(covered < SEEDS || planted < 0.05, `${planted} is covered always`);
  }
});

test('on clean records it says that there is no gain', { skip }, (context) => {
  const all = docs();
  let quiet = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { share, sentence } = headline(drawn(all, 0, sharesOf(seed)));
    quiet += Number(share === 0 && sentence.startsWith('No gain: '));
  }
  context.diagnostic(`no gain in ${quiet} of ${SEEDS}`);
  assert.ok(quiet >= 95, `${quiet} of ${SEEDS}`);
});
