import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';
import { stringify } from 'yaml';

import { kinds } from '../../crds/kinds/index.js';
import { createMetrics, type MetricRow, metricsTable } from '../../pkg/metrics/index.js';
import { type Alert, alertGroups } from './alerts.js';
import { dashboardExpressions } from './dashboard.js';
import { renderMonitoringFiles, renderRules } from './render.js';

const alerts = Object.values(alertGroups).flat();
const expressions: readonly string[] = [...alerts.map(({ expression }) => expression), ...dashboardExpressions];
const rows: Readonly<Record<string, MetricRow>> = metricsTable;
/** What Prometheus itself says of each target. */
const OF_PROMETHEUS: readonly string[] = ['up'];
const OF_TARGETS: readonly string[] = ['job', 'instance', 'le'];

const isThere = (program: string) => {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

describe('monitoring', () => {
  it('uses metrics that exist, and each metric that exists', async () => {
    const ofProcesses = await createMetrics().text();
    const used = new Set(
      expressions.flatMap(text => text.match(/\b(?:mooring|process|nodejs)_[a-z0-9_]+|\bup\b/g) ?? []),
    );
    const names = [...used].map(name => (name in rows ? name : name.replace(/_(bucket|count|sum)$/, '')));
    for (const name of names) {
      const exists = name in rows || OF_PROMETHEUS.includes(name) || ofProcesses.includes(`# TYPE ${name} `);
      expect(exists, `${name} is no metric`).to.equal(true);
    }
    expect(Object.keys(rows).filter(name => !names.includes(name))).to.deep.equal([]);
  });

  it('uses labels that those metrics have', () => {
    const known = new Set([...OF_TARGETS, ...Object.values(rows).flatMap(({ labels }) => labels)]);
    for (const text of expressions) {
      for (const [, name, selectors] of text.matchAll(/\b(mooring_[a-z0-9_]+)\{([^}]*)\}/g)) {
        const { labels } = rows[name!] ?? rows[name!.replace(/_(bucket|count|sum)$/, '')]!;
        for (const [, label] of selectors!.matchAll(/([a-z]+)(?==)/g)) {
          expect([...labels, ...OF_TARGETS], text).to.include(label);
        }
      }
      for (const [, list] of text.matchAll(/\bby \(([^)]*)\)/g)) {
        for (const label of list!.split(', ')) expect([...known], text).to.include(label);
      }
    }
  });

  it('waits for types of events that exist', () => {
    const types = kinds.flatMap(({ events }) => events);
    for (const { expression } of alerts) {
      for (const [, type] of expression.matchAll(/type="([^"]+)"/g)) expect(types).to.include(type);
    }
  });

  it('has an entry in the runbook for each alert, under the address that the alert gives', () => {
    const files = renderMonitoringFiles();
    for (const [, anchor] of renderRules().matchAll(/runbook_url: docs\/MONITORING\.md#(.+)/g)) {
      const titles = [...files['docs/MONITORING.md']!.matchAll(/^### (.+)$/gm)].map(([, title]) =>
        title!.toLowerCase(),
      );
      expect(titles).to.include(anchor);
    }
    expect(new Set(alerts.map(({ name }) => name)).size).to.equal(alerts.length);
  });

  it('links to sections of OPERATIONS.md that exist', () => {
    const titles = [...readFileSync('docs/OPERATIONS.md', 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
      title!.toLowerCase().replaceAll(' ', '-'),
    );
    for (const { todo } of alerts) {
      for (const [, anchor] of todo.matchAll(/\(OPERATIONS\.md#([^)]+)\)/g)) expect(titles).to.include(anchor);
    }
  });

  const promtool = isThere('promtool');
  const reason = promtool ? '' : ' (skipped: there is no promtool; Debian has it in the package prometheus)';
  describe(`promtool${reason}`, function () {
    let folder: string;
    before(function () {
      if (!promtool) this.skip();
      folder = mkdtempSync(join(tmpdir(), 'mooring-rules-'));
      for (const [path, text] of Object.entries(renderMonitoringFiles())) {
        writeFileSync(join(folder, path.split('/').at(-1)!), text);
      }
    });
    after(() => folder && rmSync(folder, { recursive: true }));

    const run = (...words: readonly string[]) => execFileSync('promtool', words, { cwd: folder, encoding: 'utf8' });

    it('accepts the rules and the configuration', () => {
      expect(run('check', 'rules', 'alerts.yml')).to.contain(`${alerts.length} rules found`);
      run('check', 'config', 'prometheus.yml');
    });

    it('raises each alert with the series that should, and with no others', () => {
      const tests = alerts.flatMap(alert => [toTest(alert, true), toTest(alert, false)]);
      writeFileSync(
        join(folder, 'tests.yml'),
        stringify({ rule_files: ['alerts.yml'], evaluation_interval: '1m', tests }),
      );
      run('test', 'rules', 'tests.yml');
    }).timeout(60_000);
  });
});

/**
 * One minute is one sample; at the end every alert that needs ten minutes had them. A new event is raised for ten minutes, and one
 * from before Prometheus began is not.
 */
function toTest({ name, raisedBy, quietWith }: Alert, isRaised: boolean): object {
  const input_series = Object.entries(isRaised ? raisedBy : quietWith).map(([series, values]) => ({ series, values }));
  const isEvent = JSON.stringify(raisedBy).includes('mooring_events_total');
  const times = isEvent ? (isRaised ? ['12m'] : ['5m', '12m']) : ['25m'];
  // promtool compares labels and annotations word for word, so only whether it fires is asked.
  const expr = `count(ALERTS{alertname="${name}", alertstate="firing"}) or vector(0)`;
  const exp_samples = [{ labels: '{}', value: isRaised ? 1 : 0 }];
  return { interval: '1m', input_series, promql_expr_test: times.map(eval_time => ({ expr, eval_time, exp_samples })) };
}
