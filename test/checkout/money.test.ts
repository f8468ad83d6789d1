/** Money: rounding, texts, and which answers of rate sources are valid. */
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
  // 10,001 times this rate is 1 over a multiple of 10^12: the smallest part of a cent there is.
  const [rate, whole] = [99990001n, 1n];
  assert.equal(rate * 10_001n, whole * 10n ** 12n + 1n);
  assert.equal(centsOf(1n, rate, 1n), whole + 1n);
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
    ['1.999', 199n],
    ['1.', undefined],
    ['.5', undefined],
    [' 1', undefined],
    ['1 ', undefined],
    ['999999999', 99_999_999_900n],
    ['1000000000', undefined],
  ] as const) {
    assert.equal(centsIn(text), cents, text);
  }
});

/** Two sources whose prices the test sets; undefined does not answer. */
function sources(prices: { a?: unknown; b?: unknown }) {
  /** `setMs`: by how much the clock was set; `sleptMs`: how long the machine slept. */
  const time = { ms: 0, setMs: 0, sleptMs: 0, asked: 0 };
  const kept: unknown[] = [];
  const parts: RateParts = {
    clock: { wallMs: () => time.ms + time.setMs, monotonicMs: () => time.ms - time.sleptMs },
    keep: (rate) => kept.push(rate),
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
  return { time, kept, rates: createRates({ kind: 'urls', urls }, parts) };
}

describe('the rate', () => {
  test('is the lower of two that agree', async () => {
    const { rates } = sources({ a: '60000.50', b: 61_000 });
    assert.deepEqual(await rates.current(), { cents: 6_000_050n, source: 'a, b', atMs: 0 });
  });

  test('does not exist if they differ by more than 2 %, or if one gives no price', async () => {
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

  test('is the lower of the two, whichever source gives it, up to a difference of 2 %', async () => {
    for (const [a, b] of [
      [60_000, 61_200],
      [61_200, 60_000],
    ]) {
      const rate = await sources({ a, b }).rates.current();
      assert.equal('cents' in rate && rate.cents, 6_000_000n);
    }
    for (const prices of [
      { a: '60000', b: '61200.01' },
      { a: '61200.01', b: '60000' },
    ]) {
      const rate = await sources(prices).rates.current();
      assert.equal('reason' in rate && rate.reason, 'No rate: the two sources differ by more than 2 %.');
    }
    const same = await sources({ a: 1, b: 1 }).rates.current();
    assert.equal('cents' in same && same.cents, 100n);
  });

  test('ends at once where the sources begin to differ, however fresh it is', async () => {
    const prices: { a?: number; b?: number } = { a: 60_000, b: 60_000 };
    const { rates, time, kept } = sources(prices);
    await rates.current();
    prices.b = 70_000;
    time.ms = 30_000;
    await rates.current(); // Asks; who has a rate does not wait.
    await new Promise((settle) => setImmediate(settle));
    const differing = await rates.current();
    assert.match('reason' in differing ? differing.reason : 'a rate', /differ by more than 2 %/);
    prices.a = 70_000;
    time.ms = 60_000;
    const again = await rates.current();
    assert.equal('cents' in again && again.cents, 7_000_000n);
    assert.deepEqual(kept, [
      { cents: 6_000_000n, atMs: 0, stays: false },
      { cents: 7_000_000n, atMs: 60_000, stays: false },
    ]);
  });

  test('stays in force while a source is silent, as long as it may be used', async () => {
    const prices: { a?: number; b?: number } = { a: 60_000, b: 60_000 };
    const { rates, time } = sources(prices);
    await rates.current();
    delete prices.a;
    time.ms = 30_000;
    await rates.current();
    await new Promise((settle) => setImmediate(settle));
    const still = await rates.current();
    assert.equal('cents' in still && still.atMs, 0);
  });

  test('must be a price at exactly the place that is named', async () => {
    const get = (text: string) =>
      createRates({ kind: 'urls', urls: places }, { clock, get: () => Promise.resolve(text) });
    const clock = { wallMs: () => 0, monotonicMs: () => 0 };
    const places = [
      { name: 'a', url: 'https://x.example/a', pointer: '/a~1b/m~0n' },
      { name: 'b', url: 'https://x.example/b', pointer: '' },
    ] as const;
    for (const text of [
      '5',
      '"5"',
      '{"a/b":{"m~n":5}}',
      '{"a/b":null}',
      '{"a/b":"text"}',
      'not JSON',
      '[5]',
    ]) {
      const rate = await get(text).current();
      const both = text === '5' || text === '"5"';
      const expected = both || text.includes('m~n') ? (both ? 'a' : 'b') : 'a and b';
      assert.equal('reason' in rate && rate.reason, `No rate: ${expected} gave no price.`, text);
    }
    const inherited = [
      { name: 'a', url: 'https://x.example/a', pointer: '/length' },
      { name: 'b', url: 'https://x.example/b', pointer: '/toString/length' },
    ] as const;
    const of = createRates(
      { kind: 'urls', urls: inherited },
      { clock, get: () => Promise.resolve('"text"') },
    );
    const nothing = { reason: 'No rate: a and b gave no price.' };
    assert.deepEqual(await of.current(), nothing);
    const none = createRates({ kind: 'urls', urls: inherited }, { clock, get: () => Promise.resolve('{}') });
    assert.deepEqual(await none.current(), nothing);
  });

  test('is used for ten minutes after the sources fail, and no longer', async () => {
    const prices: { a?: number; b?: number } = { a: 60_000, b: 60_000 };
    const { rates, time } = sources(prices);
    await rates.current();
    delete prices.b;
    time.ms = 599_999;
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

  test('is used no longer if the clock was set back meanwhile, or if the machine slept', async () => {
    for (const [setMs, sleptMs] of [
      [-3_600_000, 0],
      [0, 590_000],
    ] as const) {
      const prices: { a?: number; b?: number } = { a: 60_000, b: 60_000 };
      const { rates, time } = sources(prices);
      await rates.current();
      delete prices.a;
      Object.assign(time, { setMs, sleptMs, ms: 599_999 });
      assert.ok('cents' in (await rates.current()));
      time.ms = 600_000;
      assert.ok('reason' in (await rates.current()));
    }
  });

  test('is asked for at most twice a minute', async () => {
    const { rates, time } = sources({ a: 60_000, b: 60_000 });
    for (time.ms = 0; time.ms < 60_000; time.ms += 1_000) await rates.current();
    assert.equal(time.asked, 4);
    time.ms = 59_999;
    await rates.current();
    assert.equal(time.asked, 4);
    time.ms = 60_000;
    await rates.current();
    assert.equal(time.asked, 6);
  });

  test('is refreshed without a buyer waiting for it if an older one can be shown', async () => {
    let nowMs = 0;
    const waiting: (() => void)[] = [];
    const get = (): Promise<string> =>
      nowMs === 0
        ? Promise.resolve('[60000]')
        : new Promise((answer) => waiting.push(() => answer('[61000]')));
    const clock = { wallMs: () => nowMs, monotonicMs: () => nowMs };
    const urls = [
      { name: 'a', url: 'https://x.example/a', pointer: '/0' },
      { name: 'b', url: 'https://x.example/b', pointer: '/0' },
    ] as const;
    const rates = createRates({ kind: 'urls', urls }, { clock, get });
    await rates.current();
    nowMs = 30_000;
    const shown = await rates.current();
    assert.equal('cents' in shown && shown.cents, 6_000_000n);
    assert.equal(waiting.length, 2, 'the sources were asked all the same');
    for (const answer of waiting) answer();
    await new Promise((settle) => setImmediate(settle));
    const next = await rates.current();
    assert.equal('cents' in next && next.cents, 6_100_000n);
  });

  test('may be fixed', async () => {
    let nowMs = 7;
    const clock = { wallMs: () => nowMs, monotonicMs: () => nowMs };
    const kept: unknown[] = [];
    const rates = createRates(
      { kind: 'fixed', cents: 6_000_000 },
      { clock, get: () => Promise.reject(new Error()), keep: (rate) => kept.push(rate) },
    );
    nowMs = 9_000_000;
    assert.deepEqual(await rates.current(), { cents: 6_000_000n, source: 'fixed', atMs: 7, stays: true });
    assert.deepEqual(kept, [{ cents: 6_000_000n, atMs: 7, stays: true }]);
  });
});
