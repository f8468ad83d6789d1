/** Counts of connections: the kernel's tables against a naive reading, and the limits that result. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { affordable, connectedTo, Connections, descriptorLimit } from '../../src/http/connections.js';
import type { HttpResponse, TemplatedApp } from '../../src/http/uws.js';

/** A line of a kernel table. */
interface Row {
  readonly local: readonly [address: readonly number[], port: number];
  readonly remote: readonly [address: readonly number[], port: number];
  readonly state: string;
  /** Bytes that were received and not read. */
  readonly queued?: number;
}

/** An address and a port as the kernel writes them: words of four bytes, the last byte first. */
function written([address, port]: Row['local']): string {
  const words = Array.from({ length: address.length / 4 }, (_, at) =>
    address.slice(4 * at, 4 * at + 4).toReversed(),
  );
  const hex = Buffer.from(words.flat()).toString('hex').toUpperCase();
  return `${hex}:${port.toString(16).toUpperCase().padStart(4, '0')}`;
}

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ local, remote, state, queued = 0 }, at) => {
    const queue = queued.toString(16).toUpperCase().padStart(8, '0');
    return `${String(at).padStart(4)}: ${written(local)} ${written(remote)} ${state} 00000000:${queue} 00:0`;
  });
  return ['  sl  local_address rem_address   st tx_queue rx_queue', ...lines, ''].join('\n');
}

const mapped = (address: readonly number[]): readonly number[] => [
  ...Array<number>(10).fill(0),
  255,
  255,
  ...address,
];

/** The name of an address as limits count it. */
function nameOf(address: readonly number[]): string {
  const isMapped = address.length === 16 && address.slice(0, 12).join() === mapped([]).join();
  const counted = isMapped ? address.slice(12) : address.slice(0, 8);
  return Buffer.from(counted).toString('hex');
}

