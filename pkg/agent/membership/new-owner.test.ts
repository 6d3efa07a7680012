import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import { seededRandom } from '../../clock/index.js';
import { LinkRefusedFault, type NodeIdentity } from '../../link/index.js';
import { DispatcherLab, LAB_NODE, nodeRecord, replica, LAB_TENANT } from '../../link/dispatcher-lab.testing.js';
import { LocalLink } from '../../link/local-link.testing.js';
import { silentLogger } from '../../log/index.js';
import { Agent } from '../agent.js';
import { createMemoryDisk } from '../disk.js';
import { SimulatedEngine } from '../engine/index.js';

const OTHER = '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10';
const NEXT: NodeIdentity = { tenant: OTHER, id: 'node_2', name: LAB_NODE.name };
const neighbour = replica({ uid: 'rep_9', nodeId: 'node_9', deployment: 'other', deploymentUid: 'dep_9' });

/** A control plane where a machine changes hands, and that machine. */
class HandOver extends DispatcherLab {
  readonly engine = new SimulatedEngine({ clock: this.clock, random: seededRandom(7) });
  readonly disk = createMemoryDisk();
  owner: NodeIdentity = LAB_NODE;
  enrolments = 0;
  #end = new AbortController();
  #ended: Promise<void> = Promise.resolve();

  startAgent(joinToken?: string): Promise<void> {
    const expiresAt = new Date(this.clock.now() + 86_400_000).toISOString();
    const link = new LocalLink(this.dispatcher, {
      enrol: (_request, token) => {
        this.enrolments++;
        if (token !== this.owner.tenant) throw new LinkRefusedFault(409, 'node_owned_by_another_tenant');
        return Promise.resolve({ node: this.owner, token: this.owner.id, expiresAt });
      },
      renew: ({ nodeId }) => {
        if (nodeId !== this.owner.id) throw new LinkRefusedFault(403, 'node_proof_invalid');
        return Promise.resolve({ node: this.owner, token: this.owner.id, expiresAt });
      },
      identify: token => [LAB_NODE, NEXT].find(({ id }) => id === token),
    });
    const env = { clock: this.clock, random: seededRandom(3), engine: this.engine, disk: this.disk, link };
    this.#end = new AbortController();
    const options = { name: LAB_NODE.name, version: 'test', ...(joinToken !== undefined && { joinToken }) };
    this.#ended = new Agent({ ...env, log: silentLogger }, options).run(this.#end.signal);
    return this.clock.pass(100);
  }

  async stopAgent(): Promise<void> {
    this.#end.abort();
    await this.clock.pass(10_000);
    await this.#ended;
  }

  /** The owner lets go while a container runs, and the machine becomes the next one's. */
  async handOver(): Promise<void> {
    this.owner = NEXT;
    await this.delete(keys.node(LAB_TENANT, LAB_NODE.name));
    await this.delete(keys.replica(LAB_TENANT, 'web', 0));
    const metadata = { ...nodeRecord.metadata, tenant: OTHER, uid: NEXT.id };
    await this.put(keys.node(OTHER, LAB_NODE.name), { ...nodeRecord, id: NEXT.id, metadata });
  }

  get running(): readonly string[] {
    return this.engine.containers.map(({ owner, state }) => `${owner.replica} ${state}`).toSorted();
  }
}

describe('agent of a machine with a new owner', () => {
  let lab: HandOver;

  beforeEach(async () => {
    lab = new HandOver();
    await lab.start();
    await lab.startAgent(LAB_TENANT);
    await lab.assign(replica());
    await lab.clock.pass(100);
    expect(lab.running).to.deep.equal(['rep_1 running']);
  });
  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  const assignToNext = () =>
    lab.assign(
      replica({ uid: 'rep_2', tenant: OTHER, nodeId: NEXT.id, deploymentUid: 'dep_2', templateHash: 'other' }),
    );

  it('becomes the new owner’s node with a join token, and removes the old owner’s containers', async () => {
    await lab.stopAgent();
    await lab.handOver();
    await assignToNext();
    await lab.startAgent(OTHER);
    await lab.clock.pass(60_000);

    expect(lab.running).to.deep.equal(['rep_2 running']);
    expect(lab.cache.get(keys.report(OTHER, NEXT.id, 'rep_2'))).to.not.equal(undefined);
  });

  it('removes the images of the old owner once, before the new owner’s containers are created', async () => {
    await lab.stopAgent();
    await lab.handOver();
    await lab.engine.pull('registry.test/private:1');
    let prunes = 0;
    const prune = lab.engine.pruneImages.bind(lab.engine);
    lab.engine.pruneImages = () => {
      prunes++;
      return prune();
    };
    await lab.startAgent(OTHER);
    await lab.clock.pass(60_000);
    expect([await lab.engine.findImage('registry.test/private:1'), prunes]).to.deep.equal([undefined, 1]);

    await lab.stopAgent();
    await lab.startAgent(OTHER);
    await lab.clock.pass(60_000);
    expect(prunes).to.equal(1);
  });

  it('creates no container for the new owner before the old owner’s are removed', async () => {
    await lab.stopAgent();
    await lab.handOver();
    await assignToNext();
    lab.engine.setReachable(false);
    await lab.startAgent(OTHER);
    let both = false;
    lab.clock.after(5_000, () => lab.engine.setReachable(true));
    for (let ms = 0; ms < 60_000; ms += 100) {
      await lab.clock.pass(100);
      both ||= lab.running.length > 1;
    }

    expect([both, lab.running]).to.deep.equal([false, ['rep_2 running']]);
  });

  it('removes containers that the engine created late for the old owner, and no other node’s', async () => {
    await lab.stopAgent();
    await lab.handOver();
    await lab.startAgent(OTHER);
    await lab.clock.pass(60_000);
    await lab.engine.pull('registry.test/web:1');
    const order = { image: 'registry.test/web:1', environment: {}, ports: [], network: '', alias: '' };
    for (const each of [replica({ uid: 'rep_late' }), neighbour]) {
      const { uid, nodeId = '', ...owner } = each;
      await lab.engine.create({ ...order, name: uid, owner: { ...owner, nodeId, replica: uid } });
    }
    await lab.clock.pass(60_000);

    expect(lab.running).to.deep.equal(['rep_9 created']);
  });

  it('starts nothing and retries rarely without a join token of the new owner', async () => {
    await lab.stopAgent();
    await lab.handOver();
    await assignToNext();
    const { changes } = lab.engine;
    await lab.startAgent('not a token of the new owner');
    const before = lab.enrolments;
    await lab.clock.pass(600_000);

    expect([lab.running, lab.engine.changes]).to.deep.equal([['rep_1 running'], changes]);
    expect(lab.enrolments - before).to.be.within(5, 40);
  });
});
