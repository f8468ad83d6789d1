/** Settings of the server: which values each may have, and which contradict each other. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  doorUnserved,
  listenSettings,
  publicSettings,
  samePorts,
  servedSettings,
  workerSettings,
  writingUnserved,
} from '../../src/http/settings.js';

describe('a setting of the server', () => {
  test('DOOR_PORT is none, or a port', () => {
    const { parse } = listenSettings.doorPort;
    assert.deepEqual(parse(''), { value: null });
    assert.deepEqual([parse('0'), parse('65535')], [{ value: 0 }, { value: 65_535 }]);
    for (const wrong of ['65536', '-1', 'x']) assert.ok('wrong' in parse(wrong), wrong);
  });

  test('PUBLIC_URL that is not an origin is refused with what it must be', () => {
    const { parse } = publicSettings.publicUrl;
    const wrong = [
      'a.example',
      'https://a.example/x',
      'ftp://localhost',
      'http://a.example',
      'ws://127.0.0.1',
    ];
    for (const text of wrong) {
      const parsed = parse(text);
      assert.ok('wrong' in parsed && parsed.wrong.startsWith('must be https://<host> without a path'), text);
    }
    assert.deepEqual(parse('https://A.example:443/'), { value: 'https://a.example' });
    assert.deepEqual(parse(''), { value: null });
  });

  test('SERVE lists parts in any order, with blanks, and an error suggests the nearest part', () => {
    const { parse } = servedSettings.serve;
    assert.deepEqual(parse('door, fuse'), parse('fuse,door'));
    assert.deepEqual(parse(' door '), { value: ['door'] });
    for (const [text, meant] of [
      ['normalise', 'normalize'],
      ['door,explor', 'explore'],
    ] as const) {
      const parsed = parse(text);
      assert.ok('wrong' in parsed && parsed.wrong.endsWith(`did you mean ${meant}`), text);
    }
  });

  test('WORKERS is the number of cores, at most 256, and 1 on macOS', () => {
    const { fallback } = workerSettings.workers;
    const of = (platform: NodeJS.Platform, cores: number): string => fallback({ platform, cores });
    assert.deepEqual([of('linux', 3), of('linux', 256), of('linux', 300)], ['3', '256', '256']);
    assert.equal(of('darwin', 8), '1');
  });

  test('MAX_CONNECTIONS is from 16 to a million', () => {
    const { parse } = workerSettings.maxConnections;
    assert.deepEqual([parse('16'), parse('1000000')], [{ value: 16 }, { value: 1_000_000 }]);
    for (const wrong of ['15', '1000001']) assert.ok('wrong' in parse(wrong), wrong);
  });
});

describe('settings that contradict each other are reported', () => {
  test('a port of the door without anything to serve there', () => {
    const told = [
      'DOOR_PORT is set, but SERVE names neither door nor explore. Unset DOOR_PORT, or add one of them.',
    ];
    assert.deepEqual(doorUnserved({ doorPort: 1, serve: ['fuse'] }), told);
    assert.deepEqual(doorUnserved({ doorPort: 0, serve: [] }), told);
    assert.deepEqual(doorUnserved({ doorPort: 1, serve: ['door'] }), []);
    assert.deepEqual(doorUnserved({ doorPort: 1, serve: ['fuse', 'explore'] }), []);
    assert.deepEqual(doorUnserved({ doorPort: null, serve: ['fuse'] }), []);
    assert.deepEqual([doorUnserved({ doorPort: 1 }), doorUnserved({ serve: [] })], [[], []]);
  });

  test('tools that store without the part that they belong to', () => {
    const told = ['SERVE names mcp-write, which needs mcp and door. Add them, or leave it out.'];
    assert.deepEqual(writingUnserved({ serve: ['mcp-write'] }), told);
    assert.deepEqual(writingUnserved({ serve: ['mcp-write', 'mcp'] }), told);
    assert.deepEqual(writingUnserved({ serve: ['mcp-write', 'door'] }), told);
    assert.deepEqual(writingUnserved({ serve: ['mcp-write', 'door', 'mcp'] }), []);
    assert.deepEqual([writingUnserved({ serve: ['fuse'] }), writingUnserved({})], [[], []]);
  });

  test('two ports that are equal, unless they are 0', () => {
    const told = (port: number, doorPort: number | null, metricsPort: number) =>
      samePorts({ port, doorPort, metricsPort });
    assert.deepEqual([told(1, null, 2), told(2, null, 1), told(0, 0, 0)], [[], [], []]);
    assert.deepEqual(told(9, 8, 8), ['METRICS_PORT must differ from DOOR_PORT; both are 8.']);
    assert.deepEqual(samePorts({}), []);
  });
});
