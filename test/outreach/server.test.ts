/** The outreach routes and commands end to end: the compiled program, its processes, its store, over HTTP. */
import { bodyShape } from '../support/routeTypes.js';
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { here, type Ended } from '../support/here.js';
import { exchange, head, post, type RawResponse } from '../support/raw.js';
import { commandApart, run, temporaryFolder } from '../support/run.js';
import { evilDestinations } from '../vectors/destinations.js';
import { browser, environmentOf, linkIn, main, rowsOf, starter } from './served.js';

const json = { 'Content-Type': 'application/json' };

const data = temporaryFolder();
const environment = environmentOf(data);
const start = starter(environment);

/** Runs a command of the program in a process of its own. */
const program = (...args: readonly string[]): Promise<Ended> => commandApart(args, environment);

/** The same beside the servers, in this process. */
const command = (...args: readonly string[]): Promise<Ended> => here(args, environment);

async function exported(table: string, ...options: readonly string[]): Promise<Record<string, unknown>[]> {
  return rowsOf(await command(table, 'export', '--format', 'jsonl', ...options));
}

function bodyOf(response: RawResponse): unknown {
  return JSON.parse(response.body.toString()) as unknown;
}

let { server, port } = await start();

const send = (path: string, body: unknown): Promise<RawResponse> =>
  exchange(port, post(path, JSON.stringify(body), json));

async function linkOf(...args: readonly string[]): Promise<string> {
  return linkIn(await command(...args));
}

describe('leads and interests', () => {
  for (const [path, name, base] of [
    ['/v1/leads', 'LeadRequest', { email: 'a@b' }],
    ['/v1/delivery-interest', 'DeliveryInterestRequest', { email: 'a@b', delivery_model: 'oem_embedded' }],
  ] as const) {
    test(`${name}: every bound below, at and above, in code points`, async () => {
      const shape = bodyShape(name);
      assert.ok(shape.kind === 'object');
      let bounded = 0;
      for (const field of shape.fields) {
        const inner = field.shape;
        if (inner.kind !== 'string' || inner.max === Infinity) continue;
        bounded += 1;
        for (const [length, status] of [
          [0, 200],
          [inner.max - 1, 200],
          [inner.max, 200],
          [inner.max + 1, 422],
        ] as const) {
          const response = await send(path, { ...base, [field.name]: '😀'.repeat(length) });
          assert.equal(response.status, status, `${field.name} of ${length}`);
          if (status === 200) continue;
          const { detail } = bodyOf(response) as { detail: { loc: unknown; type: string; ctx: unknown }[] };
          assert.deepEqual(detail[0]?.loc, ['body', field.name]);
          assert.deepEqual([detail[0].type, detail[0].ctx], ['string_too_long', { max_length: inner.max }]);
        }
      }
      assert.equal(bounded, name === 'LeadRequest' ? 6 : 11);
    });

    test(`${name}: what is missing or of the wrong type is reported`, async () => {
      const missing = bodyOf(await send(path, {})) as { detail: { type: string; loc: string[] }[] };
      assert.deepEqual(missing.detail[0], {
        type: 'missing',
        loc: ['body', 'email'],
        msg: 'Field required',
        input: {},
      });
      assert.equal((await send(path, { ...base, email: 7 })).status, 422);
      assert.equal((await send(path, { ...base, email: null })).status, 422);
      assert.equal((await exchange(port, post(path, '', json))).status, 422);
      assert.equal((await exchange(port, post(path, '{"email":"\\ud800"}', json))).status, 422);
      assert.equal((await exchange(port, head('GET', path))).status, 405);
    });
  }

  test('a delivery model is one of three', async () => {
    const response = await send('/v1/delivery-interest', { email: 'a@b', delivery_model: 'saas' });
    assert.equal(response.status, 422);
    assert.match(response.body.toString(), /'dedicated_byoc', 'self_hosted_appliance' or 'oem_embedded'/);
    const models = bodyOf(await exchange(port, head('GET', '/v1/delivery-models'))) as { models: unknown[] };
    assert.equal(models.models.length, 3);
  });
});

