import { expect } from 'chai';

import { keys, ranges } from '../../crds/keys/index.js';
import type { StoredNetwork } from '../../crds/network/index.js';
import type { NodePresence, StoredNode } from '../../crds/node/index.js';
import type { Report } from '../../crds/report/index.js';
import { value } from '../store/index.js';
import { DispatcherLab, LAB_NODE, nodeRecord, replica, LAB_TENANT, withoutStore } from './dispatcher-lab.testing.js';
import type { AssignmentLine, Heartbeat } from './agent-link.js';

const beat: Heartbeat = { labels: {}, capacity: nodeRecord.capacity, agentVersion: 'test' };

const report = (change: Partial<Report> = {}): Report => ({
  replica: 'rep_1',
  deployment: 'web',
  slot: 0,
  nodeId: LAB_NODE.id,
  templateHash: 'hash',
  state: 'running',
  health: 'none',
  restarts: 0,
  at: '2030-01-01T00:00:00.000Z',
  ...change,
});

describe('AgentDispatcher', () => {
  let lab: DispatcherLab;

  beforeEach(async () => {
    lab = await new DispatcherLab().start();
  });

  afterEach(() => lab.stop());

  const presence = () => {
    const entry = lab.cache.get(keys.alive(LAB_TENANT, LAB_NODE.name));
    return entry && value<NodePresence>(entry);
  };

  describe('heartbeat', () => {
    it('keeps the node present while heartbeats arrive', async () => {
      await lab.dispatcher.heartbeat(LAB_NODE, beat);
      expect(presence()?.id).to.equal(LAB_NODE.id);

      await lab.clock.pass(31_000);
      expect(presence()).to.equal(undefined);
    });

    it('writes nothing while nothing changes', async () => {
      await lab.dispatcher.heartbeat(LAB_NODE, beat);
      const before = await lab.store.revision();
      for (let turn = 0; turn < 20; turn++) {
        await lab.clock.pass(5_000);
        await lab.dispatcher.heartbeat(LAB_NODE, beat);
      }

      expect(await lab.store.revision()).to.equal(before);
      expect(presence()?.id).to.equal(LAB_NODE.id);
    });

    it('marks a node whose agent does not see its containers once, and until it sees them', async () => {
      await lab.dispatcher.heartbeat(LAB_NODE, beat);
      await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, containersSeenMsAgo: 74_000 });
      expect(presence()?.unobservedSince).to.equal(undefined);
      await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, containersSeenMsAgo: 76_000 });
      await lab.clock.pass(0);
      const since = presence()?.unobservedSince;
      expect(since).to.equal(new Date(lab.clock.now() - 76_000).toISOString());
      const before = await lab.store.revision();
      await lab.clock.pass(5_000);
      await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, containersSeenMsAgo: 81_000 });
      expect(await lab.store.revision()).to.equal(before);

      await lab.clock.pass(60_000);
      expect(presence(), 'the lease has expired').to.equal(undefined);
      await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, containersSeenMsAgo: 141_000 });
      await lab.clock.pass(0);
      expect(presence()?.unobservedSince).to.equal(since);
      await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, containersSeenMsAgo: 100 });
      await lab.clock.pass(0);
      expect(presence()).to.include({ id: LAB_NODE.id }).and.not.have.property('unobservedSince');
    });

    it('makes a node present again after its lease expired', async () => {
      await lab.dispatcher.heartbeat(LAB_NODE, beat);
      await lab.clock.pass(60_000);
      await lab.dispatcher.heartbeat(LAB_NODE, beat);

      expect(presence()?.id).to.equal(LAB_NODE.id);
    });

    it('does not let a heartbeat say that the control plane runs on the node', async () => {
      const isControlPlane = () => value<StoredNode>(lab.cache.get(keys.node(LAB_TENANT, LAB_NODE.name))!).controlPlane;
      await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, controlPlane: true });
      expect(isControlPlane()).to.equal(false);
    });

    it('stores the conditions of the machine when they change, and keeps them when a heartbeat omits them', async () => {
      const stored = () => value<StoredNode>(lab.cache.get(keys.node(LAB_TENANT, LAB_NODE.name))!).conditions;
      const condition = {
        type: 'LinkLocalBlocked',
        status: 'False',
        reason: 'firewall_unavailable',
        message: 'm',
      } as const;
      await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, conditions: [condition] });
      const first = await lab.store.revision();
      await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, conditions: [condition] });
      await lab.dispatcher.heartbeat(LAB_NODE, beat);
      expect([stored(), await lab.store.revision()]).to.deep.equal([[condition], first]);
      await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, conditions: [] });
      expect(stored()).to.equal(undefined);
    });

    it('stores changed labels together with their event', async () => {
      await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, labels: { disk: 'ssd' } });

      const entry = lab.cache.get(keys.node(LAB_TENANT, LAB_NODE.name))!;
      expect(value<StoredNode>(entry).labels).to.deep.equal({ disk: 'ssd' });
      const [event] = lab.cache.list(ranges.of(ranges.events, LAB_TENANT));
      expect(event?.revision).to.equal(entry.revision);
    });

    it('refuses a deleted node, and another node of the same name', async () => {
      expect(await lab.dispatcher.heartbeat({ ...LAB_NODE, id: 'node_0' }, beat)).to.equal(undefined);
      expect(presence()).to.equal(undefined);
    });
  });

  describe('report intake', () => {
    it('stores changed reports only', async () => {
      await lab.assign(replica());
      await lab.dispatcher.report(LAB_NODE, { reports: [report()] });
      const first = await lab.store.revision();
      await lab.dispatcher.report(LAB_NODE, { reports: [report({ at: '2030-01-01T00:01:00.000Z' })] });
      expect(await lab.store.revision()).to.equal(first);

      await lab.dispatcher.report(LAB_NODE, { reports: [report({ health: 'healthy' })] });
      await lab.cache.barrier();
      expect(lab.report('rep_1')?.health).to.equal('healthy');
    });

    it('bounds what one node can write, and takes the latest report in the end', async () => {
      await lab.assign(replica());
      const first = await lab.store.revision();
      let refused = 0;
      for (let at = 1; at <= 3_000; at++) {
        const { accepted } = await lab.dispatcher.report(LAB_NODE, { reports: [report({ restarts: at })] });
        if (!accepted) refused++;
        await lab.clock.pass(100);
      }
      // 300 s at 10 a second: a burst, then a few a second
      expect((await lab.store.revision()) - first).to.be.within(500, 1_000);
      expect(refused).to.be.within(2_000, 2_500);

      await lab.clock.pass(1_000);
      const last = { reports: [report({ restarts: 3_001 })] };
      expect(await lab.dispatcher.report(LAB_NODE, last)).to.deep.equal({ accepted: true });
      await lab.clock.pass(0);
      expect(await lab.dispatcher.report(LAB_NODE, last), 'a repetition costs nothing').to.deep.equal({
        accepted: true,
      });
    });

    it('takes a batch that is larger than the budget of its node', async () => {
      const many = Array.from({ length: 300 }, (_, slot) => replica({ uid: `rep_${slot}`, slot }));
      for (const each of many) await lab.assign(each);
      const reports = many.map(({ uid, slot }) => report({ replica: uid, slot }));
      expect(await lab.dispatcher.report(LAB_NODE, { reports })).to.deep.equal({ accepted: true });
    });

    const foreign: ReadonlyArray<{ name: string; other: Partial<Report>; accepted: boolean }> = [
      { name: 'of a replica of another node', other: { replica: 'rep_elsewhere', slot: 1 }, accepted: true },
      { name: 'of a replica of another tenant', other: { replica: 'rep_foreign' }, accepted: true },
      { name: 'of a replica that is not placed', other: { replica: 'rep_unplaced', slot: 2 }, accepted: true },
      { name: 'of a replica that does not exist', other: { replica: 'rep_absent', slot: 2 }, accepted: true },
      { name: 'in the name of another node', other: { nodeId: 'node_2' }, accepted: false },
      { name: 'that gives a replica another deployment', other: { deployment: 'db' }, accepted: false },
    ];
    for (const { name, other, accepted } of foreign) {
      it(`${accepted ? 'stores nothing of a' : 'refuses the whole batch for one'} report ${name}`, async () => {
        const { nodeId: _, ...unplaced } = replica({ uid: 'rep_unplaced', slot: 2 });
        await lab.assign(replica());
        await lab.assign(replica({ uid: 'rep_elsewhere', slot: 1, nodeId: 'node_2' }));
        await lab.assign(replica({ uid: 'rep_foreign', tenant: '00000000-0000-4000-8000-000000000000' }));
        await lab.assign(unplaced);

        const intake = await lab.dispatcher.report(LAB_NODE, { reports: [report(), report(other)] });

        expect(intake.accepted).to.equal(accepted);
        await lab.cache.barrier();
        expect(lab.report('rep_1') !== undefined).to.equal(accepted);
        if (other.replica) expect(lab.report(other.replica)).to.equal(undefined);
      });
    }

    it('skips a deleted replica, and deletes its stored report', async () => {
      await lab.assign(replica());
      await lab.dispatcher.report(LAB_NODE, { reports: [report()] });
      await lab.delete(keys.replica(LAB_TENANT, 'web', 0));

      expect((await lab.dispatcher.report(LAB_NODE, { reports: [report({ state: 'removed' })] })).accepted).to.equal(
        true,
      );
      await lab.cache.barrier();
      expect(lab.report('rep_1')).to.equal(undefined);
    });

    it('keeps a removed container removed when a late report arrives', async () => {
      await lab.assign(replica());
      await lab.dispatcher.report(LAB_NODE, { reports: [report({ state: 'removed' })] });
      await lab.cache.barrier();
      await lab.dispatcher.report(LAB_NODE, { reports: [report()] });
      await lab.cache.barrier();

      expect(lab.report('rep_1')?.state).to.equal('removed');
    });
  });

  describe('assignment stream', () => {
    const told = async () => {
      const lines: AssignmentLine[] = [];
      const end = lab.dispatcher.assignments(LAB_NODE, line => lines.push(line));
      await lab.clock.pass(0);
      return { lines, end };
    };

    it('[2.8.7] sends of a network its name, driver, labels and internal only', async () => {
      const network = (name: string, change: Partial<StoredNetwork> = {}): StoredNetwork => ({
        metadata: { ...nodeRecord.metadata, uid: `net_${name}` },
        name,
        driver: 'bridge',
        labels: { team: 'shop' },
        internal: true,
        nodeId: LAB_NODE.id,
        ...change,
      });
      const sent = (name: string) => ({
        name,
        driver: 'bridge',
        labels: { team: 'shop', 'mooring.io/network-uid': `net_${name}` },
        internal: true,
      });
      await lab.put(keys.network(LAB_TENANT, 'first'), network('first'));
      await lab.put(keys.network('another-tenant', 'foreign'), network('foreign'));
      const { lines } = await told();
      await lab.put(keys.network(LAB_TENANT, 'elsewhere'), network('elsewhere', { nodeId: 'node_2' }));
      await lab.put(keys.network(LAB_TENANT, 'second'), network('second'));
      await lab.delete(keys.network(LAB_TENANT, 'first'));
      expect(lines.map(withoutStore)).to.deep.equal([
        { type: 'snapshot', replicas: [], networks: [sent('first')], volumes: [] },
        { type: 'networks', networks: [sent('first'), sent('second')] },
        { type: 'networks', networks: [sent('second')] },
      ]);
    });

    it('begins with a snapshot of the own replicas only', async () => {
      await lab.assign(replica());
      await lab.assign(replica({ uid: 'rep_2', slot: 1, nodeId: 'node_2' }));

      expect((await told()).lines.map(withoutStore)).to.deep.equal([
        { type: 'snapshot', replicas: [replica()], networks: [], volumes: [] },
      ]);
    });

    it('continues with every change and with log requests', async () => {
      const { lines } = await told();
      const slot = { replica: 'rep_1', deploymentUid: 'dep_1', slot: 0 };
      const request = { id: 'log_1', ...slot, follow: false, tail: 10, server: 'http://127.0.0.1:1' };
      await lab.assign(replica());
      await lab.assign(replica({ retiringSince: 'now' }));
      await lab.put(keys.logRequest(LAB_TENANT, LAB_NODE.id, 'log_1'), request);
      await lab.delete(keys.replica(LAB_TENANT, 'web', 0));

      expect(lines.slice(1).map(withoutStore)).to.deep.equal([
        { type: 'set', replica: replica() },
        { type: 'set', replica: replica({ retiringSince: 'now' }) },
        { type: 'logs', request },
        { type: 'drop', uid: 'rep_1' },
      ]);
    });

    it('drops the old replica of a slot before it sets the new one', async () => {
      await lab.assign(replica());
      const { lines } = await told();
      await lab.assign(replica({ uid: 'rep_2', generation: 2 }));

      expect(lines.slice(1).map(({ type }) => type)).to.deep.equal(['drop', 'set']);
    });

    it('sends nothing to a closed stream', async () => {
      const { lines, end } = await told();
      end();
      await lab.assign(replica());

      expect(lines).to.have.length(1);
    });
  });
});
