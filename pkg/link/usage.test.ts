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

  it('is stored once a minute where no policy needs it, and with each measurement where one does', async () => {
    await measure(10);
    for (let second = 15; second < 60; second += 15) {
      await lab.clock.pass(15_000);
      await measure(second);
    }
    expect(await cpu()).to.equal(10);
    await lab.clock.pass(15_000);
    await measure(60);
    expect(await cpu()).to.equal(60);
    await put(POLICY, {});
    await lab.clock.pass(15_000);
    await measure(75);
    expect(await cpu()).to.equal(75);
  });

  it('of a node that another machine has by now is not stored', async () => {
    const env = { store: lab.store, cache: lab.cache, clock: lab.clock, log: silentLogger };
    const figures = [{ replica: 'rep_1', cpu: 10, memory: 7 }];
    await recordUsage(env as never, { ...LAB_NODE, id: 'node_before' }, figures);
    expect(await stored()).to.equal(undefined);
  });

  it('costs no heartbeat when it cannot be stored', async () => {
    await put(POLICY, {});
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
