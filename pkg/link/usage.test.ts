import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import type { NodeUsage } from '../../crds/node/index.js';
import { silentLogger } from '../log/index.js';
import { encode, value } from '../store/index.js';
import type { Heartbeat } from './agent-link.js';
import { DispatcherLab, LAB_NODE, LAB_TENANT, nodeRecord } from './dispatcher-lab.testing.js';
import { recordUsage } from './usage.js';

const KEY = keys.usage(LAB_TENANT, LAB_NODE.name);
const POLICY = keys.scalingPolicy(LAB_TENANT, 'web');
const beat: Heartbeat = { labels: {}, capacity: nodeRecord.capacity, agentVersion: 'test' };

describe('what the containers of a node use', () => {
  let lab: DispatcherLab;

  beforeEach(async () => {
    lab = await new DispatcherLab().start();
    await lab.dispatcher.heartbeat(LAB_NODE, beat);
    await lab.clock.pass(0);
  });
  afterEach(() => lab.stop());

  const put = async (key: string, document: unknown) => {
    const at = (await lab.store.get(key))?.revision ?? 0;
    await lab.store.commit({ guards: [{ key, at }], puts: [{ key, bytes: encode(document) }], deletes: [] });
    await lab.clock.pass(0);
  };
  const measure = async (cpu: number) => {
    await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, usage: [{ replica: 'rep_1', cpu, memory: 7 }] });
    await lab.clock.pass(0);
  };
  const stored = async () => {
    const entry = await lab.store.get(KEY);
    return entry && value<NodeUsage>(entry);
  };
  const metadata = { tenant: LAB_TENANT, uid: 'dep_1', generation: 1, createdAt: '', updatedAt: '', specHash: '' };
  /** Gives the replica a deployment that requests half a core, with a policy. */
  const scale = async (policy: object) => {
    const resources = { cpu: '500m', memory: '64Mi' };
    const deployment = { metadata, kind: 'Deployment', name: 'web', image: 'i', replicas: 1, resources };
    await put(keys.deployment(LAB_TENANT, 'web'), deployment);
    await put(keys.replica(LAB_TENANT, 'web', 0), { uid: 'rep_1', tenant: LAB_TENANT, deployment: 'web', slot: 0 });
    await put(POLICY, { metadata, minReplicas: 1, maxReplicas: 3, ...policy });
  };
  const cpu = async () => (await stored())?.replicas[0]?.cpu;

  it('is stored with its time, on the lease of the node, and goes with it', async () => {
    await measure(10);
    expect(await stored()).to.deep.equal({
      id: LAB_NODE.id,
      at: new Date(lab.clock.now()).toISOString(),
      replicas: [{ replica: 'rep_1', cpu: 10, memory: 7 }],
    });
    await lab.clock.pass(31_000);
    expect(await stored()).to.equal(undefined);
  });

  /** Measures every 15 seconds, keeping the node alive, and says what was stored after each. */
  const measureAll = async (...figures: readonly number[]) => {
    const kept: (number | undefined)[] = [];
    for (const figure of figures) {
      await lab.clock.pass(15_000);
      await measure(figure);
      kept.push(await cpu());
    }
    return kept;
  };

  it('is stored once a minute where no policy needs it', async () => {
    await measure(10);
    expect(await measureAll(900, 20, 300, 60, 70)).to.deep.equal([10, 10, 10, 60, 60]);
  });

  it('is stored when it has moved so far that a policy could decide otherwise, and else before it is too old for that', async () => {
    await scale({ targetCpuPercent: 50 });
    await measure(250);
    // The target is 250 thousandths of a core, and a twentieth of that 12.5.
    expect(await measureAll(262, 238, 262, 255, 255), 'nothing moves').to.deep.equal([250, 250, 262, 262, 262]);
    expect(await measureAll(248, 236, 235.5), 'it moves').to.deep.equal([248, 248, 235.5]);
  });

  it('costs few writes under a load that is steady', async () => {
    await scale({ targetCpuPercent: 50 });
    await measure(250);
    const from = (await lab.store.get(KEY))!.revision;
    let writes = 0;
    let seen = from;
    for (let sample = 0; sample < 120; sample++) {
      await measureAll(250 + (sample % 3) * 4);
      const { revision } = (await lab.store.get(KEY))!;
      if (revision !== seen) writes++;
      seen = revision;
    }
    expect(writes, 'of 120 measurements').to.be.within(30, 40);
  });

  it('is stored at once when a replica is measured for the first time', async () => {
    await scale({ targetCpuPercent: 50 });
    await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, usage: [] });
    await lab.clock.pass(0);
    expect(await measureAll(250)).to.deep.equal([250]);
  });

  it('is not stored for the sake of a policy that has no target for it, or that is of another deployment', async () => {
    await scale({ targetMemoryPercent: 50 });
    await measure(250);
    expect(await measureAll(900)).to.deep.equal([250]);
    await scale({ targetCpuPercent: 50, metadata: { ...metadata, uid: 'dep_before' } });
    expect(await measureAll(900)).to.deep.equal([250]);
  });

  it('of a node that another machine has by now is not stored', async () => {
    const env = { store: lab.store, cache: lab.cache, clock: lab.clock, log: silentLogger };
    const figures = [{ replica: 'rep_1', cpu: 10, memory: 7 }];
    await recordUsage(env as never, { ...LAB_NODE, id: 'node_before' }, figures);
    expect(await stored()).to.equal(undefined);
  });

  it('costs no heartbeat when it cannot be stored', async () => {
    await scale({ targetCpuPercent: 50 });
    await measure(10);
    const { commit } = lab.store;
    lab.store.commit = change =>
      change.puts.some(({ key }) => key === KEY) ? Promise.reject(new Error('away')) : commit.call(lab.store, change);
    await lab.clock.pass(15_000);
    await measure(20);
    expect(await cpu()).to.equal(10);
    lab.store.commit = commit;
    await lab.clock.pass(15_000);
    await measure(30);
    expect(await cpu()).to.equal(30);
  });
});
