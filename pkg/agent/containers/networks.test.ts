import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import type { NetworkReport, StoredNetwork } from '../../../crds/network/index.js';
import { LAB_NODE, LAB_TENANT, nodeRecord, replica } from '../../link/dispatcher-lab.testing.js';
import { value } from '../../store/index.js';
import { EngineRefusedFault } from '../engine/index.js';
import { NodeLab } from '../node-lab.testing.js';

const toNetwork = (name: string, change: Partial<StoredNetwork> = {}): StoredNetwork => ({
  metadata: { ...nodeRecord.metadata, uid: `net_${name}` },
  name,
  driver: 'bridge',
  labels: { team: 'shop' },
  internal: false,
  nodeId: LAB_NODE.id,
  ...change,
});
const engineName = (name: string) => `mooring-${LAB_TENANT}-net_${name}`;
const joining = (...networks: string[]) =>
  replica({ template: { image: 'registry.test/web:1', secretsVersion: 0, networks } });

describe('networks of a node', () => {
  let lab: NodeLab;

  beforeEach(async () => {
    lab = new NodeLab();
    await lab.start();
    await lab.startAgent();
  });
  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  const declare = async (name: string, change: Partial<StoredNetwork> = {}) => {
    await lab.put(keys.network(LAB_TENANT, name), toNetwork(name, change));
    await lab.clock.pass(1_000);
  };
  const names = () => lab.engine.networks.specs.map(({ name }) => name).sort();
  const report = (name: string) => {
    const entry = lab.cache.get(keys.networkReport(LAB_TENANT, name));
    return entry && value<NetworkReport>(entry);
  };
  const members = (name: string) => lab.engine.networks.membersOf(engineName(name));

  it('[2.8.7] are created with what the wire says of them, and reported; those of other nodes are not', async () => {
    await declare('backend', { internal: true });
    await declare('elsewhere', { nodeId: 'node_2' });
    expect(lab.engine.networks.specs).to.deep.equal([
      {
        name: engineName('backend'),
        network: 'backend',
        tenant: LAB_TENANT,
        nodeId: LAB_NODE.id,
        labels: { team: 'shop', 'mooring.io/network-uid': 'net_backend' },
        internal: true,
      },
    ]);
    expect(report('backend')).to.include({ uid: 'net_backend', state: 'ready' });
    expect(report('elsewhere')).to.equal(undefined);
  });

  it('are there before the containers that join them, in the place of the tenant’s own', async () => {
    await lab.assign(joining('front', 'back'));
    await lab.clock.pass(1_000);
    expect(lab.report('rep_1')).to.include({ state: 'failed', reason: 'network_missing' });
    await declare('front');
    await declare('back');
    await lab.clock.pass(60_000);
    expect(lab.running).to.deep.equal(['web running']);
    const [container] = lab.engine.containers;
    expect([members('front'), members('back')]).to.deep.equal([[container?.id], [container?.id]]);
  });

  it('are created again when they were removed by hand, and running containers are attached again', async () => {
    await declare('backend');
    await lab.assign(joining('backend'));
    await lab.clock.pass(5_000);
    const [before] = lab.engine.containers;
    lab.engine.networks.drop(engineName('backend'));
    await lab.clock.pass(60_000);
    expect(names()).to.deep.equal([engineName('backend')]);
    expect(members('backend')).to.deep.equal([before?.id]);
    expect(lab.report('rep_1')).to.include({ state: 'running', restarts: 0, containerId: before?.id });
  });

  it('are created again before containers are started after a restart of the engine', async () => {
    await declare('backend');
    await lab.assign(joining('backend'));
    await lab.clock.pass(5_000);
    lab.engine.networks.drop(engineName('backend'));
    lab.engine.restart();
    await lab.clock.pass(60_000);
    expect(lab.running).to.deep.equal(['web running']);
    expect(members('backend')).to.have.length(1);
  });

  it('are removed when they are not wanted any more, once no container holds them', async () => {
    await declare('backend');
    await lab.assign(joining('backend'));
    await lab.clock.pass(5_000);
    await lab.delete(keys.network(LAB_TENANT, 'backend'));
    await lab.clock.pass(10_000);
    expect(names()).to.deep.equal([engineName('backend')]);
    await lab.assign({ ...joining('backend'), retiringSince: '2030-01-01T00:00:00.000Z' });
    await lab.clock.pass(60_000);
    expect(names()).to.deep.equal([]);
  });

  it('are told apart from earlier ones of the same name', async () => {
    await declare('backend');
    await lab.delete(keys.network(LAB_TENANT, 'backend'));
    await declare('backend', { metadata: { ...nodeRecord.metadata, uid: 'net_second' } });
    await lab.clock.pass(60_000);
    expect(names()).to.deep.equal([`mooring-${LAB_TENANT}-net_second`]);
    expect(report('backend')).to.include({ uid: 'net_second', state: 'ready' });
  });

  it('stay while the link is cut, and are brought up to date when it is back', async () => {
    await declare('first');
    lab.wire.up = false;
    await lab.clock.pass(1_000);
    await lab.put(keys.network(LAB_TENANT, 'second'), toNetwork('second'));
    await lab.delete(keys.network(LAB_TENANT, 'first'));
    await lab.clock.pass(60_000);
    expect(names()).to.deep.equal([engineName('first')]);
    lab.wire.up = true;
    await lab.clock.pass(60_000);
    expect(names()).to.deep.equal([engineName('second')]);
  });

  it('survive a restart of the agent; what was deleted meanwhile goes', async () => {
    await declare('first');
    await declare('second');
    await lab.stopAgent();
    await lab.delete(keys.network(LAB_TENANT, 'first'));
    await lab.startAgent();
    await lab.clock.pass(60_000);
    expect(names()).to.deep.equal([engineName('second')]);
  });

  it('are reported with the words of the engine while it refuses them, and again when it does not', async () => {
    lab.failure = (operation, when) =>
      operation === 'create' && when === 'before' ? new EngineRefusedFault(403, 'no address pool is left') : undefined;
    await declare('backend');
    expect(report('backend')).to.include({ state: 'failed', message: 'no address pool is left' });
    lab.failure = undefined;
    await lab.clock.pass(60_000);
    expect(report('backend')).to.include({ state: 'ready' });
    expect(report('backend')).not.to.have.property('message');
  });

  /** Lets the engine refuse what the test picks, and nothing else. */
  const refuse = (isRefused: (what: string) => boolean) => {
    const { engine } = lab;
    const [ensure, join] = [engine.ensureNetwork.bind(engine), engine.joinNetworks.bind(engine)];
    const fault = new EngineRefusedFault(404, 'refused by the test');
    engine.ensureNetwork = spec => (isRefused(spec.network) ? Promise.reject(fault) : ensure(spec));
    engine.joinNetworks = (status, networks) =>
      isRefused(status.owner.replica) ? Promise.reject(fault) : join(status, networks);
  };

  it('are repaired while the control plane does not take what is said of them', async () => {
    await declare('front');
    await declare('backend');
    await lab.assign(joining('backend'));
    await lab.clock.pass(5_000);
    lab.wire.up = false;
    refuse(what => what === 'front');
    for (const name of ['front', 'backend']) lab.engine.networks.drop(engineName(name));
    await lab.clock.pass(60_000);
    expect(members('backend')).to.deep.equal(lab.engine.containers.map(({ id }) => id));
    lab.wire.up = true;
    await lab.clock.pass(60_000);
    expect(report('front')).to.include({ state: 'failed', message: 'refused by the test' });
  });

  it('are joined again by the containers after one that the engine refuses to attach', async () => {
    await declare('backend');
    await lab.assign(joining('backend'));
    await lab.assign({ ...joining('backend'), uid: 'rep_2', slot: 1 });
    await lab.clock.pass(5_000);
    const [first, second] = lab.engine.containers.toSorted((a, b) => a.name.localeCompare(b.name));
    expect([first?.owner.replica, second?.owner.replica]).to.deep.equal(['rep_1', 'rep_2']);
    let isRefused = true;
    refuse(what => isRefused && what === 'rep_1');
    lab.engine.networks.drop(engineName('backend'));
    await lab.clock.pass(60_000);
    expect(members('backend')).to.deep.equal([second?.id]);
    isRefused = false;
    await lab.clock.pass(60_000);
    expect(members('backend')).to.have.members([first?.id, second?.id]);
  });

  it('of a deleted node of the tenant are removed', async () => {
    const spec = { network: 'old', tenant: LAB_TENANT, labels: {}, internal: false };
    await lab.engine.ensureNetwork({ ...spec, name: 'orphan', nodeId: 'node_8' });
    await lab.put(keys.node(LAB_TENANT, 'n9'), { ...nodeRecord, id: 'node_9', name: 'n9' });
    await lab.engine.ensureNetwork({ ...spec, name: 'neighbour', nodeId: 'node_9' });
    await lab.clock.pass(600_000);
    expect(names()).to.deep.equal(['neighbour']);
  });
});
