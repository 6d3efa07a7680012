import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type {
  AssignedReplication,
  AssignedVolume,
  DivergentBytes,
  SeenCopy,
  SeenVolume,
  VolumeReport,
  VolumeRole,
  VolumeStatus,
} from '../../crds/volume/index.js';
import { makeTerm } from '../../crds/volume/terms.testing.js';
import { value } from '../store/index.js';
import type { AssignmentLine } from './agent-link.js';
import { DispatcherLab, LAB_NODE, LAB_TENANT, nodeRecord } from './dispatcher-lab.testing.js';
import { makeVolume } from '../../crds/volume/volume.testing.js';

const ID = `vol_${'1'.repeat(26)}`;
const AT = '2030-01-01T00:00:00.000Z';
const volume = makeVolume({ ...nodeRecord.metadata, uid: ID }, { sizeBytes: 2 ** 30 });
const status: VolumeStatus = {
  id: ID,
  phase: 'Ready',
  reason: 'volume_ready',
  message: '',
  primaryNode: LAB_NODE.id,
  epoch: 3,
  lineage: [makeTerm(3)],
  copies: [{ nodeId: 'node_b', state: 'syncing' }],
  since: AT,
};
const other = { tenant: LAB_TENANT, id: 'node_b', name: 'b', run: LAB_NODE.run };