describe('opt-out', () => {
  test('the link shows a page that changes nothing; POST opts out with any body', async () => {
    const path = await linkOf('optout', 'link', 'Ada+news@Example.com');
    assert.match(path, /^\/unsubscribe\?e=Ada%2Bnews%40Example\.com&t=[A-Za-z0-9_-]{22}$/);
    const page = await exchange(port, head('GET', path));
    assert.equal(page.status, 200);
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(page.headers.get('cache-control'), 'no-store');
    assert.match(
      page.headers.get('content-security-policy') ?? '',
      /^default-src 'none'; script-src 'self';/,
    );
    assert.match(page.body.toString(), /<button>Unsubscribe<\/button>/);
    assert.equal((await exchange(port, head('HEAD', path))).status, 200);
    assert.equal((await command('optout', 'check', 'ada+news@example.com')).code, 3);
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    for (const [body, fields] of [
      ['List-Unsubscribe=One-Click', form],
      ['', {}],
      ['{"x"', json],
      [Buffer.from([0xff, 0]), { 'Content-Type': 'image/png', Origin: 'https://mail.example' }],
      ['--x\r\n\r\n--x--', { 'Content-Type': 'multipart/form-data; boundary=x' }],
    ] as const) {
      const response = await exchange(port, post(path, body, fields));
      assert.deepEqual([response.status, bodyOf(response)], [200, { ok: true, unsubscribed: true }]);
    }
    const check = await program('optout', 'check', 'ada+news@example.com');
    assert.equal(check.code, 0);
    assert.match(check.output, /^opted out since 20\d\d-/);
    assert.match((await exchange(port, head('GET', path))).body.toString(), /You are unsubscribed/);
    const bare = path.replace('%2B', '+');
    assert.deepEqual(bodyOf(await exchange(port, post(bare, ''))), { ok: true, unsubscribed: true });
    assert.equal(
      (await exported('optouts')).filter(({ email }) => email === 'ada+news@example.com').length,
      1,
    );
  });

  test('invalid links change nothing and reflect nothing', async () => {
    const before = (await exported('optouts')).length;
    const good = await linkOf('optout', 'link', 'bob@example.com');
    const e = '%3Cscript%3Ealert(1)%3C/script%3E';
    for (const path of [
      '/unsubscribe',
      `/unsubscribe?e=${e}&t=${e}`,
      good.slice(0, -1),
      good.replace('bob', 'eve'),
    ]) {
      const page = await exchange(port, head('GET', path));
      assert.equal(page.status, 200);
      assert.match(page.body.toString(), /This link does not work/);
      assert.doesNotMatch(page.body.toString(), /alert|<button/);
      const response = await exchange(port, post(path, 'List-Unsubscribe=One-Click'));
      assert.deepEqual([response.status, bodyOf(response)], [200, { ok: true, unsubscribed: false }]);
      assert.equal(response.headers.get('location'), undefined);
    }
    assert.equal((await exported('optouts')).length, before);
  });

  test('an address that holds HTML is shown as text', async () => {
    const path = await linkOf('optout', 'link', '"<b>&\'@example.com');
    const page = (await exchange(port, head('GET', path))).body.toString();
    assert.ok(page.includes('&quot;&lt;b&gt;&amp;&#39;@<wbr>example.<wbr>com'));
    assert.ok(!page.includes('<b>'));
  });

  test('a body over its limit is refused before it is read', async () => {
    const response = await exchange(port, head('POST', '/unsubscribe', { 'Content-Length': '1048577' }));
    assert.equal(response.status, 413);
  });
});

