import { expect } from 'chai';

import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';

const SCALING = '/api/v1/deployments/web/scaling';
const view = (change: object = {}) => ({
  metadata: { revision: '77' },
  deployment: 'web',
  minReplicas: 1,
  maxReplicas: 4,
  targetCpuPercent: 60,
  stabilization: '5m',
  status: { replicas: 3, base: 1, message: 'cpu 180 % of 60 %; 1 → 3 replicas' },
  current: { cpuPercent: 70, measuredReplicas: 3 },
  alterations: [],
  warnings: [],
  ...change,
});

describe('moor autoscale', () => {
  const lab = useCommandLab();
  const moor = (...words: readonly string[]) => lab.moor(['autoscale', ...words]);
  const reply = (method: string, status: number, body: object) =>
    lab.api.replies.set(`${method} ${SCALING}`, () => ({ status, body }));
  const sent = () => lab.api.got.filter(({ method }) => method !== 'GET');

  it('shows the bounds, what is used of the target, how many are wanted and why', async () => {
    reply('GET', 200, view());
    const { code, out } = await moor('web');
    expect(code).to.equal(0);
    for (const shown of ['1 to 4', '70% of 60%', '3 (spec: 1)', '5m', 'cpu 180 % of 60 %']) {
      expect(out).to.include(shown);
    }
    expect(sent()).to.deep.equal([]);
  });

  it('says where nothing was measured, or looked at, yet', async () => {
    reply('GET', 200, view({ status: { replicas: 1, base: 1 }, current: { measuredReplicas: 0 } }));
    const { out } = await moor('web');
    expect(out).to.include('? of 60%').and.to.include('not looked at yet');
  });

  it('of a deployment that is not scaled says so and fails', async () => {
    lab.api.replies.set(`GET ${SCALING}`, () => replyRefused(404, 'scaling_policy_not_found'));
    const { code, err } = await moor('web');
    expect(code).to.not.equal(0);
    expect(err).to.include('scaling_policy_not_found');
  });

  it('sets a policy where there is none', async () => {
    lab.api.replies.set(`GET ${SCALING}`, () => replyRefused(404, 'scaling_policy_not_found'));
    reply('PUT', 200, view());
    const { code, out } = await moor('web', '--min', '1', '--max', '4', '--cpu', '60');
    expect(code).to.equal(0);
    expect(out).to.include('deployment/web is scaled');
    const [put] = sent();
    expect(put?.body).to.deep.equal({ minReplicas: 1, maxReplicas: 4, targetCpuPercent: 60 });
    expect(put?.ifMatch).to.equal(undefined);
  });

  it('changes what is named, leaves the rest, and only of what it has seen', async () => {
    reply('GET', 200, view());
    reply('PUT', 200, view({ maxReplicas: 9 }));
    expect((await moor('web', '--max', '9')).code).to.equal(0);
    const [put] = sent();
    const rest = { minReplicas: 1, targetCpuPercent: 60, stabilization: '5m' };
    expect(put?.body).to.deep.equal({ ...rest, maxReplicas: 9 });
    expect(put?.ifMatch).to.equal('"77"');
  });

  it('reports what the server refuses', async () => {
    reply('GET', 200, view());
    lab.api.replies.set(`PUT ${SCALING}`, () => replyRefused(422, 'scaling_range_invalid'));
    const { code, err, out } = await moor('web', '--min', '7');
    expect(code).to.not.equal(0);
    expect(err).to.include('scaling_range_invalid');
    expect(out).to.equal('');
  });

  it('ends the scaling with --off, which takes no other option', async () => {
    reply('DELETE', 200, { deployment: 'web', alterations: [], warnings: [] });
    const { code, out } = await moor('web', '--off');
    expect([code, out.trim()]).to.deep.equal([0, 'deployment/web is not scaled any more']);
    const { code: wrong, err } = await moor('web', '--off', '--min', '2');
    expect(wrong).to.not.equal(0);
    expect(err).to.include('--off ends the scaling');
    expect(sent().map(({ method }) => method)).to.deep.equal(['DELETE']);
  });

  it('stores nothing in a dry run', async () => {
    reply('GET', 200, view());
    lab.api.replies.set(`PUT ${SCALING}?dryRun=true`, () => ({ status: 200, body: view() }));
    const { code, out } = await moor('web', '--max', '9', '--dry-run');
    expect(code).to.equal(0);
    expect(out).to.include('would be scaled').and.not.to.include('BOUNDS');
  });
});

describe('moor top', () => {
  const lab = useCommandLab();
  const usage = {
    deployments: [
      {
        name: 'web',
        replicas: 3,
        measuredReplicas: 2,
        used: { cpu: 300, memory: 64 * 2 ** 20 },
        requestPerReplica: { cpu: 100, memory: null },
      },
      {
        name: 'idle',
        replicas: 1,
        measuredReplicas: 0,
        used: { cpu: 0, memory: 0 },
        requestPerReplica: { cpu: null, memory: null },
      },
    ],
    nodes: [
      {
        name: 'n1',
        measuredContainers: 2,
        used: { cpu: 500, memory: 2 ** 30 },
        capacity: { cpu: 2000, memory: 4 * 2 ** 30 },
      },
      { name: 'n2', measuredContainers: 0, used: null, capacity: { cpu: 2000, memory: 4 * 2 ** 30 } },
    ],
  };
  beforeEach(() => lab.api.replies.set('GET /api/v1/usage', () => ({ status: 200, body: usage })));
  const rows = async (...words: readonly string[]) => {
    const { code, out } = await lab.moor(['top', ...words]);
    expect(code).to.equal(0);
    return out
      .trim()
      .split('\n')
      .map(line => line.split(/ {2,}/).map(cell => cell.trim()));
  };

  it('deployments shows what is used of what those that were measured request', async () => {
    const [, web, idle] = await rows('deployments');
    expect(web?.[0]).to.equal('web');
    expect(web).to.include('150%').and.to.include('2/3');
    expect(idle).to.deep.equal(['idle', '-', '-', '-', '-', '0/1']);
  });

  it('nodes shows what is used of what they have', async () => {
    const [, first, second] = await rows('nodes');
    expect(first).to.include('25%');
    expect(second).to.deep.equal(['n2', '-', '-', '-', '-', '0']);
  });

  it('gives documents and names to programs', async () => {
    const { out } = await lab.moor(['top', 'nodes', '-o', 'json']);
    expect(JSON.parse(out)).to.deep.equal({ nodes: usage.nodes });
    expect((await lab.moor(['top', 'deployments', '-o', 'name'])).out).to.equal('deployment/web\ndeployment/idle\n');
  });

  it('takes nothing else', async () => {
    const { code, err } = await lab.moor(['top', 'jobs']);
    expect(code).to.not.equal(0);
    expect(err).to.include('top takes "deployments" or "nodes"');
    expect(lab.api.got).to.deep.equal([]);
  });
});
