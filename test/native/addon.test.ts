/** How the native module is found: the built one, a package's, or else a sentence that says what to do. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadNative } from '../../src/native/addon.js';
import { prebuiltPackage } from '../../src/native/machine.js';

const real = fileURLToPath(new URL('../../native/fusegate.node', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'fusegate-addon-'));
after(() => rmSync(folder, { recursive: true }));

/** A file that no system loads. */
const broken = join(folder, 'broken.node');
writeFileSync(broken, 'not a library');
/** A module at another path than the built one, as a package has it. */
const prebuilt = join(folder, 'prebuilt.node');
copyFileSync(real, prebuilt);
const absent = join(folder, 'absent.node');

describe('the native module', () => {
  test('is the one that the working tree built', () => {
    assert.equal(typeof loadNative(real, absent).version(), 'string');
  });

  test("is a package's if nothing was built, or if what was built does not load", () => {
    assert.equal(loadNative(absent, prebuilt).version(), loadNative(real, absent).version());
    assert.equal(loadNative(broken, prebuilt).version(), loadNative(real, absent).version());
  });

  test('if none is there, the sentence names the machine, the package and the way to build', () => {
    assert.throws(
      () => loadNative(absent, '@fusegate/no-such-package'),
      (error: Error) => {
        const machine = `${process.platform}-${process.arch}`;
        assert.match(error.message, new RegExp(`loads on ${machine} with .*: none is installed`));
        assert.match(error.message, /@fusegate\/no-such-package\).*npm install && npm run build$/s);
        return true;
      },
    );
  });

  test("if one is there and does not load, the sentence has the loader's words", () => {
    assert.throws(
      () => loadNative(absent, broken),
      (error: Error) => error.message.includes(broken) && !error.message.includes('none is installed'),
    );
  });

  test('packages are named by system, processor and C library', () => {
    assert.equal(prebuiltPackage('linux', 'arm64'), '@fusegate/linux-arm64-gnu');
    assert.equal(prebuiltPackage('darwin', 'arm64'), '@fusegate/darwin-arm64');
  });
});
