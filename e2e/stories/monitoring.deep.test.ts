import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import { stringify } from 'yaml';

import { findFreePort } from '../../dev/processes/index.js';
import { skip, until } from '../../dev/testing/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { type EnrolledMachine, Fleet } from '../lab/fleet.js';

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

const isPrometheusThere = (() => {
  try {
    execFileSync('prometheus', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

describe('a real Prometheus', () => {
  let plane: ControlPlane;
  let fleet: Fleet;
  let machine: EnrolledMachine;
  let prometheus: ChildProcess | undefined;
  let address: string;

  const ask = async <T>(path: string): Promise<T> => {
    const answer = await fetch(`${address}/api/v1/${path}`);
    const { data } = (await answer.json()) as { readonly data: T };
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return data;
  };
  const query = async (expression: string): Promise<readonly Sample[]> =>
    (await ask<{ readonly result: readonly Sample[] }>(`query?query=${encodeURIComponent(expression)}`)).result;

  before(async function () {
    if (!isPrometheusThere) skip(this, 'there is no prometheus on the PATH (apt-get install prometheus)');
    const [controllersPort, agentPort, port] = [await findFreePort(), await findFreePort(), await findFreePort()];
    plane = await ControlPlane.start({ MOORING_METRICS_LISTEN: `127.0.0.1:${controllersPort}` });
    fleet = await Fleet.start(plane);
    const tenant = plane.client(plane.access.tenantToken);
    machine = await fleet.enrol(tenant, 'watched', {}, { flags: [`--metrics-listen=${agentPort}`] });

    const targets = {
      'mooring-server': new URL(plane.server).host,
      'mooring-controllers': `127.0.0.1:${controllersPort}`,
      'mooring-agent': `127.0.0.1:${agentPort}`,
    };
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: ['alerts.yml'],
      scrape_configs: Object.entries(targets).map(([job_name, target]) => ({
        job_name,
        static_configs: [{ targets: [target] }],
      })),
    };
    copyFileSync('docs/monitoring/alerts.yml', join(plane.folder, 'alerts.yml'));
    writeFileSync(join(plane.folder, 'prometheus.yml'), stringify(config));
    address = `http://127.0.0.1:${port}`;
    const argv = [
      '--config.file=prometheus.yml',
      '--storage.tsdb.path=series',
      `--web.listen-address=127.0.0.1:${port}`,
    ];
    prometheus = spawn('prometheus', argv, { cwd: plane.folder, stdio: 'ignore' });
  });

  after(async () => {
    if (prometheus?.exitCode === null) {
      prometheus.kill('SIGKILL');
      await once(prometheus, 'exit');
    }
    await fleet?.stop();
    await plane?.stop();
  });

  it('sees server, controllers and agent up', async () => {
    await until('all three to be up', async () => (await query('count(up == 1)'))[0]?.value[1] === '3');
    const engines = await query('mooring_agent_engine_up');
    expect(engines.map(({ metric, value }) => [metric['job'], value[1]])).to.deep.equal([['mooring-agent', '1']]);
    await until('every loop to have a leader', async () => {
      const loops = await query('sum by (loop) (mooring_loop_leader)');
      return loops.length > 0 && loops.every(({ value }) => value[1] === '1');
    });
  });

  it('takes every query of the dashboard', async () => {
    const { panels } = JSON.parse(readFileSync('docs/monitoring/grafana-dashboard.json', 'utf8')) as {
      readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
    };
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(expressions.length).to.be.above(20);
    for (const expression of expressions) await query(expression.replaceAll('$__rate_interval', '1m'));
  });

  it('evaluates every rule, and notices when an agent is gone', async () => {
    interface Rules {
      readonly groups: readonly {
        readonly rules: readonly { readonly name: string; readonly health: string; readonly state: string }[];
      }[];
    }
    const rules = async () => (await ask<Rules>('rules')).groups.flatMap(group => group.rules);
    await until('the rules to be evaluated', async () => (await rules()).every(({ health }) => health === 'ok'));
    const found = await rules();
    expect(found.length).to.be.above(10);
    expect(found.filter(({ name, state }) => name.endsWith('Down') && state !== 'inactive')).to.deep.equal([]);
    await machine.agent.kill('SIGKILL');
    const noticed = async () => (await rules()).find(({ name }) => name === 'MooringAgentDown')?.state !== 'inactive';
    await until('the alert of the agent', noticed);
  });
});
