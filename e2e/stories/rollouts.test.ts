import { expect } from 'chai';

import type { ArchivedRevision } from '../../crds/archive/index.js';
import { RolloutLab } from '../lab/rollout-lab.js';
import { unwrap } from '../lab/tenant-client.js';

describe('a rollout, on a real engine', function () {
  let lab: RolloutLab;

  before(async () => {
    lab = await RolloutLab.start({ progressDeadline: '10s' });
  });
  after(() => lab?.stop());

  it('loses no request when the new image is good', async () => {
    const second = await lab.fleet.image('2');
    await lab.underTraffic(async () => {
      await lab.shop.change('web', { image: second });
      await lab.runs(second, second);
      await lab.shop.reaches('web', 'Running');
    });
  });

  it('goes back by itself, without losing a request, when the health check of the new one fails', async () => {
    const before = await lab.shop.show('web');
    const failing = { type: 'exec', command: ['echo no page; false'], interval: '1s' };
    await lab.underTraffic(async () => {
      await lab.shop.change('web', { healthCheck: failing });
      await lab.reachesRevision(4);
      await lab.shop.reaches('web', 'Running');
    });

    const after = await lab.shop.show('web');
    expect(after.healthCheck).to.deep.equal(before.healthCheck);
    expect(after.metadata.specHash).to.equal(before.metadata.specHash);
    expect(after.status?.rollout?.failure).to.deep.include({ revision: 3, rolledBackTo: 2 });
    expect(after.status?.rollout?.failure?.output).to.include('no page');
    expect(await lab.events('rollout_failed')).to.have.length(1);
    expect(await lab.events('rolled_back')).to.have.length(1);
    const { revisions } = unwrap(
      await lab.shop.client.request<{ revisions: ArchivedRevision[] }>('GET', '/api/v1/archives/deployments/web'),
    );
    expect(revisions.map(({ change }) => change)).to.deep.equal(['create', 'update', 'update', 'rollback']);
  });
});
