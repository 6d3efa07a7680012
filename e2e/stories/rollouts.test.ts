import { expect } from 'chai';

import { itDeep } from '../../dev/testing/index.js';
import type { ArchivedRevision } from '../../crds/archive/index.js';
import { dieTogether } from '../lab/dying-at.js';
import { BRIEFLY, RolloutLab, SLOWLY } from '../lab/rollout-lab.js';
import { unwrap } from '../lab/tenant-client.js';

describe('a rollout, on a real engine', function () {
  let lab: RolloutLab;

  before(async () => {
    const environment = { MOORING_LEADER_LEASE_SECONDS: '2' };
    lab = await RolloutLab.start({ progressDeadline: '20s' }, { environment });
  });
  after(() => lab?.stop());

  it('begins with a canary that is promoted by itself when it was healthy for its hold, without a request lost', async () => {
    const fifth = await lab.fleet.image('5');
    await lab.underTraffic(async () => {
      const rollout = { progressDeadline: '600s', canary: { replicas: 1, hold: '10s' } };
      await lab.shop.change('web', { image: fifth, ...BRIEFLY, rollout });
      await lab.runs(fifth, fifth);
      await lab.shop.reaches('web', 'Running');
    });
    expect(await lab.events('canary_started')).to.have.length(1);
    const [promoted] = await lab.events('canary_promoted');
    expect(promoted?.message).to.include('healthy for 10s');
  });

  itDeep('loses no request when the new image is good', async () => {
    const second = await lab.fleet.image('2');
    await lab.underTraffic(async () => {
      await lab.shop.change('web', { image: second, rollout: { progressDeadline: '20s' }, ...SLOWLY });
      await lab.runs(second, second);
      await lab.shop.reaches('web', 'Running');
    });
  });

  itDeep('goes back by itself, without losing a request, when the health check of the new image fails', async () => {
    const before = await lab.shop.show('web');
    const broken = await lab.fleet.image('3', { isBroken: true });
    // Its check also lets the program say something, as one does that is asked for a page.
    const command = [`echo asked for a page >/proc/1/fd/1; ${before.healthCheck?.command?.[0] ?? ''}`];
    await lab.underTraffic(async () => {
      await lab.shop.change('web', { image: broken, healthCheck: { ...before.healthCheck, command } });
      await lab.reachesRevision(5);
      await lab.shop.reaches('web', 'Running');
    });

    const after = await lab.shop.show('web');
    expect(after.image).to.equal(before.image);
    expect(after.metadata.specHash).to.equal(before.metadata.specHash);
    expect(after.status?.rollout?.failure).to.deep.include({ revision: 4, rolledBackTo: 3 });
    expect(after.status?.rollout?.failure?.output).to.include('404');
    expect(after.status?.rollout?.failure?.log, 'of the container itself').to.include('asked for a page');
    expect(after.status?.rollout?.failure?.containerId).to.match(/^[0-9a-f]{64}$/);
    expect(after.status?.rollout?.failure?.containerName).to.match(/^\S*web\.\d+/);
    expect(await lab.events('rollout_failed')).to.have.length(1);
    expect(await lab.events('rolled_back')).to.have.length(1);
    const { revisions } = unwrap(
      await lab.shop.client.request<{ revisions: ArchivedRevision[] }>('GET', '/api/v1/archives/deployments/web'),
    );
    expect(revisions.map(({ change }) => change)).to.deep.equal(['create', 'update', 'update', 'update', 'rollback']);
  });

  itDeep('loses no request though the controllers and the agents are killed at every step', async () => {
    const fourth = await lab.fleet.image('4');
    const { taken, free } = await lab.split();
    const steps = ['rollout.recording', 'rollout.recorded', 'replica.changing', 'replica.changed'] as const;
    const deaths = [
      { part: lab.plane.controllers, at: steps },
      ...free.map(({ agent }) => ({ part: agent, at: ['agent.created', 'agent.started'] as const })),
      ...taken.map(({ agent }) => ({ part: agent, at: ['agent.stopping', 'agent.stopped', 'agent.removed'] as const })),
    ];
    await lab.underTraffic(() =>
      dieTogether(deaths, async () => {
        await lab.shop.change('web', { image: fourth, ...BRIEFLY, rollout: { progressDeadline: '600s' } });
        await lab.runs(fourth, fourth);
        await lab.shop.reaches('web', 'Running');
      }),
    );
    expect(await lab.events('rollout_failed'), 'that of the broken image').to.have.length(1);
  });
});
