import { expect } from 'chai';

import { keys, ranges } from '../../crds/keys/index.js';
import { TENANT } from '../../controllers/test-cluster.testing.js';
import type { Replica } from '../../crds/replica/index.js';
import { findContradictions } from './contradictions.js';
import { findJobContradictions } from './job-contradictions.js';
import { AgreementCluster } from './agreement-cluster.js';

const CAUSE = /the agent of node n0 sends heartbeats, but has reported nothing of this replica since \S+/;
const REMEDY = /look at the log of that agent, and restart it/;

describe('an agent that sends heartbeats and reports nothing of a replica', () => {
  let agreement: AgreementCluster;
  beforeEach(async () => {
    agreement = await new AgreementCluster().start();
    agreement.cluster.agentsWork = false;
    await agreement.perform({ kind: 'enrol', node: 0 });
  });
  afterEach(() => agreement.close());

  /** The agent is restarted: it reports what it was given. */
  const restartAgent = async (owner: string) => {
    for (const replica of await agreement.cluster.all<Replica>(ranges.replicasOf(TENANT, owner))) {
      await agreement.cluster.report(replica);
    }
    await agreement.cluster.clock.pass(5_000);
  };

  it('is named by the status, describe, explain and an event of the deployment after a minute, and not before', async () => {
    await agreement.perform({ kind: 'put', name: 'web', choice: 0 });
    await agreement.cluster.clock.pass(50_000);
    const early = (await agreement.readSurfaces('web'))!;
    expect(early.deployment.status.phase).to.equal('Progressing');
    expect(early.printed.describe).to.not.match(CAUSE);

    await agreement.cluster.clock.pass(30_000);
    const told = (await agreement.readSurfaces('web'))!;
    expect(findContradictions(told)).to.deep.equal([]);
    const { phase, placements } = told.deployment.status;
    expect(phase).to.equal('Degraded');
    expect(placements.map(({ reason }) => reason)).to.deep.equal(['report_missing']);
    expect(told.printed.describe).to.match(CAUSE).and.to.match(REMEDY);
    expect(told.printed.explain).to.match(CAUSE);
    expect(told.events.at(-1)).to.include({ type: 'deployment.degraded', reason: 'report_missing' });

    await restartAgent('web');
    const after = (await agreement.readSurfaces('web'))!;
    expect(findContradictions(after)).to.deep.equal([]);
    expect(after.deployment.status.phase).to.equal('Running');
    expect(await agreement.cluster.store.get(keys.deployment(TENANT, 'web'))).to.not.equal(undefined);
  });

  it('is named by the status and describe of a job, whose attempt waits', async () => {
    await agreement.perform({ kind: 'job', choice: 0 });
    await agreement.cluster.clock.pass(80_000);
    const told = (await agreement.readJobSurfaces())!;
    expect(findJobContradictions(told)).to.deep.equal([]);
    expect(told.job.status).to.include({ phase: 'Pending', reason: 'report_missing', attempts: 1 });
    expect(told.printed.describe).to.match(CAUSE).and.to.match(REMEDY);
    await restartAgent('job.batch');
    expect((await agreement.readJobSurfaces())!.job.status).to.include({ phase: 'Running', attempts: 1 });
  });
});
