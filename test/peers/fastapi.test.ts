/** The 422 answers against a real FastAPI application that declares the same models. */
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type ParameterPlace, checkBody, checkParameters } from '../../src/contract/schema/validate.js';
import { MAX_ERRORS, type ValidationError } from '../../src/contract/schema/validation.js';
import { nearly } from '../contract/arbitrary.js';
import { bodyNamed, bodyShape, bodyTypes, parametersNamed } from '../support/routeTypes.js';
import { type Peer, startPeer } from './fastapi.js';
import { findPython } from '../support/python.js';

const found = findPython(['fastapi'], 'test/peers/requirements.txt');
const skip = 'missing' in found ? found.missing : false;
let peer: Peer;

before(() => {
  if ('python' in found) peer = startPeer(found.python);
});
after(() => {
  if ('python' in found) peer.stop();
});

const seed = 20261121;
const names = [...bodyTypes.keys()];

/** Members with rules that no schema has, such as names that stand twice. */
const valueRules = [
  'entity_map',
  'weights',
  'legs',
  'boosts',
  'corpus',
  'learn',
  'docs',
  'confirm',
  'title',
  'content',
];

/**
 * Rules that the models do not declare: pydantic would name them otherwise or not at all. Of `analyzer` and
 * `profile` they declare nothing: pydantic puts the name of each alternative into the place of an error.
 * Members of `corpus` are optional there, as a name may stand in their place.
 */
const undeclared = ({ type, loc: [, member] }: ValidationError) =>
  member === 'analyzer' ||
  member === 'profile' ||
  (type === 'missing' && member === 'corpus') ||
  (type === 'value_error' && member !== undefined && valueRules.includes(String(member)));

const place = (error: ValidationError) => JSON.stringify([error.loc, error.type]);
/** A message's numbers as JavaScript writes them: pydantic writes all digits, ours 1e-9. */
const sameNumbers = (msg: string) =>
  msg.replaceAll(/-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/g, (number) => String(Number(number)));
/** What ours says of a token of another length goes on where pydantic's ends. */
const words = ({ loc, type, msg, ctx }: ValidationError) =>
  JSON.stringify([loc, type, sameNumbers(msg.replace(/; a token is .*/, '')), withoutHint(type, ctx)]);

/** Where a member was misnamed, ours adds `ctx.hint` to pydantic's `missing`, which has no `ctx`. */
function withoutHint(type: string, ctx: ValidationError['ctx']): unknown {
  const { hint, ...rest } = ctx ?? {};
  return type === 'missing' && hint !== undefined && Object.keys(rest).length === 0 ? null : (ctx ?? null);
}

/** Same acceptance, same set of (loc, type), and the same words. */
function compare(
  sent: string,
  ours: readonly ValidationError[],
  theirs: { status: number; errors: ValidationError[] },
) {
  const declared = ours.filter((error) => !undeclared(error));
  assert.equal(theirs.status, declared.length === 0 ? 200 : 422, sent);
  if (theirs.errors.length > MAX_ERRORS) {
    assert.equal(declared.length, MAX_ERRORS, sent);
    return;
  }
  assert.deepEqual(declared.map(place).sort(), theirs.errors.map(place).sort(), sent);
  assert.deepEqual(declared.map(words).sort(), theirs.errors.map(words).sort(), sent);
}

async function compareBody(name: string, body: string): Promise<boolean> {
  const checked = checkBody(bodyNamed(name), JSON.parse(body));
  const headers = { 'content-type': 'application/json' };
  const theirs = await peer.ask({ method: 'POST', path: `/${name}`, headers, body });
  compare(`${name} ${body.slice(0, 2000)}`, checked.ok ? [] : checked.errors, theirs);
  return checked.ok || checked.errors.every(undeclared);
}

for (const name of names) {
  test(`${name}: FastAPI refuses the same bodies for the same reasons`, { skip }, async () => {
    const values = fc.sample(nearly(bodyShape(name)), { numRuns: 1000, seed });
    const junk = fc.sample(fc.jsonValue({ maxDepth: 2 }), { numRuns: 50, seed });
    let accepted = 0;
    for (const value of [...values, ...junk]) {
      if (await compareBody(name, JSON.stringify(value))) accepted++;
    }
    assert.ok(accepted > 100 && accepted < 950, `${accepted} of 1050 were accepted`);
  });
}

test('FastAPI answers an empty body alike', { skip }, async () => {
  const theirs = await peer.ask({ method: 'POST', path: '/QuoteRequest' });
  assert.deepEqual(theirs.errors.map(place), ['[["body"],"missing"]']);
});

interface Asked {
  set: string;
  from: ParameterPlace;
  values: readonly Record<string, string>[];
}

const parameters: readonly Asked[] = [
  {
    set: 'CardStatusQuery',
    from: 'query',
    values: [{}, { tier: 'growth' }, { tier: '' }, { tier: 'GROWTH' }, { x: 'y' }],
  },
  { set: 'CardSuccessQuery', from: 'query', values: [{}, { session_id: '' }, { session_id: '漢' }] },
  { set: 'UnsubscribeQuery', from: 'query', values: [{}, { e: 'a@b', t: 'x' }] },
  { set: 'ClickQuery', from: 'query', values: [{}, { d: 'https://example.org/?a=b' }] },
  {
    set: 'DreamHeaders',
    from: 'header',
    values: [{}, { 'idempotency-key': 'k'.repeat(64) }, { 'idempotency-key': 'k'.repeat(65) }],
  },
  { set: 'KeyHeaders', from: 'header', values: [{}, { 'x-api-key': 'fg_x' }] },
];

for (const { set, from, values } of parameters) {
  test(`${set}: FastAPI refuses the same parameters`, { skip }, async () => {
    for (const value of values) {
      const checked = checkParameters(parametersNamed(set), from, (name) => value[name]);
      const sent = from === 'query' ? { query: new URLSearchParams(value).toString() } : { headers: value };
      const theirs = await peer.ask({ method: 'GET', path: `/${set}`, ...sent });
      compare(`${set} ${JSON.stringify(value)}`, checked.ok ? [] : checked.errors, theirs);
    }
  });
}
