import { expect } from 'chai';

import type { StoredEvent } from '../../../crds/event/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import type { StoredVolume, VolumeStatus } from '../../../crds/volume/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import { ApiLab } from '../../api-lab.testing.js';

const ID = `vol_${'1'.repeat(26)}`;
const AT = new Date(0).toISOString();
const toNodeId = (digit: number) => `node_${String(digit).repeat(26)}`;

describe('copies of volumes over HTTP', () => {
  let lab: ApiLab;
  let token: string;

  const put = async (key: string, document: object) => {
    const at = (await lab.store.get(key))?.revision ?? 0;
    await lab.store.commit({ guards: [{ key, at }], puts: [{ key, bytes: encode(document) }], deletes: [] });
    await lab.cache.barrier();
  };
  const metadata = (uid: string) => ({
    tenant: lab.a,
    uid,
    generation: 1,
    createdAt: AT,
    updatedAt: AT,
    specHash: '',
  });
  const settle = (change: Partial<VolumeStatus> = {}) =>
    put(keys.volumeStatus(lab.a, ID), {
      id: ID,
      phase: 'Ready',
      reason: 'volume_ready',
      message: '',
      primaryNode: toNodeId(1),
      epoch: 1,
      copies: [],
      since: AT,
      ...change,
    });
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
    for (const digit of [1, 2, 3]) {
      const node: StoredNode = {
        metadata: metadata(toNodeId(digit)),
        id: toNodeId(digit),
        name: `machine-${digit}`,
        labels: {},
        capacity: { cpu: 1, memory: 1, disk: 1 },
        publicKey: '',
        controlPlane: false,
        agentVersion: '0',
        volumeAddress: `10.0.0.${digit}:7071`,
      };
      await put(keys.node(lab.a, node.name), node);
    }
    const volume: StoredVolume = {
      metadata: metadata(ID),
      id: ID,
      name: 'data',
      class: 'replicated',
      type: 'volume',
      sizeBytes: 2 ** 30,
      accessMode: 'ReadWriteOnce',
      replicas: 1,
    };
    await put(keys.volume(lab.a, ID), volume);
    await settle();
  });
  afterEach(() => lab.stop());

  it('are wanted once unless the volume says how often', async () => {
    const body = { name: 'more', class: 'replicated', sizeBytes: 2 ** 30 };
    const { status, body: made } = await lab.ask('POST', '/api/v1/dvm/volumes', { token, body });
    expect(status).to.equal(201);
    expect(made).to.include({ class: 'replicated', wantedReplicas: 1, phase: 'Pending', epoch: null });
  });

  it('are asked for on a node, by its name or its id, and once', async () => {
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
});
