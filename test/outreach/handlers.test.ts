/** The handlers on a store that fails, and the bots, prefetches and HEADs of the redirect. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { storeUnavailable } from '../../src/contract/answer.js';
import type { Answer, Handler } from '../../src/contract/exchange.js';
import type { DeliveryModelsResponse } from '../../src/contract/delivery.js';
import { click } from '../../src/outreach/click.js';
import { deliveryInterest, deliveryModels } from '../../src/outreach/delivery.js';
import { noOperator, parseOperator } from '../../src/outreach/operator.js';
import { leads } from '../../src/outreach/leads.js';
import { optOut, optoutState, unsubscribe } from '../../src/outreach/optout.js';
import { clickToken, optoutToken } from '../../src/outreach/tokens.js';
import type { Click } from '../../src/store/tables/clicks.js';
import { interestsAfter } from '../../src/store/tables/interests.js';
import { leadsAfter } from '../../src/store/tables/leads.js';
import { findOptout } from '../../src/store/tables/optouts.js';
import { FailingStore, openTestStore, request, secrets } from '../support/serving.js';
import { collect } from '../support/collect.js';
import { whenUnavailable } from '../../src/store/store.js';

async function answerOf(handler: Handler<never>, given: unknown): Promise<Answer> {
  const ask = async (): Promise<Answer> => handler(given as never);
  return whenUnavailable(ask(), storeUnavailable);
}

function jsonOf(answer: Answer): unknown {
  assert.ok('json' in answer.body);
  return answer.body.json;
}

const clock = { wallMs: () => Date.UTC(2026, 10, 21, 9, 30) };

const failing = new FailingStore(await openTestStore());

describe('storing', () => {
  const parts = { store: failing.seen, clock, secrets };
  const link = { e: 'Ada@Example.com', t: optoutToken(secrets[1], 'ada@example.com') };

  test('absent fields are null, and the others are stored unchanged', async () => {
    const email = '  ODD address\u0000😀 ';
    const lead = jsonOf(await answerOf(leads(parts), request({ input: { email, source: null } })));
    const { id } = lead as { id: string };
    assert.deepEqual(lead, { ok: true, id, received_at: '2026-11-21T09:30:00.000Z' });
    assert.match(id, /^lead_[0-9a-f]{32}$/);
    const kept = (await collect(leadsAfter(failing.seen, 0))).map(({ value }) => value);
    const none = { tier: null, message: null, source: null, segment: null, campaign: null, eventId: null };
    assert.deepEqual(kept, [{ id, receivedAtMs: Date.UTC(2026, 10, 21, 9, 30), email, ...none }]);
    assert.equal((await answerOf(leads(parts), request({ input: { email } }))).status, 200);
    const { id: other, ...bare } =
      (await collect(leadsAfter(failing.seen, 0))).at(-1)?.value ?? assert.fail();
    assert.deepEqual(bare, { receivedAtMs: Date.UTC(2026, 10, 21, 9, 30), email, ...none }, other);
  });

  test('a lead is stored completely', async () => {
    const rest = { source: 's', segment: 'g', campaign: 'c' };
    const input = { email: 'a@b', tier: 'growth', message: 'm', ...rest, event_id: 'e' } as const;
    const answer = await answerOf(leads(parts), request({ input }));
    assert.equal(answer.status, 200);
    const kept = (await collect(leadsAfter(failing.seen, 0))).at(-1)?.value;
    const { tier, message, source, segment, campaign, eventId } = kept ?? assert.fail('there is no lead');
    assert.deepEqual([tier, message], ['growth', 'm']);
    assert.deepEqual({ source, segment, campaign, eventId }, { ...rest, eventId: 'e' });
  });

  test('an interest is stored completely, and its answer promises nothing automatic', async () => {
    const texts = {
      company: 'c',
      cloud: 'any cloud',
      monthly_chars: 'm',
      timeline: 'some day',
      compliance: 'x',
    };
    const rest = { message: 'm', source: 's', segment: 'g', campaign: 'c', event_id: 'e' };
    const input = { email: 'a@b', delivery_model: 'self_hosted_appliance', ...texts, ...rest } as const;
    const body = jsonOf(await answerOf(deliveryInterest(parts, noOperator), request({ input })));
    const { id, next_step, ...others } = body as { id: string; next_step: string };
    assert.deepEqual(others, {
      ok: true,
      received_at: '2026-11-21T09:30:00.000Z',
      delivery_model: 'self_hosted_appliance',
    });
    assert.match(next_step, /^A human .* replies/);
    const kept = (await collect(interestsAfter(failing.seen, 0))).map(({ value }) => value);
    const { monthly_chars, event_id, delivery_model, ...same } = input;
    const renamed = { monthlyChars: monthly_chars, eventId: event_id, deliveryModel: delivery_model };
    assert.deepEqual(kept, [{ id, receivedAtMs: Date.UTC(2026, 10, 21, 9, 30), ...same, ...renamed }]);
  });

  test('a failing store is a 503 that asks to try again, and never a 200', async () => {
    failing.failure = 'written';
    const interest = request({ input: { email: 'a@b', delivery_model: 'oem_embedded' } });
    for (const answer of [
      await answerOf(leads(parts), request({ input: { email: 'a@b' } })),
      await answerOf(deliveryInterest(parts, noOperator), interest),
      await answerOf(unsubscribe(parts), request({ input: undefined, query: link })),
    ]) {
      assert.equal(answer.status, 503);
      assert.deepEqual(answer.headers, { 'retry-after': '1' });
      const { detail, code } = jsonOf(answer) as { detail: string; code: string };
      assert.equal(code, 'store_unavailable');
      assert.match(detail, /Try again shortly\.$/);
    }
    const bad = await answerOf(unsubscribe(parts), request({ input: undefined, query: { ...link, t: 'x' } }));
    assert.deepEqual([bad.status, jsonOf(bad)], [200, { ok: true, unsubscribed: false }]);
    const state = await optoutState(parts)(request({ input: undefined, query: link }));
    assert.equal(state.kind, 'subscribed', 'the page offers its button all the same');
    failing.failure = undefined;
  });

  test('opting out is idempotent, and its state is told', async () => {
    const state = () => optoutState(parts)(request({ input: undefined, query: link }));
    assert.deepEqual(await state(), { kind: 'subscribed', email: 'Ada@Example.com' });
    for (let times = 0; times < 3; times += 1) {
      const answer = await answerOf(unsubscribe(parts), request({ input: undefined, query: link }));
      assert.deepEqual(jsonOf(answer), { ok: true, unsubscribed: true });
    }
    assert.deepEqual(await state(), { kind: 'unsubscribed', email: 'Ada@Example.com' });
    const nothing = await optoutState(parts)(request({ input: undefined }));
    assert.deepEqual(nothing, { kind: 'bad_link' });
  });

  test('opting out says whose mail stops, and records when; a link without its token does not', async () => {
    const email = 'grace@example.com';
    const query = { e: email, t: optoutToken(secrets[1], email) };
    for (const bad of [{}, { e: email }, { ...query, t: 'x' }]) {
      assert.deepEqual(await optOut(parts)(request({ input: undefined, query: bad })), { kind: 'bad_link' });
    }
    assert.equal(await findOptout(failing.seen, secrets, email), undefined);
    const state = await optOut(parts)(request({ input: undefined, query }));
    assert.deepEqual(state, { kind: 'unsubscribed', email });
    const found = await findOptout(failing.seen, secrets, email);
    assert.equal(found?.optedOutAtMs, Date.UTC(2026, 10, 21, 9, 30));
  });
});

test('the catalogue has three entries, none of which can be bought here', () => {
  const { models } = jsonOf(deliveryModels(noOperator)()) as DeliveryModelsResponse;
  assert.deepEqual(
    models.map((model) => model.delivery_model),
    ['dedicated_byoc', 'self_hosted_appliance', 'oem_embedded'],
  );
  for (const model of models) {
    const { availability, self_service, price_is_indicative } = model;
    assert.deepEqual([availability, self_service, price_is_indicative], ['by_agreement_scoped', false, true]);
    assert.match(model.price_indicative, /No price is published .* agreed with its operator/);
    assert.ok(model.summary.length > 40 && model.suited_for.length >= 1 && model.what_you_get.length >= 1);
  }
  assert.doesNotMatch(JSON.stringify(models), /US\$|\d|\b[Ww]e\b/, 'no price and no promise of a vendor');
});

describe('the operator’s file', () => {
  const parts = { store: failing.seen, clock, secrets };
  const example = (): string => {
    const guide = readFileSync('docs/outreach.md', 'utf8');
    return /```json\n(\{\n {2}"name"[^]*?)```/.exec(guide)?.[1] ?? '';
  };

  test('the example of the guide is valid, and the catalogue and the answer use its texts', async () => {
    const read = parseOperator(example());
    if ('wrong' in read) assert.fail(read.wrong);
    const { operator } = read;
    const { models } = jsonOf(deliveryModels(operator)()) as DeliveryModelsResponse;
    const said = operator.delivery_models.self_hosted_appliance;
    assert.ok(said?.price_indicative !== undefined);
    const shown = models.find(({ delivery_model: id }) => id === 'self_hosted_appliance');
    assert.equal(shown?.price_indicative, said.price_indicative);
    assert.equal(shown.price_is_indicative, true);
    assert.equal(models.length, 3);
    const input = { email: 'a@example.com', delivery_model: 'oem_embedded' } as const;
    const answer = jsonOf(await answerOf(deliveryInterest(parts, operator), request({ input })));
    assert.match(JSON.stringify(answer), /A human reads this and replies/);
    assert.ok(JSON.stringify(answer).includes(operator.next_step ?? 'nothing'));
  });

  test('every error in it is named, with its place', () => {
    const wrongs: readonly (readonly [unknown, RegExp])[] = [
      [[], /must hold a JSON object/],
      [{ nam: 'x' }, /nam is not known; known are name, contact/],
      [{ name: '' }, /name must be a text/],
      [{ terms: 'javascript:alert(1)' }, /terms must be an address that begins with https/],
      [{ privacy: 7, contact: 8 }, /privacy must be .*; contact must be/],
      [{ delivery_models: [] }, /delivery_models must be an object/],
      [{ delivery_models: { oem_embedded: 'x' } }, /delivery_models\.oem_embedded must be an object/],
      [{ delivery_models: { byoc: {} } }, /delivery_models\.byoc is not known/],
      [{ delivery_models: { oem_embedded: { summary: [] } } }, /oem_embedded\.summary must be a text/],
      [{ delivery_models: { oem_embedded: { suited_for: 'x' } } }, /suited_for must be a list/],
      [{ delivery_models: { oem_embedded: { self_service: true } } }, /self_service is not known/],
    ];
    for (const [value, message] of wrongs) {
      const read = parseOperator(JSON.stringify(value));
      assert.ok('wrong' in read, JSON.stringify(value));
      assert.match(read.wrong, message);
    }
    const read = parseOperator('{');
    assert.ok('wrong' in read && read.wrong.startsWith('which is not JSON: '));
  });
});

describe('clicks', () => {
  const browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
  const destination = 'https://elsewhere.example/';
  const token = clickToken(secrets[1], 'a', destination);
  const recorded: Click[] = [];
  const handler = click({
    publicUrl: null,
    clickHosts: [],
    secrets,
    clock,
    record: (each) => recorded.push(each),
  });

  async function clicked(
    headers: Readonly<Record<string, string>>,
    given: object = {},
  ): Promise<Click | undefined> {
    recorded.length = 0;
    const header = (name: string): string => headers[name] ?? '';
    const query = { d: destination };
    const answer = await answerOf(
      handler,
      request({ input: undefined, path: { token }, query, header, ...given }),
    );
    assert.equal(answer.status, 302);
    assert.equal(answer.headers?.['cache-control'], 'no-store');
    assert.ok(recorded.length <= 1);
    return recorded[0];
  }

  test('a browser is no bot; a prefetch, a robot and a nameless program are', async () => {
    const firefox = { 'user-agent': browser };
    assert.equal((await clicked(firefox))?.bot, false);
    const programs: readonly Record<string, string>[] = [
      {},
      { 'user-agent': 'curl/8.5.0' },
      { 'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)' },
      { 'user-agent': 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)' },
      { 'user-agent': 'python-requests/2.32.0' },
      { ...firefox, 'sec-purpose': 'prefetch;prerender' },
      { ...firefox, purpose: 'prefetch' },
      { ...firefox, 'x-moz': 'prefetch' },
    ];
    for (const headers of programs)
      assert.equal((await clicked(headers))?.bot, true, JSON.stringify(headers));
  });

  test('only a HEAD request leaves no line in the log', async () => {
    assert.equal(await clicked({ 'user-agent': browser }, { head: true, mayAct: false }), undefined);
    assert.equal(await clicked({ purpose: 'prefetch' }, { head: true, mayAct: false }), undefined);
    assert.notEqual(await clicked({ purpose: 'prefetch' }, { mayAct: false }), undefined);
  });

  test('a line has token, destination and validity, and long ones are cut', async () => {
    const good = await clicked({ 'user-agent': browser });
    const atMs = Date.UTC(2026, 10, 21, 9, 30);
    assert.deepEqual(good, { atMs, token, destination, valid: true, bot: false });
    const long = { path: { token: 'x'.repeat(60_000) }, query: { d: `/${'y'.repeat(8_000)}` } };
    const cut = await clicked({ 'user-agent': browser }, long);
    assert.deepEqual([cut?.token.length, cut?.destination.length, cut?.valid], [128, 2_048, false]);
    const bare = await clicked({ 'user-agent': browser }, { path: {}, query: {} });
    assert.deepEqual([bare?.token, bare?.destination, bare?.valid], ['', '/', false]);
  });

  test('the answer redirects, and forbids caches, referrers and indexing', async () => {
    const given = request({ input: undefined, path: { token }, query: { d: destination } });
    assert.deepEqual(await answerOf(handler, given), {
      status: 302,
      body: { bytes: '', type: 'text/plain; charset=utf-8' },
      headers: {
        location: destination,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-robots-tag': 'noindex',
      },
      charge: 0,
    });
  });
});
