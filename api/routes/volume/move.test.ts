import { expect } from 'chai';

import type { StoredDeployment } from '../../../crds/deployment/index.js';
import type { StoredEvent } from '../../../crds/event/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import type { NodeStatus, StoredNode } from '../../../crds/node/index.js';
import type { StoredVolume } from '../../../crds/volume/index.js';
import { value } from '../../../pkg/store/index.js';
import { ApiLab } from '../../api-lab.testing.js';
import { ID, RECORDED_AT as AT, toNodeId, writeRecords } from './volume-records.testing.js';

describe('moves of volumes over HTTP', () => {
  let lab: ApiLab;
  let token: string;

  const { put, metadata, settle, declare, ...records } = writeRecords(() => lab);
  const enrol = async (
    digit: number,
    change: Partial<StoredNode> = {},
    status: NodeStatus['status'] = 'ready',
  ): Promise<void> => {
    const { id, name } = await records.enrol(digit, { labels: { 'mooring.io/country': 'DE' }, ...change });
    await put(keys.nodeStatus(lab.a, name), { id, status, reason: 'heartbeat_received', since: AT });
  };
  const mount = (change: Partial<StoredDeployment>) => {
    const mounts = { volumes: [{ volumeId: ID, type: 'volume', mountPath: '/data', readOnly: false }] };
    const web = { metadata: metadata('dep_1'), name: 'web', image: 'web:1', replicas: 1, ...mounts, ...change };
    return put(keys.deployment(lab.a, 'web'), web);
  };
  const stored = () => value<StoredVolume>(lab.cache.get(keys.volume(lab.a, ID))!);
  const ask = (method: string, body?: unknown, path = 'data/move') =>
    lab.ask(method, `/api/v1/tenants/self/volumes/${path}`, { token, ...(body !== undefined && { body }) });
  const list = async () => (await lab.store.list('')).entries.map(({ key, revision }) => `${key}@${revision}`);
  const refuse = async (body: unknown, wanted: string, says?: string | RegExp, path?: string) => {
    const before = await list();
    const answer = await ask('POST', body, path);
    expect(`${answer.status} ${String(answer.body['code'])} ${String(answer.body['field'])}`).to.equal(wanted);
    if (says !== undefined) expect(JSON.stringify(answer.body)).to.match(new RegExp(says));
    expect(await list()).to.deep.equal(before);
  };

  beforeEach(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a, 'deployer');
    for (const digit of [1, 2, 3]) await enrol(digit);
    await declare();
    await settle();
  });
  afterEach(() => lab.stop());

  it('are stored as an order that the keeper carries out, by the name or the id of the node', async () => {
    await declare({ excludedNodes: [toNodeId(2), toNodeId(3)] });
    const { status, body } = await ask('POST', { node: 'machine-2' });
    expect(status).to.equal(200);
    expect(body).to.deep.include({ id: ID, move: null, lastMove: null, warnings: [] });
    const { move, metadata: after, excludedNodes } = stored();
    expect(move).to.include({ nodeId: toNodeId(2), generation: 2 });
    expect([after.generation, excludedNodes]).to.deep.equal([2, [toNodeId(3)]]);
    const events = (await lab.store.list(ranges.events)).entries.map(entry => value<StoredEvent>(entry));
    expect(events.map(({ type, reason }) => `${type} ${reason}`)).to.include(
      'volume.move_requested volume_move_requested',
    );
    await refuse({ node: toNodeId(3) }, '409 volume_move_under_way id', 'machine-2');
    await settle({ lastMove: { from: toNodeId(1), to: toNodeId(2), generation: 2, message: '', at: AT } });
    expect((await ask('POST', { node: toNodeId(3) })).status).to.equal(200);
  });

  it('are tried without being stored', async () => {
    const before = await list();
    expect((await ask('POST', { node: 'machine-2' }, 'data/move?dryRun=true')).status).to.equal(200);
    expect(await list()).to.deep.equal(before);
  });

  it('are cancelled while one is open', async () => {
    const cancelled = async () => `${(await ask('DELETE')).status} ${stored().move?.nodeId}`;
    expect(await cancelled()).to.equal('404 undefined');
    await ask('POST', { node: 'machine-2' });
    expect(await cancelled()).to.equal('200 undefined');
    expect(await cancelled()).to.equal('404 undefined');
    await ask('POST', { node: 'machine-2' });
    const { generation } = stored().move!;
    const ends = { from: toNodeId(1), to: toNodeId(2), message: '' };
    await settle({ move: { ...ends, phase: 'Switching', generation, since: AT } });
    expect(await cancelled(), 'while the copy takes over').to.equal(`404 ${toNodeId(2)}`);
    const drained = { ...ends, to: toNodeId(3), phase: 'Syncing', since: AT } as const;
    await settle({ move: drained, lastMove: { ...ends, generation, at: AT } });
    expect(await cancelled(), 'an old order beside the move of a drain').to.equal(`404 ${toNodeId(2)}`);
  });

  it('are refused where the body is not sound', async () => {
    await refuse({}, '422 field_invalid node');
    await refuse({ node: 7 }, '422 field_invalid node');
    await refuse({ node: 'machine-2', force: true }, '422 field_unknown force');
    await refuse({ node: 'machine-2' }, '404 volume_not_found id', undefined, 'nothing/move');
  });

  it('are refused where the node cannot take it, and say why', async () => {
    await refuse({ node: 'machine-9' }, '422 node_not_a_placement_candidate node', 'machine-2, machine-3');
    const unable = (why: string, node = 'machine-2') => refuse({ node }, '409 volume_move_node_unable node', why);
    await unable('machine-1 has the primary already', 'machine-1');
    await enrol(2, { orders: { drain: { by: 'tok_1', since: AT } } });
    await unable('machine-2 is drained');
    await enrol(2, {}, 'failed');
    await unable('machine-2 is failed');
    await settle({ driver: 'btrfs' });
    await enrol(2, { volumeDriver: 'directory' });
    await unable('machine-2 is on the volume driver directory, not btrfs');
    await enrol(2, { volumeAddress: undefined as never });
    await unable('without an address for copies');
    await enrol(2, { capacity: { cpu: 1, memory: 1, disk: 1 } });
    await unable('has no room');
    await enrol(2, { labels: { 'mooring.io/country': 'FR' } });
    await declare({ residency: { country: 'DE' } });
    await unable('outside its residency');
    await enrol(2);
    await mount({ nodeId: toNodeId(1) });
    await unable('web mounts it and names machine-1');
  });

  it('are refused of volumes that cannot move, or not now', async () => {
    await settle({ phase: 'Degraded' });
    await refuse({ node: 'machine-2' }, '409 volume_not_ready id', 'Degraded');
    await settle({ move: { phase: 'Stopping', message: '', to: toNodeId(3), since: AT } });
    await refuse({ node: 'machine-2' }, '409 volume_move_under_way id', 'machine-3');
    await settle();
    await declare({ class: 'ephemeral' });
    await refuse({ node: 'machine-2' }, '422 volume_replica_unsupported node');
    await declare({ metadata: { ...metadata(ID), deletedAt: AT } });
    await refuse({ node: 'machine-2' }, '409 volume_not_ready id', 'Deleting');
  });

  it('warn of what mounts other volumes elsewhere', async () => {
    const other = `vol_${'2'.repeat(26)}`;
    await put(keys.volumeStatus(lab.a, other), {
      ...value<object>(lab.cache.get(keys.volumeStatus(lab.a, ID))!),
      id: other,
    });
    const at = { type: 'volume', readOnly: false } as const;
    await mount({ volumes: [ID, other].map(volumeId => ({ ...at, volumeId, mountPath: `/${volumeId.slice(-1)}` })) });
    const { body } = await ask('POST', { node: 'machine-2' });
    expect(body['warnings']).to.deep.include({
      code: 'volume_move_separates',
      field: 'node',
      message: 'web mounts other volumes on another node too: it starts when they are moved',
    });
  });
});
