import { expect } from 'chai';

import { dieAt } from '../lab/dying-at.js';
import { BRIEFLY, RolloutLab, SLOWLY } from '../lab/rollout-lab.js';
import { unwrap } from '../lab/tenant-client.js';

describe('a canary, on a real engine', function () {
  let lab: RolloutLab;

  before(async () => {
    const environment = { MOORING_LEADER_LEASE_SECONDS: '2' };
    lab = await RolloutLab.start({ canary: { replicas: 1 } }, { environment, leaving: SLOWLY });
  });
  after(() => lab?.stop());

  it('that is unhealthy goes back by itself, without a request lost', async () => {
    const before = await lab.shop.show('web');
    const failing = { type: 'exec', command: ['echo no page; false'], interval: '1s', retries: 3 };
    await lab.underTraffic(async () => {
      await lab.shop.change('web', { healthCheck: failing });
      await lab.reachesRevision(3);
      await lab.shop.reaches('web', 'Running');
    });
    const after = await lab.shop.show('web');
    expect(after.metadata.specHash).to.equal(before.metadata.specHash);
    expect(after.status?.rollout?.lastCanary).to.include({ revision: 2, outcome: 'aborted' });
    expect(after.status?.rollout?.failure).to.include({ reason: 'unhealthy', rolledBackTo: 1 });
    expect(await lab.events('canary_aborted')).to.have.length(1);
    expect((await lab.orderCanary('promote')).ok, 'none is under way any more').to.equal(false);
  });

  it('is held and promoted without a request lost, though the controllers are killed at every step', async () => {
    const [first, second] = [await lab.fleet.image('1'), await lab.fleet.image('2')];
    const steps = ['rollout.recording', 'rollout.recorded', 'replica.changing', 'replica.changed'] as const;
    const at = [...steps, 'rollout.recording', 'rollout.recorded', ...steps] as const;
    await lab.underTraffic(() =>
      dieAt({ part: lab.plane.controllers, at }, async () => {
        await lab.shop.change('web', { image: second, ...BRIEFLY });
        await lab.holdsCanary();
        await lab.runs(first, second);
        unwrap(await lab.orderCanary('promote'));
        await lab.runs(second, second);
        await lab.shop.reaches('web', 'Running');
      }),
    );
    expect(await lab.events('canary_started')).to.have.length(2);
    expect(await lab.events('canary_promoted')).to.have.length(1);
  });

  it('is aborted by an order, without a request lost', async () => {
    const [second, third] = [await lab.fleet.image('2'), await lab.fleet.image('3')];
    await lab.underTraffic(async () => {
      await lab.shop.change('web', { image: third });
      await lab.holdsCanary();
      await lab.runs(second, third);
      unwrap(await lab.orderCanary('abort'));
      await lab.runs(second, second);
      await lab.shop.reaches('web', 'Running');
    });
    const { image, status } = await lab.shop.show('web');
    expect(image).to.equal(second);
    expect(status?.rollout?.lastCanary).to.include({ outcome: 'aborted' });
    expect(await lab.events('canary_aborted')).to.have.length(2);
  });

  it('goes on after its deployment was deleted and restored from a backup, beside what ran beside it', async () => {
    const [{ image: third }, fourth] = [await lab.shop.show('web'), await lab.fleet.image('4')];
    await lab.shop.change('web', { image: fourth, rollout: { canary: { replicas: 1 } } });
    await lab.holdsCanary();
    await lab.runs(third, fourth);
    const body = { deploymentName: 'web' };
    const { id } = unwrap(await lab.shop.client.request<{ id: string }>('POST', '/api/v1/backups', { body }));
    await lab.shop.remove('web');
    const restored = await lab.shop.client.request<{ warnings: readonly unknown[] }>(
      'POST',
      `/api/v1/backups/${id}/restore`,
    );
    expect(unwrap(restored).warnings).to.deep.equal([]);
    await lab.holdsCanary();
    await lab.runs(third, fourth);
    unwrap(await lab.orderCanary('promote'));
    await lab.runs(fourth, fourth);
    await lab.shop.reaches('web', 'Running');
  });
});