describe('what agents receive and report of a replicated volume', () => {
  let lab: DispatcherLab;
  const key = (nodeId: string) => keys.volumeReport(LAB_TENANT, ID, nodeId);
  const held = (nodeId: string) => {
    const entry = lab.cache.get(key(nodeId));
    return entry && value<VolumeReport>(entry);
  };
  const putNode = (change: Partial<StoredNode> = {}) =>
    lab.put(keys.node(LAB_TENANT, 'b'), { ...nodeRecord, id: 'node_b', name: 'b', publicKey: 'key-b', ...change });
  const putStatus = (change: Partial<VolumeStatus> = {}) =>
    lab.put(keys.volumeStatus(LAB_TENANT, ID), { ...status, ...change });
  const prove = (epoch: number, { generationId } = makeTerm(epoch)) =>
    lab.keyring.digest(['mooring-volume-term', LAB_TENANT, ID, epoch, generationId].join('\n'));
  const follow = async (node: typeof other) => {
    const lines: (readonly AssignedVolume[])[] = [];
    const stop = lab.dispatcher.assignments(node, (line: AssignmentLine) => {
      if ('volumes' in line && line.volumes) lines.push(line.volumes);
    });
    await lab.clock.pass(10);
    return { lines, stop };
  };

  beforeEach(async () => {
    lab = await new DispatcherLab().start();
    await putNode({ volumeAddress: '10.0.0.2:7071' });
    await lab.put(keys.volume(LAB_TENANT, ID), volume);
    await putStatus();
  });
  afterEach(() => lab.stop());

  it('the primary learns where its copies are, a replica who the primary is, and nobody else anything', async () => {
    const made = { id: ID, name: 'data', type: 'volume', sizeBytes: 2 ** 30 } as const;
    const act = (role: VolumeRole, peers: AssignedReplication['peers']): AssignedReplication => ({
      ...makeTerm(3),
      epochProof: prove(3),
      role,
      peers,
      intervalSeconds: 5,
      fenceAfterSeconds: 30,
    });
    const b = { nodeId: 'node_b', publicKey: 'key-b', address: '10.0.0.2:7071' };
    const a = { nodeId: LAB_NODE.id, publicKey: nodeRecord.publicKey };
    expect((await follow(LAB_NODE)).lines).to.deep.equal([
      [{ ...made, isMade: true, replication: act('primary', [b]) }],
    ]);
    expect((await follow(other)).lines).to.deep.equal([[{ ...made, replication: act('replica', [a]) }]]);
    expect((await follow({ ...other, id: 'node_c' })).lines).to.deep.equal([[]]);
    expect((await follow({ ...other, tenant: 't2' })).lines).to.deep.equal([[]]);
  });

  it('is told anew when a copy, the epoch or an address changes, and not while it only gets on', async () => {
    const { lines } = await follow(LAB_NODE);
    await putStatus({ copies: [{ nodeId: 'node_b', state: 'synced', syncedAt: AT, lagBytes: 0 }] });
    expect(lines).to.have.length(1);
    await putNode({ volumeAddress: '10.0.0.2:7072' });
    expect(lines[1]![0]!.replication!.peers[0]!.address).to.equal('10.0.0.2:7072');
    await putStatus({
      primaryNode: 'node_b',
      epoch: 4,
      lineage: [makeTerm(4)],
      copies: [{ nodeId: LAB_NODE.id, state: 'syncing' }],
    });
    expect(lines[2]![0]!.replication).to.include({ role: 'replica', epoch: 4 });
    await putStatus({ primaryNode: 'node_b', epoch: 4, lineage: [makeTerm(4)], copies: [], leaving: [LAB_NODE.id] });
    expect(lines[3]![0]).to.include({ isDeleted: true, removedIn: 4 }).and.not.have.property('replication');
    await putStatus({
      primaryNode: 'node_b',
      epoch: 4,
      lineage: [makeTerm(4)],
      copies: [],
      leaving: [LAB_NODE.id],
      phase: 'Degraded',
      reason: 'volume_epoch_behind',
    });
    expect(lines[4]![0], 'no copy goes while a node is ahead').to.include({ isDeleted: true, removedIn: 0 });
  });

  it('the primary is held while another node has seen a later epoch, which it is told at once', async () => {
    const { lines } = await follow(LAB_NODE);
    expect(lines[0]![0]!.replication).not.to.have.property('isHeld');
    await putStatus({ phase: 'Degraded', reason: 'volume_epoch_behind' });
    expect(lines[1]![0]!.replication).to.include({ role: 'primary', isHeld: true });
    expect((await follow(other)).lines[0]![0]!.replication).not.to.have.property('isHeld');
    await putStatus();
    expect(lines[2]![0]!.replication).not.to.have.property('isHeld');
  });

  it('the primary is told that the volume is to move, and so is nobody else', async () => {
    const { lines } = await follow(LAB_NODE);
    await putStatus({ finalFor: 4 });
    expect(lines[1]![0]!.replication).to.include({ role: 'primary', epoch: 3, finalFor: 4 });
    expect((await follow(other)).lines[0]![0]!.replication).not.to.have.property('finalFor');
    await putStatus();
    expect(lines[2]![0]!.replication).not.to.have.property('finalFor');
    const final = { epoch: 4, snapshot: 's', at: AT };
    await lab.dispatcher.reportVolumes(other, [{ id: ID, state: 'ready', ...makeTerm(3), role: 'replica', final }]);
    await lab.cache.barrier();
    expect(held('node_b')).to.deep.include({ final });
  });

  it('a volume without copies, or on its way out, is not replicated', async () => {
    await lab.put(keys.volume(LAB_TENANT, ID), { ...volume, metadata: { ...volume.metadata, deletedAt: AT } });
    const { lines } = await follow(other);
    expect(lines[0]![0]).to.include({ isDeleted: true, removedIn: 3 }).and.not.have.property('replication');
    const { epoch: _, lineage: _terms, ...unserved } = status;
    await lab.put(keys.volumeStatus(LAB_TENANT, ID), unserved);
    expect(lines.at(-1)![0], 'one that was never issued an epoch').to.deep.include({ removedIn: 0, lineage: [] });
    await lab.put(keys.volume(LAB_TENANT, ID), { ...volume, class: 'ephemeral' });
    expect((await follow(LAB_NODE)).lines[0]![0]).not.to.have.property('replication');
  });

  it('each node reports for itself, about volumes that it has to do with', async () => {
    const copies: readonly SeenCopy[] = [{ nodeId: 'node_b', state: 'synced', syncedAt: AT, lagBytes: 0 }];
    const divergent: readonly DivergentBytes[] = [{ name: 'divergent-2', epoch: 2, at: AT }];
    const primary: SeenVolume = { id: ID, state: 'ready', ...makeTerm(3), role: 'primary', copies };
    const replica: SeenVolume = {
      id: ID,
      state: 'ready',
      ...makeTerm(3),
      role: 'replica',
      syncedAt: AT,
      syncedEpoch: 3,
      divergent,
    };
    await lab.dispatcher.reportVolumes(LAB_NODE, [primary]);
    await lab.dispatcher.reportVolumes(other, [replica]);
    await lab.dispatcher.reportVolumes({ ...other, id: 'node_c' }, [replica]);
    await lab.dispatcher.reportVolumes({ ...other, tenant: 't2' }, [replica]);
    await lab.cache.barrier();
    expect(held(LAB_NODE.id)).to.deep.include({ ...primary, nodeId: LAB_NODE.id });
    expect(held('node_b')).to.deep.include({ ...replica, nodeId: 'node_b' });
    expect(lab.cache.list('volume-reports/')).to.have.length(2);

    const { revision } = lab.cache.get(key(LAB_NODE.id))!;
    await lab.dispatcher.reportVolumes(LAB_NODE, [{ ...primary, copies: structuredClone(copies) }]);
    expect(lab.cache.get(key(LAB_NODE.id))!.revision).to.equal(revision);
    await lab.dispatcher.reportVolumes(other, [{ id: ID, state: 'removed' }]);
    await lab.cache.barrier();
    expect(held('node_b'), 'nobody ordered it').to.include({ state: 'ready' });
    await putStatus({ copies: [], leaving: ['node_b'] });
    await lab.dispatcher.reportVolumes(other, [{ id: ID, state: 'removed' }]);
    await lab.cache.barrier();
    expect(held('node_b')).to.include({ state: 'removed' });
  });

  it('a claim of an epoch that was never issued is not believed, and one of an epoch that the store has forgotten is', async () => {
    const claim = async (change: Partial<SeenVolume>) => {
      await lab.dispatcher.reportVolumes(other, [{ id: ID, state: 'ready', role: 'replica', ...change }]);
      await lab.cache.barrier();
      return held('node_b');
    };
    const lie = await claim({ epoch: 9_999_999_999, epochProof: prove(3) });
    expect(lie).to.include({ state: 'failed' }).and.not.to.have.any.keys('epoch', 'epochProof', 'role');
    expect(lie?.message).to.contain('claims epoch 9999999999');
    const { lines } = await follow(other);
    const { epoch, generationId, epochProof } = lines[0]![0]!.replication!;
    const before = { epoch, generationId };
    await putStatus({ epoch: 2, lineage: [makeTerm(2)] });
    expect(await claim({ ...before, epochProof: epochProof! })).to.include({ state: 'ready', epoch: 3 });
    expect(held('node_b')).not.to.have.property('epochProof');
    expect((await claim({ ...before, epochProof: 'f'.repeat(64) }))?.state, 'a proof of nothing').to.equal('failed');
    const again = { epoch: 3, generationId: 'a'.repeat(16) };
    await putStatus({ epoch: 3, lineage: [makeTerm(2), again] });
    expect(await claim({ ...before, epochProof: epochProof! }), 'issued again, it is of another history').to.include(
      before,
    );
    expect((await claim({ ...again, epochProof: epochProof! }))?.state, 'what the store knows of').to.equal('ready');
    const forged = { epoch: 3, generationId: 'b'.repeat(16), epochProof: epochProof! };
    expect((await claim(forged))?.state, 'a proof of the other generation').to.equal('failed');
    await lab.put(keys.volumeStatus(LAB_TENANT, `vol_${'2'.repeat(26)}`), { ...status, id: `vol_${'2'.repeat(26)}` });
    await lab.put(keys.volume(LAB_TENANT, `vol_${'2'.repeat(26)}`), { ...volume, id: `vol_${'2'.repeat(26)}` });
    const elsewhere = { id: `vol_${'2'.repeat(26)}`, state: 'ready', ...makeTerm(4), epochProof: prove(4) } as const;
    await lab.dispatcher.reportVolumes(other, [elsewhere]);
    await lab.cache.barrier();
    const stored = lab.cache.get(keys.volumeReport(LAB_TENANT, elsewhere.id, 'node_b'));
    expect(value<VolumeReport>(stored!).state, 'the proof of another volume').to.equal('failed');
  });

  it('a node advertises where it takes copies and what keeps its volumes, and may stop to', async () => {
    const beat = { labels: {}, capacity: nodeRecord.capacity, agentVersion: 'test' };
    const stored = () => value<StoredNode>(lab.cache.get(keys.node(LAB_TENANT, LAB_NODE.name))!).volumeAddress;
    await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, volumeAddress: '10.0.0.1:7071' });
    expect(stored()).to.equal('10.0.0.1:7071');
    const driver = () => value<StoredNode>(lab.cache.get(keys.node(LAB_TENANT, LAB_NODE.name))!).volumeDriver;
    await lab.dispatcher.heartbeat(LAB_NODE, { ...beat, volumeDriver: 'btrfs' });
    expect([stored(), driver()]).to.deep.equal([undefined, 'btrfs']);
    await lab.dispatcher.heartbeat(LAB_NODE, beat);
    expect(driver()).to.equal(undefined);
  });
});
