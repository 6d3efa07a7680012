import { expect } from 'chai';

import type { DeploymentStatus } from '../crds/deployment/index.js';
import { keys } from '../crds/keys/index.js';
import { makeDeployment, makeMetadata, TENANT, TestCluster } from './test-cluster.testing.js';

/** What all loops together may wait between an apply and a status that says Running, beside what agents and engines take. */
const WITHIN_MS = 300;

describe('from apply to running, on a virtual clock', () => {
  let cluster: TestCluster;

  beforeEach(async () => {
    cluster = new TestCluster();
    for (const name of ['one', 'two', 'three']) await cluster.enrol(name);
    cluster.controllers('a');
    await cluster.clock.pass(2_000);
  });
  afterEach(() => cluster.close());

  const timeToRunning = async (name: string, replicas: number): Promise<number> => {
    const begun = cluster.clock.now();
    const spec = makeDeployment({ name, replicas, metadata: makeMetadata(`dep_${name}`) });
    await cluster.put(keys.deployment(TENANT, name), spec);
    const phase = async () => (await cluster.get<DeploymentStatus>(keys.status(TENANT, name)))?.phase;
    while ((await phase()) !== 'Running' && cluster.clock.now() - begun < 10_000) await cluster.clock.pass(10);
    return cluster.clock.now() - begun;
  };

  for (const replicas of [1, 3, 30]) {
    it(`the loops add no more than ${WITHIN_MS} ms of waiting to a deployment of ${replicas}`, async () => {
      expect(await timeToRunning('web', replicas)).to.be.at.most(WITHIN_MS);
      expect(await timeToRunning('next', replicas), 'the second time').to.be.at.most(WITHIN_MS);
    });
  }
});
