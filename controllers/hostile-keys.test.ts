import { expect } from 'chai';

import { keys } from '../crds/keys/index.js';
import type { VolumeStatus } from '../crds/volume/index.js';
import { listHostileKeys } from '../dev/testing/index.js';
import { type Logger, silentLogger } from '../pkg/log/index.js';
import { encode } from '../pkg/store/index.js';
import { AT, makeDeployment, makeMetadata, TENANT, TestCluster } from './test-cluster.testing.js';
import { makeVolume } from '../crds/volume/volume.testing.js';

const ID = `vol_${'1'.repeat(26)}`;
const volume = makeVolume(makeMetadata(ID), { class: 'ephemeral' });

describe('a malformed key in every range', () => {
  let cluster: TestCluster;
  let failures: string[];

  const log: Logger = {
    ...silentLogger,
    warn: (message, fields) => failures.push(`${message} ${JSON.stringify(fields)}`),
    error: (message, fields) => failures.push(`${message} ${JSON.stringify(fields)}`),
    with: () => log,
  };
  const addMalformed = async () => {
    for (const key of listHostileKeys(TENANT)) {
      const bytes = encode({ ...volume, uid: 'u', tenant: TENANT, phase: 'Ready', nodeId: 'node_a' });
      await cluster.store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes }], deletes: [] });
    }
  };
  /** Declares a volume and what mounts it, and has the agent of its node report. */
  const work = async () => {
    await cluster.enrol('a');
    await cluster.put(keys.volume(TENANT, ID), volume);
    await cluster.clock.pass(20_000);
    await cluster.put(keys.volumeReport(TENANT, ID, 'node_a'), { id: ID, state: 'ready', nodeId: 'node_a', at: AT });
    const mount = { volumeId: ID, type: 'volume', mountPath: '/data', readOnly: false } as const;
    const web = makeDeployment({ replicas: 1, volumes: [mount] });
    await cluster.put(keys.deployment(TENANT, 'web'), web);
    await cluster.clock.pass(20_000);
    expect(await cluster.get<VolumeStatus>(keys.volumeStatus(TENANT, ID))).to.include({ phase: 'Ready' });
    expect(await cluster.whereabouts()).to.deep.equal(['node_a']);
    expect((await cluster.status())?.phase).to.equal('Running');
    const metadata = { ...makeMetadata('dep_1', 2), deletedAt: AT };
    await cluster.put(keys.deployment(TENANT, 'web'), { ...web, metadata });
    await cluster.clock.pass(20_000);
    expect(await cluster.get(keys.deployment(TENANT, 'web'))).to.equal(undefined);
    expect(failures).to.deep.equal([]);
  };

  beforeEach(() => {
    failures = [];
    cluster = new TestCluster();
  });
  afterEach(() => cluster.close());

  it('holds up no loop that meets it when it takes over', async () => {
    await addMalformed();
    const stop = cluster.controllers('one', undefined, undefined, { log });
    await work();
    stop.abort();
  });

  it('holds up no loop that is under way', async () => {
    const stop = cluster.controllers('one', undefined, undefined, { log });
    await cluster.clock.pass(1_000);
    await addMalformed();
    await work();
    stop.abort();
  });
});
