import { expect } from 'chai';

import type { StoredEvent } from '../../../crds/event/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import { type StoredVolume, toAssignedVolume, type VolumeStatus } from '../../../crds/volume/index.js';
import { makeTerm } from '../../../crds/volume/terms.testing.js';
import { value } from '../../../pkg/store/index.js';
import { ApiLab } from '../../api-lab.testing.js';
import { ID, RECORDED_AT as AT, toNodeId, writeRecords } from './volume-records.testing.js';

describe('copies of volumes over HTTP', () => {
  let lab: ApiLab;
  let token: string;

  const { put, settle, enrol, declare } = writeRecords(() => lab);
  const stored = () => value<StoredVolume>(lab.cache.get(keys.volume(lab.a, ID))!);
  const ask = (method: string, path: string, body?: unknown) =>
    lab.ask(method, `/api/v1/tenants/self/volumes/${path}`, { token, ...(body !== undefined && { body }) });
  const refuse = async (method: string, path: string, body: unknown, wanted: string) => {
    const before = (await lab.store.list('')).entries.map(({ key, revision }) => `${key}@${revision}`);
    const answer = await ask(method, path, body);
    expect(`${answer.status} ${String(answer.body['code'])} ${String(answer.body['field'])}`).to.equal(wanted);
    const after = (await lab.store.list('')).entries.map(({ key, revision }) => `${key}@${revision}`);
    expect(after).to.deep.equal(before);
  };

  beforeEach(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a, 'deployer');
    for (const digit of [1, 2, 3]) await enrol(digit, { capacity: { cpu: 1, memory: 1, disk: 1 } });
    await declare();
    await settle();
  });
  afterEach(() => lab.stop());

  it('[2.6.2] are wanted once unless the volume says how often', async () => {
    const body = { name: 'more', class: 'replicated', sizeBytes: 2 ** 30 };
    const { status, body: made } = await lab.ask('POST', '/api/v1/dvm/volumes', { token, body });
    expect(status).to.equal(201);
    expect(made).to.include({ class: 'replicated', wantedReplicas: 1, phase: 'Pending', epoch: null });
  });

  it('[4.19] are asked for on a node, by its name or its id, and once', async () => {
    const { status, body } = await ask('POST', 'data/replicas', { node_id: 'machine-2' });
    expect(status).to.equal(200);
    expect(body).to.include({ id: ID, wantedReplicas: 2, epoch: 1 });
    expect(stored()).to.deep.include({ replicas: 2, replicaNodes: [toNodeId(2)] });
    expect(stored().metadata.generation).to.equal(2);
    const conflict = '422 volume_replica_node_conflict node_id';
    await refuse('POST', `${ID}/replicas`, { node_id: 'machine-2' }, conflict);
    await refuse('POST', `${ID}/replicas`, { node_id: toNodeId(1) }, conflict);
    await settle({
      copies: [{ nodeId: toNodeId(2), state: 'synced', syncedAt: AT, lagBytes: 0 }],
      leaving: [toNodeId(3)],
    });
    await refuse('POST', `${ID}/replicas`, { node_id: 'machine-3' }, conflict);
    const events = (await lab.store.list(ranges.events)).entries.map(entry => value<StoredEvent>(entry));
    expect(events.map(({ type, reason }) => `${type} ${reason}`)).to.deep.equal([
      'volume.replicas_changed volume_replica_requested',
    ]);
  });

  it('are refused on a node that keeps volumes with another driver than the primary, which no refusal lists', async () => {
    await enrol(1, { volumeDriver: 'btrfs' });
    await enrol(2, { volumeDriver: 'directory' });
    await enrol(3, { volumeDriver: 'btrfs' });
    const { status, body } = await ask('POST', 'data/replicas', { node_id: 'machine-2' });
    expect([status, body['code']]).to.deep.equal([422, 'volume_replica_node_conflict']);
    expect(body['expected']).to.match(/: machine-3 \(.*; machine-2 is on the volume driver directory, not btrfs\)$/);
    await settle({ driver: 'directory' });
    expect((await ask('POST', 'data/replicas', { node_id: 'machine-2' })).status, 'what its primary says').to.equal(
      200,
    );
    await enrol(3, {});
    expect((await ask('POST', 'data/replicas', { node_id: 'machine-3' })).status, 'an older agent').to.equal(200);
  });

  it('are shown with how far each is', async () => {
    const copy = { nodeId: toNodeId(2), state: 'syncing', lagBytes: 7, sentBytes: 3, totalBytes: 10 } as const;
    await settle({ copies: [copy] });
    const { body } = await lab.ask('GET', '/api/v1/dvm/volumes/data', { token });
    expect(body['replicas']).to.deep.equal([{ ...copy, nodeName: 'machine-2' }]);
    expect(body).to.include({ wantedReplicas: 1, epoch: 1 }).and.not.have.any.keys('replicaNodes', 'excludedNodes');
  });

  it('are removed by order, and not put there again by themselves', async () => {
    await settle({ copies: [{ nodeId: toNodeId(2), state: 'synced' }] });
    await refuse('DELETE', 'data/replicas/machine-3', undefined, '404 resource_not_found node_id');
    await refuse('DELETE', 'data/replicas/machine-1', undefined, '404 resource_not_found node_id');
    for (const phase of ['Degraded', 'Promoting', 'Failed'] as const) {
      await settle({ phase, copies: [{ nodeId: toNodeId(2), state: 'synced' }] });
      await refuse('DELETE', 'data/replicas/machine-2', undefined, '409 volume_not_ready id');
    }
    await settle({ copies: [{ nodeId: toNodeId(2), state: 'synced' }] });
    expect((await ask('DELETE', 'data/replicas/machine-2')).status).to.equal(200);
    expect(stored()).to.deep.include({ replicas: 0, excludedNodes: [toNodeId(2)] });
    expect((await ask('DELETE', 'data/replicas/machine-2')).status, 'once more').to.equal(200);
    expect(stored()).to.deep.include({ replicas: 0, excludedNodes: [toNodeId(2)], abandonedNodes: [] });
    expect(stored().metadata.generation).to.equal(2);
    await settle();
    await refuse('DELETE', 'data/replicas/machine-2', undefined, '404 resource_not_found node_id');
    expect((await ask('POST', 'data/replicas', { node_id: 'machine-2' })).status).to.equal(200);
    expect(stored()).to.deep.include({ replicas: 1, replicaNodes: [toNodeId(2)], excludedNodes: [] });
  });

  it('that are alive go with it, whatever is lost beside them', async () => {
    await enrol(4, { capacity: { cpu: 1, memory: 1, disk: 1 } });
    await put(keys.volume(lab.a, ID), { ...stored(), replicas: 2 });
    const states = [
      [2, 'synced'],
      [3, 'lost'],
      [4, 'synced'],
    ] as const;
    await settle({ copies: states.map(([digit, state]) => ({ nodeId: toNodeId(digit), state })) });
    expect((await ask('DELETE', 'data/replicas/machine-2')).status).to.equal(200);
    expect(stored().replicas).to.equal(1);
  });

  it('do not wait for one on a node that is gone', async () => {
    const copies = [2, 8].map(digit => ({ nodeId: toNodeId(digit), state: 'synced' }) as const);
    await put(keys.volume(lab.a, ID), { ...stored(), replicas: 1, replicaNodes: [toNodeId(9)] });
    await settle({ copies });
    expect((await ask('DELETE', 'data/replicas/machine-2')).status).to.equal(200);
    expect(stored()).to.deep.include({ replicas: 0, replicaNodes: [] });
  });

  it('that another has replaced go without it: as many are wanted as before', async () => {
    const copies = [2, 3].map(digit => ({ nodeId: toNodeId(digit), state: digit === 2 ? 'lost' : 'synced' }) as const);
    await settle({ copies });
    const { body } = await ask('DELETE', 'data/replicas/machine-2?force=true');
    expect(body).to.include({ wantedReplicas: 1 });
    expect(stored()).to.deep.include({ replicas: 1, excludedNodes: [toNodeId(2)], abandonedNodes: [toNodeId(2)] });
    expect((await ask('DELETE', 'data/replicas/machine-3')).status, 'the last one').to.equal(200);
    expect(stored()).to.deep.include({ replicas: 0, excludedNodes: [toNodeId(2), toNodeId(3)] });
  });

  it('of which others have no node yet are one fewer without it', async () => {
    await put(keys.volume(lab.a, ID), { ...stored(), replicas: 3 });
    await settle({ copies: [{ nodeId: toNodeId(2), state: 'synced' }] });
    expect((await ask('DELETE', 'data/replicas/machine-2')).status).to.equal(200);
    expect(stored()).to.deep.include({ replicas: 2, excludedNodes: [toNodeId(2)] });
  });

  it('beside which something was set aside are given up with force only', async () => {
    const divergent = [{ nodeId: toNodeId(2), name: 'divergent-1', epoch: 1, at: AT }];
    await settle({ copies: [{ nodeId: toNodeId(2), state: 'synced' }], divergent });
    const path = 'data/replicas/machine-2';
    await refuse('DELETE', path, undefined, '409 volume_replica_set_aside node_id');
    const { body: refusal } = await ask('DELETE', path);
    expect(refusal['code']).to.equal('volume_replica_set_aside');
    expect(refusal['expected']).to.contain('divergent-1');
    await refuse('DELETE', `${path}?force=yes`, undefined, '400 query_parameter_invalid force');
    expect((await ask('DELETE', `${path}?force=true`)).status).to.equal(200);
    expect(stored()).to.deep.include({ replicas: 0, excludedNodes: [toNodeId(2)], abandonedNodes: [toNodeId(2)] });
    expect((await ask('DELETE', `${path}?force=true`)).status, 'once more').to.equal(200);
    expect(stored().metadata.generation).to.equal(2);
    await settle();
    const { body } = await ask('POST', 'data/replicas', { node_id: 'machine-2' });
    expect(body).to.include({ wantedReplicas: 1 }).and.not.have.any.keys('abandonedNodes');
    expect(stored()).to.deep.include({ excludedNodes: [], abandonedNodes: [] });
  });

  it('that were asked to go before are given up with force', async () => {
    await settle({ copies: [{ nodeId: toNodeId(2), state: 'syncing' }] });
    expect((await ask('DELETE', 'data/replicas/machine-2')).status).to.equal(200);
    expect((await ask('DELETE', 'data/replicas/machine-2?force=true')).status).to.equal(200);
    expect(stored()).to.deep.include({ replicas: 0, abandonedNodes: [toNodeId(2)] });
  });

  it('of a volume that goes or that cannot be read stay as they are', async () => {
    const sound = stored();
    await put(keys.volume(lab.a, ID), { ...sound, metadata: { ...sound.metadata, deletedAt: AT } });
    await refuse('POST', 'data/replicas', { node_id: 'machine-2' }, '409 volume_not_ready id');
    await put(keys.volume(lab.a, ID), { ...sound, replicas: 'many' });
    await refuse('POST', `${ID}/replicas`, { node_id: 'machine-2' }, '409 volume_record_unusable id');
  });

  it('change nothing in a dry run', async () => {
    const before = stored();
    const { body } = await ask('POST', 'data/replicas?dryRun=true', { node_id: 'machine-2' });
    expect(body).to.include({ dryRun: true, change: 'update' });
    await lab.cache.barrier();
    expect(stored()).to.deep.equal(before);
  });

  it('are shown with how far they are behind, and the furthest is a metric', async () => {
    const measure = async (name = 'lag_seconds') =>
      new RegExp(`^mooring_volume_${name} (\\d+)$`, 'm').exec((await lab.ask('GET', '/metrics')).text)?.[1];
    expect(await measure()).to.equal('0');
    const syncedAt = new Date(lab.clock.now() - 90_000).toISOString();
    const even = { nodeId: toNodeId(2), state: 'synced', syncedAt, lagBytes: 0 } as const;
    await settle({ copies: [even, { ...even, nodeId: toNodeId(3), lagBytes: 7 }] });
    const { body } = await lab.ask('GET', '/api/v1/dvm/volumes/data', { token });
    const [first, second] = body['replicas'] as { lagSeconds: number }[];
    expect(first).to.include({ lagSeconds: 0 });
    expect(second?.lagSeconds).to.be.at.least(90);
    expect(Number(await measure())).to.be.at.least(90);
    expect(await measure('incomplete_copies')).to.equal('0');
    const never = { nodeId: toNodeId(3), state: 'syncing' } as const;
    const since = new Date(lab.clock.now() - 60_000).toISOString();
    await settle({ phase: 'Degraded', reason: 'volume_node_silent', since, copies: [even, never] });
    expect(Number(await measure()), 'of a primary that sends no heartbeats').to.be.within(60, 89);
    expect(await measure('incomplete_copies')).to.equal('1');
  });

  it('that were set aside by a former primary go when a user asks for it, from that node alone', async () => {
    const path = (node: string, name: string) => `data/divergent/${node}/${name}`;
    const aside = (digit: number, name: string) => ({ nodeId: toNodeId(digit), name, epoch: 1, at: AT });
    const copies = [2, 3].map(digit => ({ nodeId: toNodeId(digit), state: 'synced' as const }));
    const divergent = [aside(2, 'divergent-1'), aside(3, 'divergent-1'), aside(3, 'divergent-2')];
    await settle({ phase: 'Degraded', copies, divergent });
    await refuse('DELETE', path('machine-2', 'divergent-1'), undefined, '409 volume_not_ready id');
    await settle({ copies, divergent, lineage: [makeTerm(1)] });
    await refuse('DELETE', path('machine-1', 'divergent-1'), undefined, '404 resource_not_found node_id');
    await refuse('DELETE', path('machine-2', 'divergent-2'), undefined, '404 resource_not_found name');
    await refuse('DELETE', path('machine-2', '%2e%2e'), undefined, '404 endpoint_not_found path');
    token = await lab.tenantToken(lab.a, 'viewer');
    await refuse('DELETE', path('machine-2', 'divergent-1'), undefined, '403 auth_forbidden Authorization');
    token = await lab.tenantToken(lab.a, 'deployer');

    const dryRun = await ask('DELETE', `${path('machine-2', 'divergent-1')}?dryRun=true`);
    expect([dryRun.status, dryRun.body['dryRun'], stored().discarded]).to.deep.equal([200, true, undefined]);
    const { status, body } = await ask('DELETE', path('machine-2', 'divergent-1'));
    expect(status).to.equal(200);
    const shown = body['divergent'] as { nodeName: string; name: string; isDiscarded: boolean }[];
    expect(shown.map(each => `${each.nodeName} ${each.name} ${each.isDiscarded}`)).to.deep.equal([
      'machine-2 divergent-1 true',
      'machine-3 divergent-1 false',
      'machine-3 divergent-2 false',
    ]);
    expect(body).not.to.have.property('discarded');
    const { generation } = stored().metadata;
    await ask('DELETE', path(toNodeId(2), 'divergent-1'));
    expect(stored().metadata.generation, 'asked for twice').to.equal(generation);
    const told = { findPeer: () => undefined, proveTerm: () => '', intervalSeconds: 5, fenceAfterSeconds: 30 };
    const status2 = value<VolumeStatus>(lab.cache.get(keys.volumeStatus(lab.a, ID))!);
    const orders = [2, 3].map(
      digit => toAssignedVolume(stored(), status2, toNodeId(digit), told)?.replication?.discard,
    );
    expect(orders).to.deep.equal([[{ name: 'divergent-1', at: AT }], undefined]);

    const report = (change: object) =>
      put(keys.volumeReport(lab.a, ID, toNodeId(2)), {
        id: ID,
        state: 'ready',
        nodeId: toNodeId(2),
        at: AT,
        ...change,
      });
    const order = (digit: number, name: string) => ({ nodeId: toNodeId(digit), name, at: AT });
    await report({});
    await settle({ copies, divergent: divergent.slice(1) });
    await ask('DELETE', path('machine-3', 'divergent-2'));
    expect(stored().discarded, 'its node has not said that it is gone').to.deep.equal([
      order(2, 'divergent-1'),
      order(3, 'divergent-2'),
    ]);
    await report({ epoch: 1, role: 'replica' });
    await ask('DELETE', path('machine-3', 'divergent-1'));
    expect(stored().discarded, 'what is gone is forgotten').to.deep.equal([
      order(3, 'divergent-2'),
      order(3, 'divergent-1'),
    ]);
    const events = (await lab.store.list(ranges.events)).entries.map(entry => value<StoredEvent>(entry).reason);
    expect(events).to.deep.equal(Array.from({ length: 3 }, () => 'volume_divergent_discarded'));
  });
});
