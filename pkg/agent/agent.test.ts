import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import type { NodePresence } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { declareRestore } from '../link/index.js';
import { value } from '../store/index.js';
import { LAB_NODE, replica, secretReplica, LAB_TENANT } from '../link/dispatcher-lab.testing.js';
import { EngineUnreachableFault, type SimulatedEngineOptions } from './engine/index.js';
import { NodeLab } from './node-lab.testing.js';

const checked: Replica['template'] = {
  image: 'registry.test/web:1',
  secretsVersion: 0,
  healthCheck: { type: 'exec', command: ['true'] },
};

describe('agent', () => {
  let lab: NodeLab;

  const begin = async (options: Partial<SimulatedEngineOptions> = {}) => {
    lab = new NodeLab(options);
    await lab.start();
    await lab.startAgent();
  };

  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  it('[2.2.6] pulls, creates, starts and reports an assigned replica', async () => {
    await begin();
    await lab.assign(replica());
    await lab.assign(replica({ uid: 'rep_2', slot: 1 }));
    await lab.clock.pass(0);

    expect(lab.running).to.deep.equal(['web running', 'web.1 running']);
    expect(lab.report('rep_1')).to.include({ state: 'running', health: 'none', restarts: 0, nodeId: 'node_1' });
    const container = lab.engine.containers.find(({ owner }) => owner.replica === 'rep_1');
    expect(lab.report('rep_1')?.containerId).to.equal(container?.id);
  });

  it('gives a second replica a name that no deployment can have', async () => {
    await begin();
    await lab.assign(replica({ slot: 1 }));
    await lab.clock.pass(1_000);
    await lab.assign(replica({ uid: 'rep_2', deployment: 'web-1', deploymentUid: 'dep_2' }));
    await lab.clock.pass(1_000);

    expect(lab.running).to.deep.equal(['web-1 running', 'web.1 running']);
    for (const uid of ['rep_1', 'rep_2']) expect(lab.report(uid)?.state).to.equal('running');
  });

  it('reports health as it changes', async () => {
    await begin({ healthyAfterMs: 2_000 });
    await lab.assign(replica({ template: checked }));
    await lab.clock.pass(0);
    expect(lab.report('rep_1')?.health).to.equal('starting');

    await lab.clock.pass(2_000);
    expect(lab.report('rep_1')?.health).to.equal('healthy');

    lab.engine.setHealth(lab.engine.containers[0]!.id, 'unhealthy');
    await lab.clock.pass(0);
    expect(lab.report('rep_1')?.health).to.equal('unhealthy');
  });

  it('stops and removes a retiring replica, and only then reports it removed', async () => {
    await begin();
    await lab.assign(replica());
    await lab.clock.pass(0);
    lab.latencyMs = operation => (operation === 'stop' ? 4_000 : 0);
    await lab.assign(replica({ retiringSince: 'now' }));
    await lab.clock.pass(1_000);
    expect(lab.report('rep_1')?.state).to.equal('stopping');

    await lab.clock.pass(4_000);
    expect(lab.running).to.deep.equal([]);
    expect(lab.report('rep_1')?.state).to.equal('removed');
  });

  it('makes no call when there is nothing to do', async () => {
    await begin();
    await lab.assign(replica({ template: checked }));
    await lab.clock.pass(10_000);
    const [changes, revision] = [lab.engine.changes, await lab.store.revision()];
    await lab.clock.pass(600_000);

    expect([lab.engine.changes, await lab.store.revision()]).to.deep.equal([changes, revision]);
  });

  describe('after a restart', () => {
    it('[2.7.10] advertises the labels of its own configuration, as they are now', async () => {
      lab = new NodeLab();
      await lab.start();
      const advertised: string[] = [];
      const send = lab.wire.heartbeat.bind(lab.wire);
      lab.wire.heartbeat = beat => {
        advertised.push(beat.labels['mooring.io/country'] ?? 'nothing');
        return send(beat);
      };
      for (const country of ['DE', 'FR']) {
        await lab.startAgent({ 'mooring.io/country': country });
        await lab.clock.pass(6_000);
        await lab.stopAgent();
      }

      expect(advertised.join(' ')).to.match(/^(DE )+(FR ?)+$/);
    });

    it('adopts running containers without changing them', async () => {
      await begin();
      await lab.assign(replica());
      await lab.clock.pass(0);
      const { changes } = lab.engine;
      await lab.stopAgent();
      await lab.startAgent();
      await lab.clock.pass(60_000);

      expect(lab.engine.changes).to.equal(changes);
      expect(lab.running).to.deep.equal(['web running']);
    });

    it('removes containers whose replicas were dropped meanwhile', async () => {
      await begin();
      await lab.assign(replica());
      await lab.clock.pass(0);
      await lab.stopAgent();
      await lab.delete(keys.replica(LAB_TENANT, 'web', 0));
      await lab.startAgent();

      expect(lab.running).to.deep.equal([]);
    });

    it('removes nothing before the first snapshot', async () => {
      await begin();
      await lab.assign(replica());
      await lab.clock.pass(0);
      await lab.stopAgent();
      await lab.delete(keys.replica(LAB_TENANT, 'web', 0));
      lab.wire.up = false;
      await lab.startAgent();
      await lab.clock.pass(120_000);
      expect(lab.running).to.deep.equal(['web running']);

      lab.wire.up = true;
      await lab.clock.pass(10_000);
      expect(lab.running).to.deep.equal([]);
    });
  });

  describe('when a container exits', () => {
    it('restarts it at once, then with a growing back-off', async () => {
      await begin();
      await lab.assign(replica());
      await lab.clock.pass(0);
      const { id } = lab.engine.containers[0]!;
      const restarts = () => lab.report('rep_1')?.restarts;

      lab.engine.crash(id, 1);
      await lab.clock.pass(0);
      expect(restarts()).to.equal(1);

      lab.engine.crash(id, 1);
      await lab.clock.pass(500);
      expect(lab.report('rep_1')).to.include({ state: 'exited', exitCode: 1, restarts: 1 });
      await lab.clock.pass(600);
      expect(restarts()).to.equal(2);

      lab.engine.crash(id, 1);
      await lab.clock.pass(1_500);
      expect(restarts()).to.equal(2);
      await lab.clock.pass(600);
      expect(restarts()).to.equal(3);

      lab.engine.crash(id, 1);
      await lab.clock.pass(100);
      expect(lab.report('rep_1')).to.include({ state: 'exited', reason: 'crash_loop' });
    });

    it('remembers a crash loop over its own restart', async () => {
      await begin();
      await lab.assign(replica());
      await lab.clock.pass(0);
      const { id } = lab.engine.containers[0]!;
      for (let turn = 0; turn < 4; turn++) {
        lab.engine.crash(id, 1);
        await lab.clock.pass(10_000);
      }
      await lab.stopAgent();
      lab.engine.crash(id, 1);
      await lab.startAgent();

      expect(lab.report('rep_1')).to.include({ state: 'exited', reason: 'crash_loop', restarts: 4 });
    });

    it('resets the back-off after a minute of running', async () => {
      await begin();
      await lab.assign(replica());
      await lab.clock.pass(0);
      const { id } = lab.engine.containers[0]!;
      for (let turn = 0; turn < 3; turn++) {
        lab.engine.crash(id, 1);
        await lab.clock.pass(61_000);
      }
      lab.engine.crash(id, 1);
      await lab.clock.pass(0);

      expect(lab.report('rep_1')).to.include({ state: 'running', restarts: 4 });
    });
  });

  describe('when the engine', () => {
    it('is unreachable, reports nothing as removed, and catches up later', async () => {
      await begin();
      await lab.assign(replica());
      await lab.clock.pass(0);
      lab.engine.setReachable(false);
      await lab.assign(replica({ retiringSince: 'now' }));
      await lab.clock.pass(120_000);
      expect(lab.report('rep_1')?.state).to.equal('running');

      lab.engine.setReachable(true);
      await lab.clock.pass(0);
      expect(lab.report('rep_1')?.state).to.equal('removed');
    });

    it('is unreachable for long, says with its heartbeats that it does not see its containers', async () => {
      await begin();
      await lab.assign(replica());
      await lab.clock.pass(0);
      const isUnobserved = () => {
        const entry = lab.cache.get(keys.alive(LAB_TENANT, LAB_NODE.name));
        return entry && value<NodePresence>(entry).unobservedSince !== undefined;
      };
      await lab.clock.pass(120_000);
      expect(isUnobserved()).to.equal(false);
      lab.engine.setReachable(false);
      await lab.clock.pass(10_000);
      expect(isUnobserved()).to.equal(false);
      await lab.clock.pass(20_000);
      expect(isUnobserved()).to.equal(true);

      lab.engine.setReachable(true);
      await lab.clock.pass(10_000);
      expect(isUnobserved()).to.equal(false);
    });

    it('was restarted, starts all containers again', async () => {
      await begin();
      await lab.assign(replica());
      await lab.clock.pass(0);
      lab.engine.restart();
      await lab.clock.pass(0);

      expect(lab.running).to.deep.equal(['web running']);
      expect(lab.report('rep_1')).to.include({ state: 'running', restarts: 1 });
    });

    it('fails after creating a container, lists before it decides', async () => {
      await begin();
      lab.failure = (operation, when) => {
        if (operation !== 'create' || when !== 'after') return undefined;
        return new EngineUnreachableFault('cut');
      };
      await lab.assign(replica());
      await lab.clock.pass(0);
      lab.failure = undefined;
      await lab.assign(replica({ retiringSince: 'now' }));
      await lab.clock.pass(0);

      expect(lab.report('rep_1')?.state).to.equal('removed');
      expect(lab.running).to.deep.equal([]);
    });

    it('cannot pull the image, reports why and retries', async () => {
      let held = false;
      await begin({ registryHasImage: () => held });
      await lab.assign(replica());
      await lab.clock.pass(0);
      expect(lab.report('rep_1')).to.include({ state: 'failed', reason: 'image_pull_failed' });

      held = true;
      await lab.clock.pass(5_000);
      expect(lab.report('rep_1')?.state).to.equal('running');
    });
  });

  describe('when the control plane', () => {
    it('is unreachable, keeps containers running and reports later', async () => {
      await begin();
      await lab.assign(replica());
      await lab.clock.pass(0);
      lab.wire.up = false;
      lab.engine.crash(lab.engine.containers[0]!.id, 3);
      await lab.clock.pass(300_000);
      expect(lab.running).to.deep.equal(['web running']);

      lab.wire.up = true;
      await lab.clock.pass(20_000);
      expect(lab.report('rep_1')).to.include({ state: 'running', restarts: 1 });
    });

    it('has lost a report, sends it again', async () => {
      await begin();
      await lab.assign(replica());
      await lab.clock.pass(0);
      await lab.delete(keys.report(LAB_TENANT, 'node_1', 'rep_1'));
      lab.wire.up = false;
      lab.wire.up = true;
      await lab.clock.pass(10_000);

      expect(lab.report('rep_1')?.state).to.equal('running');
    });

    it('was restored from an old backup, does not roll back', async () => {
      await begin();
      await lab.assign(replica({ uid: 'rep_5', generation: 5 }));
      await lab.clock.pass(0);
      await lab.stopAgent();
      await lab.assign(replica({ uid: 'rep_4', generation: 4 }));
      await lab.startAgent();
      await lab.clock.pass(1_000);

      expect(lab.report('rep_4')).to.include({ state: 'failed', reason: 'assignment_outdated' });
      expect(lab.running).to.deep.equal(['web running']);
    });
  });

  it('keeps two slots of one name apart and never runs two containers of one slot', async () => {
    await begin();
    await lab.assign(replica());
    await lab.clock.pass(0);
    await lab.assign(replica({ uid: 'rep_2', generation: 2, templateHash: 'other' }));
    await lab.clock.pass(1_000);

    expect(lab.engine.containers.map(({ owner }) => owner.replica)).to.deep.equal(['rep_2']);
  });

  describe('with secrets', () => {
    /** The variables of secrets, each time the engine was asked for a container. */
    const watchOrders = () => {
      const orders: Record<string, string>[] = [];
      const create = lab.engine.create.bind(lab.engine);
      lab.engine.create = order => {
        orders.push(Object.fromEntries([...(order.secrets ?? [])].map(([name, secret]) => [name, secret.reveal()])));
        return create(order);
      };
      return orders;
    };

    it('requests them once, when the image is present and the container is created', async () => {
      await begin();
      const orders = watchOrders();
      await lab.keep('web-db', { user: 'shop', password: 'first' });
      await lab.assign(secretReplica());
      await lab.clock.pass(5_000);

      expect(lab.running).to.deep.equal(['web running']);
      expect(orders).to.deep.equal([{ DB_user: 'shop', DB_password: 'first', URL: 'db://shop:first@db' }]);
    });

    it('requests them again after a crash before the container was created', async () => {
      await begin();
      const orders = watchOrders();
      await lab.keep('web-db', { user: 'shop', password: 'first' });
      lab.failure = (operation, when) =>
        operation === 'create' && when === 'before' ? new EngineUnreachableFault('away') : undefined;
      await lab.assign(secretReplica());
      await lab.clock.pass(0);
      await lab.stopAgent();
      lab.failure = undefined;
      await lab.startAgent();
      await lab.clock.pass(5_000);

      expect(lab.running).to.deep.equal(['web running']);
      expect(orders.length).to.be.greaterThan(1);
    });

    it('uses a fresh ticket when the pull took longer than the first was valid', async () => {
      await begin();
      lab.latencyMs = operation => (operation === 'pull' ? 90_000 : 0);
      await lab.keep('web-db', { user: 'shop', password: 'first' });
      await lab.assign(secretReplica());
      await lab.clock.pass(100_000);

      expect(lab.running).to.deep.equal(['web running']);
    });

    it('recreates a container that was removed by other means', async () => {
      await begin();
      await lab.keep('web-db', { user: 'shop', password: 'first' });
      await lab.assign(secretReplica());
      await lab.clock.pass(1_000);
      const [first] = lab.engine.containers;
      await lab.engine.remove(first!.id);
      await lab.clock.pass(60_000);

      expect(lab.running).to.deep.equal(['web running']);
      expect(lab.engine.containers[0]?.id).not.to.equal(first?.id);
    });

    it('gets a ticket although the store, restored from a backup, has the report of a container that is no more', async () => {
      await begin();
      await lab.keep('web-db', { user: 'shop', password: 'first' });
      await lab.assign(secretReplica());
      await lab.clock.pass(1_000);
      const replicaKey = keys.replica(LAB_TENANT, 'web', 0);
      const reportKey = keys.report(LAB_TENANT, LAB_NODE.id, 'rep_1');
      const backup = [replicaKey, reportKey].map(key => [key, lab.cache.get(key)!] as const);
      expect(lab.report('rep_1')?.containerId).to.be.a('string');
      await lab.assign(secretReplica({ retiringSince: 'now' }));
      await lab.clock.pass(5_000);
      for (const key of [replicaKey, reportKey]) await lab.delete(key);
      await lab.clock.pass(5_000);
      expect(lab.running).to.deep.equal([]);

      for (const [key, entry] of backup.toReversed()) await lab.put(key, value(entry));
      await declareRestore(lab.store, lab.clock);
      await lab.clock.pass(30_000);
      expect(lab.running).to.deep.equal(['web running']);
    });

    it('does not restart the assignment stream in a loop when no ticket comes', async () => {
      await begin();
      await lab.assign(secretReplica());
      await lab.clock.pass(0);
      let snapshots = 0;
      const assignments = lab.dispatcher.assignments.bind(lab.dispatcher);
      lab.dispatcher.assignments = (node, onLine) =>
        assignments(node, line => {
          if (line.type === 'snapshot') snapshots++;
          onLine(line.type === 'snapshot' ? { ...line, tickets: {} } : line);
        });
      await lab.clock.pass(30_000);
      expect(snapshots).to.be.within(1, 30);
    });

    it('creates no container while secrets are unavailable, reports it, and creates it later', async () => {
      await begin();
      await lab.assign(secretReplica());
      await lab.clock.pass(1_000);
      expect(lab.running).to.deep.equal([]);
      expect(lab.report('rep_1')).to.include({ state: 'failed', reason: 'secrets_unresolved' });

      await lab.keep('web-db', { user: 'shop', password: 'first' });
      await lab.clock.pass(60_000);
      expect(lab.running).to.deep.equal(['web running']);
    });
  });
});
