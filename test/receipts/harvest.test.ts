/** POST /harvest through HTTP: valid and broken markers, each treated separately. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HarvestResponse } from '../../src/contract/harvest.js';
import type { ReceiptResponse } from '../../src/contract/receipt.js';
import { openTestStore } from '../support/serving.js';
import { placesOf, startDoor, type DoorAnswer } from '../support/door.js';

const store = await openTestStore();
const door = await startDoor({ store });

let count = 0;
const shard = (more: Readonly<Record<string, unknown>> = {}): string => {
  count += 1;
  return JSON.stringify({ title: `Shard ${count}`, content: `What shard ${count} says.`, ...more });
};
const plain = (json: string): string => `<<SHARD>>${json}<</SHARD>>`;

async function harvest(text: string, mind?: string | null): Promise<HarvestResponse> {
  const answer = await door.post<HarvestResponse>('/harvest', { text, mind });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const { found, admitted, duplicates, rejected, results } = answer.body;
  assert.equal(found, admitted + duplicates + rejected);
  assert.deepEqual(
    results.map(({ index }) => index),
    results.map((_, index) => index),
  );
  for (const item of results) {
    assert.equal(item.ok, item.receipt !== undefined && item.error === undefined && item.status !== null);
  }
  return answer.body;
}

const counts = ({ found, admitted, duplicates, rejected }: HarvestResponse): number[] => [
  found,
  admitted,
  duplicates,
  rejected,
];

test('every marker counts, and the next harvest waits for those beyond the limit', async () => {
  const own = await startDoor({ store: await openTestStore(), routeLimits: { markers: 60 } });
  const many = await own.post<HarvestResponse>('/harvest', { text: plain('not JSON').repeat(120) });
  assert.deepEqual([many.status, many.body.rejected], [200, 120]);
  const next = await own.post<{ code: string }>('/harvest', { text: 'no marker' });
  assert.deepEqual([next.status, next.body.code], [429, 'rate_limited']);
});

describe('markers', () => {
  test('in both forms are stored under the mind that wrote them', async () => {
    const first = plain(shard({ kind: 'bridge', visitor: 'not me' }));
    const text = `Thoughts: ${first} and\n<<<SHARD ${shard()} SHARD>>>.`;
    const answer = await harvest(text, 'Claude');
    assert.deepEqual(counts(answer), [2, 2, 0, 0]);
    for (const [
      index,
      { receipt = '', content_sha256, stored_envelope_sha256 },
    ] of answer.results.entries()) {
      const { body } = await door.get<ReceiptResponse>(`/receipt/${receipt}`);
      assert.deepEqual(
        [body.fragment?.visitor, body.fragment?.kind],
        ['Claude', index === 0 ? 'BRIDGE' : ''],
      );
      assert.deepEqual(
        [body.content_sha256, body.stored_envelope_sha256],
        [content_sha256, stored_envelope_sha256],
      );
    }
  });

  test('twice in a text or sent again are duplicates of the first', async () => {
    const one = plain(shard());
    const first = await harvest(`${one}${one}`);
    assert.deepEqual(
      first.results.map(({ status }) => status),
      ['quarantined', 'duplicate'],
    );
    assert.equal(first.results[0]?.receipt, first.results[1]?.receipt);
    assert.deepEqual(counts(await harvest(one)), [1, 0, 1, 0]);
  });

  test('of a probing mind are probes', async () => {
    const { results } = await harvest(plain(shard()), 'probe:nightly');
    assert.equal(results[0]?.status, 'probe');
  });

  test('may have braces and markers in their strings', async () => {
    const inner = plain(shard());
    const answer = await harvest(plain(shard({ content: `}{"]${inner}<</SHARD>>` })));
    assert.deepEqual(counts(answer), [1, 1, 0, 0]);
  });

  test('that are broken are reported one by one, and do not affect the others', async () => {
    const broken: readonly (readonly [string, RegExp])[] = [
      [`<<SHARD>>{"title":"a"`, /refused 22 characters in: syntax/],
      [`<<SHARD>>${shard()}`, /no closing/],
      [`<<SHARD>>${shard()}SHARD>>>`, /no closing/],
      [`<<<SHARD ${shard()}<</SHARD>>`, /no closing/],
      ['<<SHARD>><</SHARD>>', /no JSON object/],
      [plain('[]'), /no JSON object/],
      [plain('"text"'), /no JSON object/],
      [plain('{}'), /title: Field required; content: Field required/],
      [plain('{"title":"","content":"c"}'), /title: .*must not be empty/],
      [plain('{"title":"\\ud800","content":"c"}'), /lone surrogate/],
      [plain('{"title":1,"content":null}'), /title: .*string; content: .*string/],
      [plain(shard({ title: 't'.repeat(101) })), /title: String should have at most 100 characters/],
      [plain(shard({ kind: 'k'.repeat(33) })), /kind: String should have at most 32 characters/],
      [plain(`{"title":"t","content":"c","x":${'['.repeat(200)}}`), /nesting over 128/],
    ];
    const text = broken.map(([marker]) => `${marker} ${plain(shard())} `).join('');
    const answer = await harvest(text);
    assert.deepEqual(counts(answer), [2 * broken.length, broken.length, 0, broken.length]);
    broken.forEach(([marker, pattern], index) => {
      const item = answer.results[2 * index];
      assert.equal(item?.ok, false, marker);
      assert.match(item.error ?? '', pattern);
      const at = Array.from(text.slice(0, text.indexOf(marker))).length;
      assert.ok(item.error?.startsWith(`Marker ${2 * index} (at character ${at}): `), item.error);
      assert.deepEqual([item.status, item.receipt, item.content_sha256], [null, undefined, null]);
      assert.equal(answer.results[2 * index + 1]?.status, 'quarantined');
    });
  });

  test('nested: the outer is broken, the inner is stored', async () => {
    assert.deepEqual(counts(await harvest(`<<SHARD>>{"a":${plain(shard())}}<</SHARD>>`)), [2, 1, 0, 1]);
  });

  test('with unknown fields are stored without them', async () => {
    assert.deepEqual(counts(await harvest(plain(shard({ tags: ['a'], confidence: 0.9 })))), [1, 1, 0, 0]);
  });

  test('of an unknown kind are stored as HYPOTHESIS', async () => {
    const { results } = await harvest(plain(shard({ kind: 'epiphany' })) + plain(shard({ kind: 'bridge' })));
    assert.match(results[0]?.warning ?? '', /^kind "epiphany" is not one of BRIDGE, COUNTEREXAMPLE, /);
    assert.equal(results[1]?.ok === true && !('warning' in results[1]), true);
    const { body } = await door.get<ReceiptResponse>(`/receipt/${results[0]?.receipt ?? ''}`);
    assert.equal(body.fragment?.kind, 'HYPOTHESIS');
  });
});

describe('a text', () => {
  test('without markers has none', async () => {
    for (const text of ['', 'nothing here', '<<SHARD', '<</SHARD>>']) {
      assert.deepEqual(counts(await harvest(text)), [0, 0, 0, 0]);
    }
  });

  test('of 4,876 empty markers has each of them rejected', async () => {
    const empty = '<<SHARD>> <</SHARD>> ';
    const answer = await harvest(empty.repeat(4_876));
    assert.deepEqual(counts(answer), [4_876, 0, 0, 4_876]);
  });

  test('of as many valid markers as fit has all of them stored', async () => {
    let text = '';
    let markers = 0;
    for (;;) {
      const next = plain(`{"title":"${markers.toString(36)}","content":"-"}`);
      if (text.length + next.length > 102_400) break;
      text += next;
      markers += 1;
    }
    assert.ok(markers > 2_000);
    assert.deepEqual(counts(await harvest(text)), [markers, markers, 0, 0]);
    assert.deepEqual(counts(await harvest(text)), [markers, 0, markers, 0]);
  });

  test('has at most 102,400 characters, whatever their width; a mind at most 100', async () => {
    for (const character of ['a', '漢', '😀']) {
      assert.deepEqual(counts(await harvest(character.repeat(102_400), '😀'.repeat(100))), [0, 0, 0, 0]);
    }
    const refused = async (body: unknown): Promise<string[]> => {
      const answer: DoorAnswer = await door.post('/harvest', body);
      assert.equal(answer.status, 422);
      return placesOf(answer);
    };
    assert.deepEqual(await refused({ text: '😀'.repeat(102_401) }), ['string_too_long body.text']);
    assert.deepEqual(await refused({ text: '', mind: 'm'.repeat(101) }), ['string_too_long body.mind']);
    assert.deepEqual(await refused({ mind: 1 }), ['missing body.text', 'string_type body.mind']);
  });

  test('may come as escapes of surrogate pairs', async () => {
    const answer = await door.post<HarvestResponse>(
      '/harvest',
      `{"text":"${'\\uD83D\\uDE00'.repeat(102_400)}"}`,
    );
    assert.deepEqual([answer.status, answer.body.found], [200, 0]);
  });
});
