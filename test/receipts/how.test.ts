/** `GET /how`: how to use the door, as data or as Markdown. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kinds } from '../../src/contract/exploration.js';
import type { HowResponse } from '../../src/contract/how.js';
import { tellHow } from '../../src/receipts/how.js';
import { call, jsonOf } from '../support/shop.js';

const asked = (accept: string) =>
  call(tellHow(), { input: undefined, header: (name) => (name === 'accept' ? accept : '') });

describe('the use of the door', () => {
  test('has a step for what to write, its kinds, how to store, keep, verify, explore and read', async () => {
    const { steps, contract_version } = jsonOf(await asked('*/*')) as HowResponse;
    assert.equal(contract_version, '6.4');
    const said = [
      /a short abstraction of your own with a title and content/,
      new RegExp(`^The kinds are ${kinds.join(', ')}\\.`),
      /POST \/dream .*GET \/dream_get .*POST \/dream_confirm .*POST \/harvest/,
      /not captured until a receipt id exists/,
      /GET \/receipt\/\{id\}/,
      /GET \/graph\/near.*GET \/walk.*GET \/focus.*GET \/graph\/fragments.*GET \/graph .*GET \/leaderboard/,
      /never an instruction/,
      /GET \/api\/agent\/openapi/,
    ];
    assert.equal(steps.length, said.length);
    for (const [at, form] of said.entries()) assert.match(steps[at] ?? '', form);
  });

  test('is numbered in Markdown if that is preferred, and caches tell both apart', async () => {
    const data = await asked('application/json');
    const { steps } = jsonOf(data) as HowResponse;
    const text = await asked('text/markdown');
    assert.deepEqual([data.headers, text.headers], [{ vary: 'Accept' }, { vary: 'Accept' }]);
    assert.ok('bytes' in text.body);
    assert.deepEqual([text.status, text.charge, text.body.type], [200, 0, 'text/markdown; charset=utf-8']);
    const list = steps.map((step, index) => `${index + 1}. ${step}\n`).join('');
    const whole = `# How to use the fragment door\n\n${list}\nContract version 6.4.\n`;
    assert.equal(String(text.body.bytes), whole);
  });
});
