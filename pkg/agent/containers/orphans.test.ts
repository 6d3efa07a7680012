import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import { LAB_TENANT, nodeRecord, replica } from '../../link/dispatcher-lab.testing.js';
import { NodeLab } from '../node-lab.testing.js';

const OTHER = '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10';

/** The engine of a machine whose agents have left containers behind. */
class OrphanLab extends NodeLab {
  async leave(name: string, nodeId: string, tenant = LAB_TENANT): Promise<void> {
    const { uid: _, nodeId: __, ...owner } = replica({ deployment: name, deploymentUid: `dep-${name}`, tenant });
    const order = { image: 'registry.test/web:1', environment: {}, ports: [], network: '', alias: '' };
    await this.engine.pull(order.image);
    const id = await this.engine.create({ ...order, name, owner: { ...owner, nodeId, replica: `rep-${name}` } });
    await this.engine.start(id);
  }

  async addNode(id: string, name: string): Promise<void> {
    await this.put(keys.node(LAB_TENANT, name), { ...nodeRecord, id, name });
  }
}

describe('containers of deleted nodes', () => {
  let lab: OrphanLab;

  beforeEach(async () => {
    lab = new OrphanLab();
    await lab.start();
    await lab.addNode('node_9', 'n9');
  });
  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  it('are removed by the next agent; those of nodes that exist and of other tenants are not', async () => {
    await lab.leave('orphan', 'node_8');
    await lab.leave('neighbour', 'node_9');
    await lab.leave('foreign', 'node_8', OTHER);
    await lab.leave('strange', 'not an id');
    await lab.startAgent();
    await lab.clock.pass(1_000);

    expect(lab.running).to.deep.equal(['foreign running', 'neighbour running', 'strange running']);
  });

  it('make room for the replica that needs their name', async () => {
    await lab.leave('web', 'node_8');
    await lab.assign(replica());
    await lab.startAgent();
    await lab.clock.pass(60_000);

    expect(lab.engine.containers.map(({ owner }) => owner.nodeId)).to.deep.equal(['node_1']);
    expect(lab.report('rep_1')?.state).to.equal('running');
  });

  it('are left alone while the control plane does not answer, and removed when it does', async () => {
    await lab.leave('orphan', 'node_8');
    await lab.startAgent(); // joins first: a machine that is not a node yet knows no tenant
    await lab.stopAgent();
    await lab.leave('late', 'node_8');
    lab.wire.up = false;
    await lab.startAgent();
    await lab.clock.pass(120_000);
    expect(lab.running).to.deep.equal(['late running']);
    lab.wire.up = true;
    await lab.clock.pass(120_000);

    expect(lab.running).to.deep.equal([]);
  });

  it('are removed too when their node is deleted while another agent runs', async () => {
    await lab.leave('neighbour', 'node_9');
    await lab.startAgent();
    await lab.clock.pass(60_000);
    expect(lab.running).to.deep.equal(['neighbour running']);
    await lab.delete(keys.node(LAB_TENANT, 'n9'));
    await lab.clock.pass(300_000);

    expect(lab.running).to.deep.equal([]);
  });

  it('are retried when the engine fails in the middle', async () => {
    await lab.leave('orphan', 'node_8');
    let failures = 0;
    lab.failure = operation => (operation === 'remove' && failures++ < 3 ? new Error('busy') : undefined);
    await lab.startAgent();
    await lab.clock.pass(60_000);

    expect([lab.running, failures > 3]).to.deep.equal([[], true]);
  });
});