describe('clicks', () => {
  const clicks = async (): Promise<Record<string, unknown>[]> => {
    await new Promise((resolve) => setTimeout(resolve, 400));
    return exported('clicks');
  };

  test('a link that was made is followed anywhere and logged under its id', async () => {
    const path = await linkOf('click', 'link', 'https://Elsewhere.example/ä?a=1+2', '--id', 'autumn');
    const response = await exchange(port, head('GET', path, browser));
    assert.equal(response.status, 302);
    assert.equal(response.headers.get('location'), 'https://elsewhere.example/%C3%A4?a=1+2');
    assert.equal(response.headers.get('cache-control'), 'no-store');
    const forged = await exchange(port, head('GET', path.replace('lsewhere', 'vil'), browser));
    assert.equal(forged.headers.get('location'), '/');
    await exchange(port, head('HEAD', path, browser));
    await exchange(port, head('GET', path, { ...browser, 'Sec-Purpose': 'prefetch' }));
    const logged = await clicks();
    assert.deepEqual(
      logged.map(({ link_id, destination, valid, bot }) => [link_id, destination, valid, bot]).sort(),
      [
        ['autumn', 'https://elsewhere.example/%C3%A4?a=1+2', true, false],
        ['autumn', 'https://elsewhere.example/%C3%A4?a=1+2', true, true],
      ].sort(),
      'a forged link is counted, and not stored',
    );
    const text = JSON.stringify(logged);
    assert.ok(!text.includes('127.0.0.1') && !text.includes('Firefox'), 'neither address nor User-Agent');
  });

  test('no evil destination leads away, ends a header or breaks anything', async () => {
    for (const { d, path } of evilDestinations) {
      const spellings = [encodeURIComponent(d)];
      if (/^[\x21-\x7e]*$/.test(d) && !/[%&+#]/.test(d)) spellings.push(d);
      for (const spelled of spellings.filter(({ length }) => length < 65_000)) {
        const response = await exchange(port, head('GET', `/c/x.y?d=${spelled}`));
        assert.equal(response.status, 302, spelled.slice(0, 80));
        assert.equal(response.headers.get('location'), path, spelled.slice(0, 80));
        const names = new Set(response.headers.keys());
        // One answer without a body in 256 ends its connection, and says so.
        for (const name of ['uwebsockets', 'connection']) names.delete(name);
        assert.deepEqual([...names].sort(), [
          ...['cache-control', 'content-length', 'content-type', 'date', 'location', 'referrer-policy'],
          ...['x-content-type-options', 'x-request-id', 'x-robots-tag'],
        ]);
      }
    }
    const long = await exchange(port, head('GET', `/c/x?d=${'a'.repeat(66_000)}`));
    assert.equal(long.status, 431);
  });

  test('odd tokens and queries lead to the home page', async () => {
    for (const target of [
      '/c/%00',
      '/c/a%2Fb',
      '/c/%0d%0aX:1',
      '/c/x?d',
      '/c/x?d=%',
      '/c/x?d=%ff%fe',
      '/c/x?&&=&d=/',
    ]) {
      const response = await exchange(port, head('GET', target));
      assert.equal(response.status, 302, target);
      assert.match(response.headers.get('location') ?? '', /^\/(%|$)/, target);
    }
    assert.equal((await exchange(port, head('POST', '/c/x'))).status, 405);
  });

  test('a click just before a drain is in the log', async () => {
    const before = (await clicks()).length;
    const path = await linkOf('click', 'link', 'https://good.example/docs', '--id', 'drain');
    await exchange(port, head('GET', path, browser));
    server.child.kill('SIGTERM');
    assert.equal((await server.ended()).code, 0);
    ({ server, port } = await start());
    assert.equal((await clicks()).length - before, 1);
  });
});

describe('exports', () => {
  test('CSV is safe in a spreadsheet, JSON lines are exact, --after goes on', async () => {
    const message = '=HYPERLINK("https://evil.example")\r\n"x", y';
    const email = '+export@example.com';
    await send('/v1/leads', { email, message });
    const rows = await exported('leads');
    const last = rows.at(-1);
    assert.deepEqual([last?.['email'], last?.['message'], last?.['opted_out']], [email, message, false]);
    const position = Number(last?.['position']);
    assert.deepEqual(await exported('leads', '--after', String(position - 1)), [last]);
    assert.deepEqual(await exported('leads', '--after', String(position)), []);
    const { output } = await program('leads', 'export', '--format', 'csv', '--after', String(position - 1));
    const [header, ...rest] = output.split('\r\n');
    const named = 'position,id,received_at,email,opted_out,tier,message,source,segment,campaign,event_id';
    assert.equal(header, named);
    const line = rest.join('\r\n');
    assert.ok(line.includes(`,'+export@example.com,false,,`), line);
    assert.ok(line.includes(`"'=HYPERLINK(""https://evil.example"")\r\n""x"", y"`), line);
    await exchange(port, post(await linkOf('optout', 'link', 'Export2@example.com'), ''));
    await send('/v1/leads', { email: 'EXPORT2@example.com' });
    assert.equal((await exported('leads')).at(-1)?.['opted_out'], true);
  });

  test('mistakes are reported', async () => {
    for (const [args, expected] of [
      [['leads', 'export'], /required option '--format <format>'/],
      [['leads', 'export', '--format', 'xml'], /Allowed choices are csv, jsonl/],
      [['leads', 'export', '--format', 'csv', '--after', '-1'], /--after must be a position/],
      [['clicks', 'export', '--format', 'csv', '--after', 'x'], /--after must be a position/],
      [['optouts', 'export', '--format', 'csv', '--after', '7'], /--after must be a position/],
      [['optout', 'link', 'nobody'], /"nobody" is not an email address/],
      [['click', 'link', '/docs'], /whole http or https address/],
      [['click', 'link', 'https://a.example', '--id', 'a b'], /An id has 1 to 64 characters/],
      [['forget'], /missing required argument 'email'/],
    ] as const) {
      const { code, output } = await command(...args);
      // Where the command line itself is wrong, commander says so; the rest the commands find.
      const isUsage = /required|Allowed choices/.test(expected.source);
      assert.equal(code, isUsage ? 2 : 1, args.join(' '));
      assert.match(output, expected);
    }
  });

  test('a missing store is not created', async () => {
    const elsewhere = temporaryFolder();
    const lost = run(main, ['leads', 'export', '--format', 'csv'], { STORE_URL: `lmdb:${elsewhere}/store` });
    assert.equal((await lost.ended()).code, 1);
    assert.match(lost.output, /There is no store in .*\/store\. Start the server once/);
    assert.equal(existsSync(join(elsewhere, 'store')), false);
  });

  test('links need PUBLIC_URL and say so', async () => {
    const STORE_URL = `lmdb:${data}/store`;
    const nameless = run(main, ['optout', 'link', 'a@b'], { STORE_URL });
    assert.equal((await nameless.ended()).code, 1);
    assert.match(nameless.output, /^Links need PUBLIC_URL/);
  });
});

test('forget erases what came with an address and leaves its opt-out', async () => {
  const email = 'Forget.Me@example.com';
  await send('/v1/leads', { email });
  await send('/v1/leads', { email: ` ${email.toLowerCase()} ` });
  await send('/v1/delivery-interest', { email, delivery_model: 'oem_embedded' });
  await send('/v1/leads', { email: `x${email}` });
  await exchange(port, post(await linkOf('optout', 'link', email), ''));
  const asked = await command('forget', 'FORGET.ME@example.com');
  assert.deepEqual(
    [asked.code, asked.output],
    [1, 'There is no terminal to confirm on: add --yes to erase.\n'],
  );
  const done = await program('forget', 'FORGET.ME@example.com', '--yes');
  const kept = '; the opt-out stays, as a keyed hash of the address';
  assert.deepEqual([done.code, done.output], [0, `Erased 2 leads and 1 interest${kept}.\n`]);
  const again = await command('forget', email, '--yes');
  assert.equal(again.output, `Nothing is stored about forget.me@example.com${kept}.\n`);
  for (const table of ['leads', 'interests', 'optouts']) {
    const text = JSON.stringify(await exported(table)).toLowerCase();
    assert.ok(!text.replaceAll('xforget.me@', '').includes('forget.me@'), table);
  }
  assert.equal((await command('optout', 'check', email)).code, 0);
  const privacy = (await exchange(port, head('GET', '/privacy'))).body.toString();
  for (const table of ['leads', 'interests', 'optouts', 'clicks']) {
    assert.ok(privacy.includes(`Table ${table} of the store.`), table);
  }
});

describe('the master secret', () => {
  test('is readable by its owner only', () => {
    assert.equal(statSync(join(data, 'master-secret')).mode & 0o777, 0o600);
  });

  test('of another installation is refused at start and by commands', async () => {
    const MASTER_SECRET = 'another-secret-of-the-tests-that-opens-nothing';
    const refused = run(main, ['serve'], {
      ...environment,
      PORT: '0',
      STORE_URL: `lmdb:${data}/store`,
      MASTER_SECRET,
    });
    assert.equal((await refused.ended()).code, 1);
    assert.match(refused.output, /in use by process/, 'the running server comes first');
    const other = run(main, ['optout', 'link', 'a@b.c'], { ...environment, MASTER_SECRET });
    assert.equal((await other.ended()).code, 1);
    assert.match(other.output, /written with master secret [0-9a-f]{12}, which MASTER_SECRET does not hold/);
    server.child.kill('SIGTERM');
    await server.ended();
    const alone = run(main, ['serve'], { ...environment, PORT: '0', MASTER_SECRET });
    assert.equal((await alone.ended()).code, 1);
    assert.match(alone.output, /written with master secret [0-9a-f]{12}, which MASTER_SECRET does not hold/);
  });

  test('rotates: new tokens use the first secret, and old ones still verify', async () => {
    const old = readFileSync(join(data, 'master-secret'), 'utf8').trim();
    ({ server, port } = await start());
    const link = await linkOf('optout', 'link', 'rotate@example.com');
    server.child.kill('SIGTERM');
    await server.ended();
    writeFileSync(join(data, 'master-secret'), `${'n'.repeat(40)}\n${old}\n`, { mode: 0o600 });
    ({ server, port } = await start());
    assert.deepEqual(bodyOf(await exchange(port, post(link, ''))), { ok: true, unsubscribed: true });
    assert.notEqual(await linkOf('optout', 'link', 'rotate@example.com'), link);
    assert.equal(
      (await command('optout', 'check', 'Ada+News@example.com')).code,
      0,
      'suppression outlives it',
    );
  });
});
