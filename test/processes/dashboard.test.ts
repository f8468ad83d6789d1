/**
 * The dashboard against Grafana's own schema, of whose types a validator is made, and its expressions against
 * Prometheus. Grafana itself is in no package registry.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Dashboard, FieldConfig, FieldConfigSource, Panel } from '@grafana/schema';
import typia from 'typia';
import { peersRequired } from '../peers/required.js';
import { temporaryFolder } from '../support/run.js';

/** A query as Grafana's data source for Prometheus has it; its schema leaves queries open. */
interface Query {
  readonly refId: string;
  readonly expr: string;
  readonly legendFormat?: string;
}

/** A panel that sets no options of its kind. */
interface PlainPanel extends Omit<Panel, 'targets' | 'fieldConfig'> {
  readonly targets: readonly Query[];
  readonly fieldConfig: Omit<FieldConfigSource, 'defaults'> & {
    readonly defaults: Omit<FieldConfig, 'custom'>;
  };
}

/** A dashboard of such panels. */
type PlainDashboard = Omit<Dashboard, 'panels'> & { readonly panels: readonly PlainPanel[] };

/** Lists members of other types, and such that the schema does not have. */
const validate = typia.createValidateEquals<PlainDashboard>();

const dashboard = JSON.parse(readFileSync('deploy/grafana.json', 'utf8')) as PlainDashboard;

/** The columns of Grafana's grid. */
const columns = 24;

describe('the dashboard', () => {
  test('fits Grafana’s schema, which wrong dashboards do not', () => {
    const checked = validate(dashboard);
    assert.deepEqual(checked.success ? [] : checked.errors, []);
    const [first] = dashboard.panels;
    const wrong = [
      { ...dashboard, panels: [{ ...first, type: 7 }] },
      { ...dashboard, panels: [{ ...first, gridpos: first?.gridPos }] },
      { ...dashboard, refresh: 30 },
      { ...dashboard, templating: { list: [{ name: 'datasource', type: 'data source' }] } },
    ];
    for (const each of wrong) assert.equal(validate(each).success, false, JSON.stringify(each).slice(0, 200));
  });

  test('has panels that do not overlap, each with its own number and queries', () => {
    const taken = new Set<string>();
    const ids = new Set<number | undefined>();
    for (const { id, title = '', gridPos, targets, datasource } of dashboard.panels) {
      assert.ok(gridPos !== undefined && id !== undefined, title);
      ids.add(id);
      const { x, y, w, h } = gridPos;
      assert.ok(x >= 0 && x + w <= columns, title);
      for (let column = x; column < x + w; column += 1) {
        for (let row = y; row < y + h; row += 1) {
          assert.ok(!taken.has(`${column} ${row}`), `${title} lies on another`);
          taken.add(`${column} ${row}`);
        }
      }
      assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
      assert.deepEqual(datasource, { type: 'prometheus', uid: '${datasource}' }, title);
    }
    assert.equal(ids.size, dashboard.panels.length);
    assert.deepEqual(
      dashboard.templating?.list?.map(({ name, type, query }) => [name, type, query]),
      [['datasource', 'datasource', 'prometheus']],
    );
  });

  const promtool = spawnSync('promtool', ['--version']).status === 0;
  const skip = promtool || peersRequired ? false : 'promtool is not installed (Debian: prometheus)';
  test('asks only what Prometheus can answer', { skip }, () => {
    const asked = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    assert.ok(asked.length >= dashboard.panels.length);
    const rules = asked.map((expr, at) => ({
      record: `asked_${at}`,
      expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$__range', '1h'),
    }));
    const file = join(temporaryFolder(), 'rules.json');
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, new RegExp(`SUCCESS: ${asked.length} rules found`));
  });
});
