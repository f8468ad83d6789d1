/** Which surroundings of a server give an attacker more than necessary. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exposures } from '../../src/commands/exposure.js';

test('running as root, and metrics on an outside address, are reported', () => {
  assert.deepEqual(exposures({ host: '0.0.0.0', metricsPort: 0 }, false), []);
  for (const host of ['127.0.0.1', 'localhost', '::1']) {
    assert.deepEqual(exposures({ host, metricsPort: 9_090 }, false), [], host);
  }
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'shop.example']) {
    const [metrics, ...others] = exposures({ host, metricsPort: 9_090 }, false);
    assert.ok(metrics?.startsWith(`Anyone who reaches ${host}:9090 reads the metrics`), host);
    assert.deepEqual(others, []);
  }
  assert.match(exposures({ host: '127.0.0.1', metricsPort: 0 }, true).join(), /^It runs as root/);
});