function naive(port: number, rows: readonly Row[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { local, remote, state } of rows) {
    if (local[1] !== port || (state !== '01' && state !== '08')) continue;
    const name = nameOf(remote[0]);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

const v4 = fc.constantFrom([127, 0, 0, 1], [192, 0, 2, 7], [192, 0, 2, 8]);
const v6 = fc.constantFrom(
  [0x20, 1, 13, 184, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1],
  [0x20, 1, 13, 184, 0, 0, 0, 1, 9, 9, 9, 9, 9, 9, 9, 9],
  [0x20, 1, 13, 184, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1],
  [...Array<number>(15).fill(0), 1],
);
const ports = [80, 8_080, 8_081, 0x1f91, 54_321];
const row: fc.Arbitrary<Row> = fc
  .tuple(fc.oneof(v4, v4.map(mapped), v6), fc.oneof(v4, v4.map(mapped), v6))
  .filter(([local, remote]) => local.length === remote.length)
  .chain(([local, remote]) =>
    fc.record({
      local: fc.tuple(fc.constant(local), fc.constantFrom(...ports)),
      remote: fc.tuple(fc.constant(remote), fc.constantFrom(...ports)),
      state: fc.constantFrom('01', '01', '08', '06', '0A', '10', '80'),
      queued: fc.constantFrom(0, 0x17, 0x10_101),
    }),
  );

test('the connections to a port are counted by address until the server has closed them', () => {
  const property = fc.property(fc.array(row, { maxLength: 30 }), fc.constantFrom(...ports), (rows, port) => {
    assert.deepEqual(Object.fromEntries(connectedTo(port, tableOf(rows))), naive(port, rows));
  });
  fc.assert(property, { numRuns: 300 });
  assert.deepEqual([...connectedTo(8_080, '')], []);
  const damaged = '   0: 0100007F:1F90 07007F:D431 01 00000000';
  assert.deepEqual([...connectedTo(8_080, damaged)], [['07007f', 1]], 'a line of another form fails nothing');
});

describe('the process', () => {
  test('says how many files it may open, or nothing', () => {
    const limits = 'Max processes      5  5\nMax open files            20000   524288  files\n';
    assert.equal(
      descriptorLimit(() => limits),
      20_000,
    );
    for (const text of ['', 'Max processes  5', ' Max open files  5', 'Max open files  unlimited']) {
      assert.equal(
        descriptorLimit(() => text),
        Infinity,
        text,
      );
    }
    if (process.platform === 'linux') assert.ok(Number.isFinite(descriptorLimit()));
  });

  test('has 256 descriptors for other things, and at least 16 connections', () => {
    assert.deepEqual(
      [
        [100, 1_000],
        [1_000, 1_000],
        [1_000, 273],
        [1_000, 272],
        [1_000, 0],
        [5, 1_000],
        [500, Infinity],
      ].map(([most = 0, descriptors = 0]) => affordable(most, descriptors)),
      [100, 744, 17, 16, 16, 16, 500],
    );
  });
});

/** A worker whose connections the test opens. */
class Worker {
  readonly warned: unknown[] = [];
  /** What the kernel's tables have, and how often they were read. */
  rows: readonly Row[] = [];
  readings = 0;
  readonly connections: Connections;
  private told: (response: HttpResponse, change: number) => void = () => undefined;

  constructor(most: number, workers = 1, isProxy: (address: Uint8Array) => boolean = () => false) {
    const tables = (): Promise<readonly string[]> => {
      this.readings += 1;
      const of = (length: number): string =>
        tableOf(this.rows.filter(({ local }) => local[0].length === length));
      return Promise.resolve([of(4), of(16)]);
    };
    const log = { warn: (about: unknown) => void this.warned.push(about) };
    this.connections = new Connections({ most, workers, isProxy }, log, tables);
    const app = { filter: (filter: typeof this.told) => (this.told = filter) };
    this.connections.watch(app as unknown as TemplatedApp);
    this.connections.listensOn(8_080);
  }

  /** Opens connections of an address one after the other; the number of those that stay open. */
  open(address: readonly number[], count = 1): number {
    let kept = 0;
    for (let at = 0; at < count; at += 1) {
      kept += 1;
      let isClosed = false;
      const response = {
        getRemoteAddress: () => {
          assert.ok(!isClosed, 'a closed connection must not be touched');
          return Uint8Array.from(address).buffer;
        },
        close: () => {
          isClosed = true;
          kept -= 1;
          this.close();
        },
      } as unknown as HttpResponse;
      this.told(response, 1);
    }
    return kept;
  }

  /** Closes connections, of whichever address. */
  close(count = 1): void {
    const response = {} as HttpResponse;
    for (let at = 0; at < count; at += 1) this.told(response, -1);
  }

  /** Opens connections of as many addresses. */
  openOthers(count: number): number {
    return Array.from({ length: count }, (_, at) => this.open([10, 0, at >> 8, at & 255])).reduce(
      (sum, kept) => sum + kept,
      0,
    );
  }
}

const one = [192, 0, 2, 1];
const rowsOf = (address: readonly number[], count: number, port = 8_080): Row[] =>
  Array.from({ length: count }, (_, at) => ({
    local: [address, port],
    remote: [address, 40_000 + at],
    state: '01',
  }));

describe('a worker', () => {
  test('keeps at most its limit of connections, closes any more, and says so once', () => {
    const worker = new Worker(20);
    assert.equal(worker.openOthers(21), 20);
    assert.deepEqual(worker.warned, [{ connections: 21 }]);
    assert.equal(worker.openOthers(4), 0);
    assert.equal(worker.connections.count, 20);
    assert.equal(worker.warned.length, 1);
    assert.deepEqual(
      worker.connections.metrics().map(({ type, name, values }) => ({ type, name, values })),
      [
        { type: 'gauge', name: 'fusegate_http_connections', values: [{ labels: {}, value: 20 }] },
        {
          type: 'counter',
          name: 'fusegate_http_connections_refused_total',
          values: [{ labels: {}, value: 5 }],
        },
      ],
    );
    worker.close(3);
    assert.equal(worker.openOthers(5), 3);
  });

  test('gives one address an eighth of them, and one at least', () => {
    for (const [most, share] of [
      [7, 1],
      [8, 1],
      [23, 2],
      [24, 3],
      [128, 16],
    ] as const) {
      assert.equal(new Worker(most).open(one, most), share, `of ${most}`);
    }
  });

  test('counts IPv6 by its /64, and IPv4-mapped addresses as IPv4', () => {
    const worker = new Worker(32);
    const subnet = (last: number, host: number): number[] => [
      32,
      1,
      0,
      0,
      0,
      0,
      0,
      last,
      ...Array<number>(8).fill(host),
    ];
    const kept = [1, 2, 3, 4, 5, 6].map((host) => worker.open(subnet(1, host)));
    assert.deepEqual(kept, [1, 1, 1, 1, 0, 0]);
    assert.equal(worker.open(subnet(2, 1), 6), 4);
    assert.equal(worker.open(one, 3) + worker.open(mapped(one), 3), 4);
  });

  test('lets a proxy have all of them, by either form of its address', () => {
    const worker = new Worker(32, 1, (address) => Buffer.from(address).equals(Buffer.from(one)));
    assert.equal(worker.open(one, 15) + worker.open(mapped(one), 15), 30);
    assert.equal(worker.open([192, 0, 2, 2], 1), 1, 'what a proxy opens counts for nobody else');
    assert.equal(worker.open(one, 5), 1);
  });

  test('lets an address open more over time, while few are open', () => {
    const worker = new Worker(64);
    for (let at = 0; at < 50; at += 1) {
      assert.equal(worker.open(one), 1);
      worker.close();
    }
    worker.openOthers(7);
    assert.equal(worker.open(one), 1, 'an eighth is open in all');
    assert.equal(worker.open(one), 0, 'those that it opened may be open still');
  });

  test('reads the kernel’s tables only while one address may have half of its share', async () => {
    const worker = new Worker(64);
    worker.openOthers(4);
    await worker.connections.look();
    assert.equal(worker.readings, 0);
    worker.openOthers(1);
    await Promise.all([worker.connections.look(), worker.connections.look()]);
    assert.equal(worker.readings, 1, 'once at a time');
    await worker.connections.look();
    assert.equal(worker.readings, 2);
  });

  test('forgets what it counted while few are open', async () => {
    const worker = new Worker(64);
    worker.rows = rowsOf(one, 8);
    worker.openOthers(10);
    await worker.connections.look();
    assert.equal(worker.open(one), 0, 'the others of its kind are open in the table');
    worker.close(10);
    await worker.connections.look();
    worker.openOthers(10);
    assert.equal(worker.open(one, 9), 8);
  });

  test('shares an address’s connections with the other workers, on every port', async () => {
    const worker = new Worker(64, 2);
    worker.connections.listensOn(8_081);
    worker.rows = [
      ...rowsOf(one, 5),
      ...rowsOf(one, 4, 8_081),
      ...rowsOf(one, 90, 8_082),
      ...rowsOf(mapped(one), 3),
    ];
    worker.openOthers(20);
    await worker.connections.look();
    assert.equal(worker.open(one, 5), 2, 'six of twelve are here');
  });

  test('counts all of a long table', async () => {
    const worker = new Worker(64, 2_000);
    const many = rowsOf(one, 6_000);
    worker.rows = many.flatMap((each, at) => [each, ...rowsOf([10, 9, at >> 8, at & 255], 1)]);
    assert.ok(tableOf(worker.rows).length > 8 * 65_536);
    worker.openOthers(20);
    await worker.connections.look();
    assert.equal(worker.open(one, 9), 5, 'three of 6,000 are here, of eight');
  });

  test('counts a connection that opens during a reading once, as opened since', async () => {
    const worker = new Worker(64);
    worker.openOthers(20);
    assert.equal(worker.open(one, 5), 5);
    worker.rows = rowsOf(one, 5);
    const looked = worker.connections.look();
    assert.equal(worker.open(one, 2), 2);
    await looked;
    assert.equal(worker.open(one, 9), 1);
    worker.rows = rowsOf(one, 4);
    await worker.connections.look();
    assert.equal(worker.open(one, 9), 4, 'what was opened before the reading is in it, or closed');
  });
});
