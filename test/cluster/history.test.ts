/** The checker of clusters' histories finds each kind of problem, and nothing if there is none. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { History, problemsOf, type Found } from './history.js';

/** A history and a store that agree. */
function agreeing(): { readonly history: History; readonly found: Found } {
  const history = new History();
  history.leads.set('a@x', 'lead_a').set('b@x', undefined).set('c@x', undefined);
  history.noteReceipt('k', 'fr_1');
  history.noteReceipt('k', 'fr_1');
  history.orders.set('hash', 'order');
  history.revealed.set('hash', ['fg_1']);
  const leads = [
    { position: 1, name: 'lead_a' },
    { position: 2, name: 'lead_b' },
  ];
  history.followed.push(...leads);
  const found = {
    leads,
    leadHead: 2,
    addresses: new Map([
      ['lead_a', 'a@x'],
      ['lead_b', 'b@x'],
    ]),
    fragments: [{ position: 1, name: 'fr_1' }],
    fragmentHead: 1,
    places: new Map([['fr_1', 1]]),
    bindings: new Map([['k', 'fr_1']]),
    orders: new Map([['hash', 'order']]),
  };
  return { history, found };
}

describe('the checker of histories', () => {
  test('finds nothing if the store agrees, with or without what was not acknowledged', () => {
    const { history, found } = agreeing();
    assert.deepEqual(problemsOf(history, found), []);
  });

  const lost: readonly (readonly [string, (history: History, found: Found) => Partial<Found>, RegExp])[] = [
    ['a lead', () => ({ leads: [], leadHead: 0 }), /lead lead_a of a@x is lost/],
    ['a fragment', () => ({ fragments: [], fragmentHead: 0 }), /receipt fr_1 of k is lost/],
    ['the binding of a key', () => ({ bindings: new Map() }), /k is bound to nothing, not to fr_1/],
    ['an order', () => ({ orders: new Map() }), /order order is lost/],
    ['the head', () => ({ leadHead: 1 }), /leads: the head is 1 after 2 entries/],
    ['a place', () => ({ places: new Map([['fr_1', 2]]) }), /fr_1 has another place than 1/],
  ];
  for (const [what, lose, expected] of lost) {
    test(`finds that ${what} is lost`, () => {
      const { history, found } = agreeing();
      assert.match(problemsOf(history, { ...found, ...lose(history, found) }).join('\n'), expected);
    });
  }

  test('finds duplicates', () => {
    const { history, found } = agreeing();
    const leads = [...found.leads, { position: 3, name: 'lead_c' }];
    history.followed.push({ position: 3, name: 'lead_c' });
    const addresses = new Map([...found.addresses, ['lead_c', 'a@x']]);
    const doubled = { ...found, leads, leadHead: 3, addresses };
    assert.deepEqual(problemsOf(history, doubled), ['a@x has two leads']);
    const same = [...found.leads, { position: 3, name: 'lead_a' }];
    assert.match(problemsOf(history, { ...doubled, leads: same }).join('\n'), /leads: lead_a is there twice/);
  });

  test('finds a gap in a log, and an entry that nobody sent', () => {
    const { history, found } = agreeing();
    const leads = [found.leads[0] ?? assert.fail(), { position: 3, name: 'lead_z' }];
    const problems = problemsOf(history, { ...found, leads }).join('\n');
    assert.match(problems, /leads: entry 2 has position 3/);
    assert.match(problems, /nobody sent lead_z/);
  });

  test('finds a key with two receipts, an order whose key was revealed twice, and a wrong answer', () => {
    const { history, found } = agreeing();
    history.noteReceipt('k', 'fr_2');
    history.revealed.get('hash')?.push('fg_1');
    history.wrong.push('500 from node1');
    const problems = problemsOf(history, found).join('\n');
    assert.match(problems, /k was answered with fr_1 and fr_2/);
    assert.match(problems, /the key of order hash was revealed 2 times/);
    assert.match(problems, /500 from node1/);
  });

  test('finds a follower that skipped an entry, missed the last one, or saw a different one', () => {
    const passed = agreeing();
    passed.history.followed.shift();
    assert.match(problemsOf(passed.history, passed.found).join('\n'), /a follower passed position 1/);
    const missed = agreeing();
    missed.history.followed.pop();
    assert.deepEqual(problemsOf(missed.history, missed.found), ['a follower missed what is behind 1']);
    const other = agreeing();
    other.history.followed[1] = { position: 2, name: 'lead_q' };
    const expected = ['a follower saw lead_q at 2, where lead_b is'];
    assert.deepEqual(problemsOf(other.history, other.found), expected);
  });
});
