import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

import { expect } from 'chai';
import { parse } from 'yaml';

import { kinds } from '../crds/kinds/index.js';
import { skip } from '../dev/testing/index.js';
import { createMetrics, type MetricRow, metricsTable } from '../pkg/metrics/index.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly description: string; readonly runbook_url: string };
}
interface RuleTest {
  readonly input_series: readonly { readonly series: string }[];
  readonly promql_expr_test: readonly { expr: string; exp_samples: readonly { value: number }[] }[];
}

const FOLDER = 'docs/monitoring';
const read = (path: string) => readFileSync(path, 'utf8');
const alerts = (
  parse(read(`${FOLDER}/alerts.yml`)) as { groups: readonly { rules: readonly Rule[] }[] }
).groups.flatMap(({ rules }) => rules);
const { panels } = JSON.parse(read(`${FOLDER}/grafana-dashboard.json`)) as {
  panels: readonly { targets?: readonly { expr: string }[] }[];
};
const { tests } = parse(read(`${FOLDER}/alerts.test.yml`)) as { tests: readonly RuleTest[] };
const runbook = read('docs/MONITORING.md');

const shown = [...alerts, ...panels.flatMap(({ targets = [] }) => targets)].map(({ expr }) => expr);
const tried = tests.flatMap(({ input_series }) => input_series.map(({ series }) => series));
const rows: Readonly<Record<string, MetricRow>> = metricsTable;
/** What Prometheus itself says of each target. */
const OF_PROMETHEUS: readonly string[] = ['up'];
const OF_TARGETS: readonly string[] = ['job', 'instance', 'le'];

const toRow = (name: string) => (name in rows ? name : name.replace(/_(bucket|count|sum)$/, ''));
const listMetrics = (expressions: readonly string[]) =>
  new Set(expressions.flatMap(text => text.match(/\b(?:mooring|process|nodejs)_[a-z0-9_]+|\bup\b/g) ?? []).map(toRow));

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
    for (const name of listMetrics([...shown, ...tried])) {
      const exists = name in rows || OF_PROMETHEUS.includes(name) || ofProcesses.includes(`# TYPE ${name} `);
      expect(exists, `${name} is no metric`).to.equal(true);
    }
    expect(Object.keys(rows).filter(name => !listMetrics(shown).has(name))).to.deep.equal([]);
  });

  it('uses labels that those metrics have', () => {
    const known = new Set([...OF_TARGETS, ...Object.values(rows).flatMap(({ labels }) => labels)]);
    for (const text of [...shown, ...tried]) {
      for (const [, name, selectors] of text.matchAll(/\b(mooring_[a-z0-9_]+)\{([^}]*)\}/g)) {
        const { labels } = rows[toRow(name!)]!;
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
    for (const { expr } of alerts) {
      for (const [, type] of expr.matchAll(/type="([^"]+)"/g)) expect(types).to.include(type);
    }
  });

  it('has an entry in the runbook for each alert, under the address that the alert gives, and no others', () => {
    for (const { alert, expr, for: duration, labels, annotations } of alerts) {
      const entry = [
        `### ${alert}`,
        `Severity \`${labels.severity}\`, after ${duration}: \`${expr}\``,
        annotations.description,
      ];
      expect(runbook).to.contain(`\n${entry.join('\n\n')}\n\n`);
      expect(annotations.runbook_url).to.equal(`docs/MONITORING.md#${alert.toLowerCase()}`);
    }
    const entries = Array.from(runbook.matchAll(/^### (.+)$/gm), ([, title]) => title);
    expect(entries).to.deep.equal(alerts.map(({ alert }) => alert));
    expect(new Set(entries).size).to.equal(entries.length);
  });

  it('links to sections of OPERATIONS.md that exist', () => {
    const titles = Array.from(read('docs/OPERATIONS.md').matchAll(/^#+ (.+)$/gm), ([, title]) =>
      title!.toLowerCase().replaceAll(' ', '-'),
    );
    for (const [, anchor] of runbook.matchAll(/\(OPERATIONS\.md#([^)]+)\)/g)) expect(titles).to.include(anchor);
  });

  it('tries each alert with series that raise it, and with series that do not', () => {
    const cases = tests.flatMap(({ promql_expr_test }) =>
      promql_expr_test.flatMap(({ expr, exp_samples }) => exp_samples.map(({ value }) => `${value}: ${expr}`)),
    );
    for (const { alert } of alerts) {
      const expr = `count(ALERTS{alertname="${alert}", alertstate="firing"}) or vector(0)`;
      expect(cases).to.include.members([`1: ${expr}`, `0: ${expr}`]);
    }
  });

  const promtool = isThere('promtool');
  describe('promtool', () => {
    before(function () {
      if (!promtool) skip(this, 'there is no promtool (apt-get install prometheus)');
    });

    const run = (...words: readonly string[]) => execFileSync('promtool', words, { cwd: FOLDER, encoding: 'utf8' });

    it('accepts the rules and the configuration', () => {
      expect(run('check', 'rules', 'alerts.yml')).to.contain(`${alerts.length} rules found`);
      run('check', 'config', 'prometheus.yml');
    });

    it('raises each alert with the series that should, and with no others', () => {
      run('test', 'rules', 'alerts.test.yml');
    }).timeout(60_000);
  });
});
