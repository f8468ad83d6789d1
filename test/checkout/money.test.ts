/** Money: rounding, texts, and what sources of rates may say. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { btcText, centsIn, centsOf } from '../../src/checkout/money.js';
import { createRates, type RateParts } from '../../src/checkout/rates.js';

test('cents are rounded up, never down', () => {
  // 50,000 sat at 60,000 $: 30 $; 10 % more: 33 $.
  assert.equal(centsOf(50_000n, 6_000_000n, 0n), 3_000n);
  assert.equal(centsOf(50_000n, 6_000_000n, 1_000n), 3_300n);
  assert.equal(centsOf(1n, 1n, 0n), 1n);
  assert.equal(centsOf(0n, 6_000_000n, 1_000n), 0n);
  for (let sat = 1n; sat < 10n ** 15n; sat = sat * 7n + 3n) {
    for (const bps of [0n, 1n, 1_000n, 9_999n]) {
      const cents = centsOf(sat, 6_718_733n, bps);
      const exact = sat * 6_718_733n * (10_000n + bps);
      assert.ok(cents * 10n ** 12n >= exact && (cents - 1n) * 10n ** 12n < exact, `${sat} ${bps}`);
    }
  }
});

test('bitcoin have 8 decimals', () => {
  assert.equal(btcText(0n), '0.00000000');
  assert.equal(btcText(1n), '0.00000001');
  assert.equal(btcText(250_000n), '0.00250000');
  assert.equal(btcText(2_100_000_000_000_000n), '21000000.00000000');
});

test('dollars are read exactly', () => {
  for (const [text, cents] of [
    ['67187.335', 6_718_733n],
    ['67187', 6_718_700n],
    ['0.01', 1n],
    ['1.5', 150n],
    ['0', undefined],
    ['0.001', undefined],
    ['', undefined],
    ['-1', undefined],
    ['1e5', undefined],
    ['NaN', undefined],
    ['67,187', undefined],
  ] as const) {
    assert.equal(centsIn(text), cents, text);
  }
});

/** Two sources whose prices the test sets; undefined does not answer. */
function sources(prices: { a?: unknown; b?: unknown }) {
  const time = { ms: 0, asked: 0 };
  const parts: RateParts = {
    clock: { wallMs: () => time.ms, monotonicMs: () => time.ms },
    get(url) {
      time.asked += 1;
      const found = url.endsWith('a') ? prices.a : prices.b;
      if (found === undefined) return Promise.reject(new Error('no answer'));
      return Promise.resolve(JSON.stringify({ data: { amount: found }, '~/': [{ last: found }] }));
    },
  };
  const urls = [
    { name: 'a', url: 'https://x.example/a', pointer: '/data/amount' },
    { name: 'b', url: 'https://x.example/b', pointer: '/~0~1/0/last' },
  ] as const;
  return { time, rates: createRates({ kind: 'urls', urls }, parts) };
}

describe('the rate', () => {
  test('is the lower of two that agree', async () => {
    const { rates } = sources({ a: '60000.50', b: 61_000 });
    assert.deepEqual(await rates.current(), { cents: 6_000_050n, source: 'a, b', atMs: 0 });
  });

  test('is none when they differ by more than 2 %, or one says nothing', async () => {
    for (const [prices, reason] of [
      [{ a: 60_000, b: 61_201 }, /differ by more than 2 %/],
      [{ a: 60_000 }, /b gave no price/],
      [{ a: null, b: 'soon' }, /a and b gave no price/],
      [{ a: -1, b: 60_000 }, /a gave no price/],
    ] as const) {
      const rate = await sources(prices).rates.current();
      assert.match('reason' in rate ? rate.reason : 'a rate', reason);
    }
    assert.ok('cents' in (await sources({ a: 60_000, b: 61_200 }).rates.current()));
  });

  test('is used for ten minutes after the sources have gone, and no longer', async () => {
    const prices: { a?: number; b?: number } = { a: 60_000, b: 60_000 };
    const { rates, time } = sources(prices);
    await rates.current();
    delete prices.b;
    time.ms = 599_000;
    const aged = await rates.current();
    assert.equal('atMs' in aged && aged.atMs, 0);
    time.ms = 600_000;
    const gone = await rates.current();
    assert.match('reason' in gone ? gone.reason : 'a rate', /b gave no price/);
    prices.b = 60_000;
    time.ms = 640_000;
    const back = await rates.current();
    assert.equal('atMs' in back && back.atMs, 640_000);
  });

  test('is asked for at most twice a minute', async () => {
    const { rates, time } = sources({ a: 60_000, b: 60_000 });
    for (time.ms = 0; time.ms < 60_000; time.ms += 1_000) await rates.current();
    assert.equal(time.asked, 4);
  });

  test('may be fixed', async () => {
    const clock = { wallMs: () => 7, monotonicMs: () => 7 };
    const rates = createRates(
      { kind: 'fixed', cents: 6_000_000 },
      { clock, get: () => Promise.reject(new Error()) },
    );
    assert.deepEqual(await rates.current(), { cents: 6_000_000n, source: 'fixed', atMs: 7 });
  });
});
