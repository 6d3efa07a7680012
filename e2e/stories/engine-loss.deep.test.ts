import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { createControllers } from '../../controllers/index.js';
import { makeDeployment } from '../../controllers/test-cluster.testing.js';
import type { DeploymentStatus } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../crds/node/index.js';
import { buildDemoImage, DockerdProcess, RegistryProcess } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { Agent } from '../../pkg/agent/agent.js';
import { createMemoryDisk } from '../../pkg/agent/disk.js';
import { DockerEngine } from '../../pkg/agent/engine/index.js';
import { seededRandom } from '../../pkg/clock/index.js';
import { DispatcherLab, LAB_NODE, LAB_TENANT, nodeRecord } from '../../pkg/link/dispatcher-lab.testing.js';
import { silentLogger } from '../../pkg/log/index.js';
import { value } from '../../pkg/store/index.js';

/** So often does an agent send heartbeats; the clock of the test goes on by as much between two looks. */
const HEARTBEAT_MS = 5_000;

describe('a node whose container engine dies with its containers', () => {
  const lab = new DispatcherLab();
  const stop = new AbortController();
  let folder: string;
  let dockerd: DockerdProcess;
  let registry: RegistryProcess;
  let engine: DockerEngine;
  let agent: Promise<void> | undefined;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-e2e-'));
    registry = await RegistryProcess.start({ folder: join(folder, 'registry') });
    dockerd = await DockerdProcess.start({ folder: join(folder, 'engine') });
    engine = new DockerEngine({ host: dockerd.host, hostPortAddress: '127.0.0.1' });
    const image = await buildDemoImage(registry.address);
    await lab.start();
    const { clock, store, cache, secrets } = lab;
    const random = seededRandom(5);
    const settings = { holder: 'a', leaderLeaseSeconds: 9, eventRetentionDays: 7 };
    const controllers = createControllers({ store, cache, clock, random, log: silentLogger, secrets, ...settings });
    void controllers.run(stop.signal);
    const env = { clock, random, engine, link: lab.link(), disk: createMemoryDisk(), log: silentLogger };
    agent = new Agent(env, { name: LAB_NODE.name, version: 'test', joinToken: 'join' }).run(stop.signal);
    const { metadata } = nodeRecord;
    const web = makeDeployment({ image, metadata: { ...metadata, uid: 'dep_1' }, nodeId: LAB_NODE.id, replicas: 2 });
    await lab.put(keys.deployment(LAB_TENANT, web.name), web);
  });
  after(async () => {
    stop.abort();
    await lab.clock.pass(60_000);
    await agent;
    lab.stop();
    await engine?.close();
    await registry?.kill('SIGKILL');
    await dockerd?.destroy();
    await rm(folder, { recursive: true, force: true });
  });

  const read = async <T>(key: string): Promise<T | undefined> => {
    const entry = await lab.store.get(key);
    return entry && value<T>(entry);
  };
  const readStatus = () => read<DeploymentStatus>(keys.status(LAB_TENANT, 'web'));
  const readNode = () => read<NodeStatus>(keys.nodeStatus(LAB_TENANT, LAB_NODE.name));
  const countEvents = async (type: string) =>
    (await lab.store.list(ranges.events)).entries.filter(entry => value<StoredEvent>(entry).type === type).length;
  const reaches = (phase: string) =>
    until(`web to be ${phase}`, async () => {
      await engine.list(LAB_NODE.id).catch(() => undefined); // so that a heartbeat takes as long as a list of containers
      await lab.clock.pass(HEARTBEAT_MS);
      return (await readStatus())?.phase === phase;
    });

  it('is claimed to run nothing, and runs everything again when the engine is back', async () => {
    await reaches('Running');
    const first = await engine.list(LAB_NODE.id);
    expect(first.map(({ state }) => state)).to.deep.equal(['running', 'running']);
    await dockerd.kill('SIGKILL');
    await dockerd.stop(); // what it left: its containers die unseen
    await reaches('Degraded');

    const status = (await readStatus())!;
    expect(status.readyReplicas).to.equal(0);
    expect(status.conditions.find(({ type }) => type === 'Available')).to.include({
      status: 'Unknown',
      reason: 'ContainersUnobserved',
    });
    expect(status.placements.map(({ state }) => state)).to.deep.equal(['unknown', 'unknown']);
    expect(status.message).to.include(`the container engine of node ${LAB_NODE.name} has not answered since`);
    expect(await readNode())
      .to.include({ status: 'unready', reason: 'engine_unreachable' })
      .and.to.have.property('unobservedSince');
    expect(await countEvents('node.engine_unreachable')).to.equal(1);

    await dockerd.restart();
    await reaches('Running');
    expect(await readNode()).to.not.have.property('unobservedSince');
    expect(await countEvents('node.engine_recovered')).to.equal(1);
    // An engine that is back may show a container as running until it has found it dead.
    await until('both containers to run again', async () => {
      await lab.clock.pass(HEARTBEAT_MS);
      return (await engine.list(LAB_NODE.id)).filter(({ state }) => state === 'running').length === 2;
    });
    await reaches('Running');
  });

  it('is not ready while its engine is frozen, and ready again without a new start when it goes on', async () => {
    await reaches('Running');
    const before = (await readStatus())!.placements.map(({ containerId, restarts }) => ({ containerId, restarts }));
    process.kill(dockerd.pid!, 'SIGSTOP');
    try {
      await until('web to be claimed no more', async () => {
        await lab.clock.pass(HEARTBEAT_MS);
        return (await readStatus())?.phase === 'Degraded';
      });
    } finally {
      process.kill(dockerd.pid!, 'SIGCONT');
    }
    const { placements } = (await readStatus())!;
    expect(placements.map(({ state, health }) => [state, health])).to.deep.equal(Array(2).fill(['unknown', 'unknown']));
    const { conditions = [] } = (await read<StoredNode>(keys.node(LAB_TENANT, LAB_NODE.name)))!;
    expect(conditions.find(({ type }) => type === 'EngineReady')).to.include({ status: 'False' });

    await reaches('Running');
    expect((await readNode())?.status).to.equal('ready');
    const after = (await readStatus())!.placements.map(({ containerId, restarts }) => ({ containerId, restarts }));
    expect(after).to.deep.equal(before);
  });
});
