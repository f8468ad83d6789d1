/** Settings of the fragment door. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfiguration } from '../../src/configuration.js';

test('the disk space of all fragments is unlimited at 0, and otherwise at most a million GB', () => {
  const read = (DOOR_MAX_GB: string) => readConfiguration({ DOOR_MAX_GB }, { platform: 'linux', cores: 1 });
  for (const right of [0, 1_000_000]) {
    const found = read(String(right));
    assert.ok('configuration' in found);
    assert.equal(found.configuration.doorMaxGb, right);
  }
  const found = read('1000001');
  assert.ok('errors' in found);
  assert.match(found.errors.join(), /^DOOR_MAX_GB must be a whole number from 0 to 1000000/);
});
