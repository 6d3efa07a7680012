import { expect } from 'chai';
import fc from 'fast-check';

import { believeReport, isHeldVolume, type SeenVolume, type VolumeStatus } from '../../crds/volume/index.js';
import { at, decide, host, lose, makeStatus, primary, reportReplica } from './promotion.testing.js';

const number = fc.oneof(fc.nat(5), fc.nat(2_000), fc.constantFrom(9_999_999_999, Number.MAX_SAFE_INTEGER));
const time = fc.integer({ min: -1e9, max: 1e9 }).map(at);
const words = fc.constantFrom('', 'it cannot', 'x'.repeat(900));
const lie: fc.Arbitrary<Partial<SeenVolume>> = fc.record(
  {
    state: fc.constantFrom('ready' as const, 'failed' as const),
    message: words,
    isMissing: fc.boolean(),
    epoch: number,
    epochProof: fc.constantFrom('', 'f'.repeat(64)),
    role: fc.constantFrom('primary' as const, 'replica' as const),
    copies: fc.array(
      fc.record({ nodeId: fc.constantFrom('node_a', 'node_b'), state: fc.constant('syncing' as const) }),
    ),
    syncedAt: time,
    syncedEpoch: number,
    final: fc.record({ epoch: number, snapshot: words, at: time }),
    divergent: fc.array(fc.record({ name: fc.constantFrom('divergent-1', 'x'), epoch: number, at: time })),
    fencesAfterSeconds: number,
    usedBytes: number,
    capacityBytes: number,
    targetBytes: number,
  },
  { requiredKeys: [] },
);

describe('what the node of one copy says of itself', () => {
  const own = primary('a', 1, { fencesAfterSeconds: 30 });
  const honest = reportReplica('b', 190);
  const all = [host('a'), host('b'), host('c')];
  const believed = (change: Partial<SeenVolume>, status: VolumeStatus) => ({
    ...believeReport({ ...reportReplica('c', 190), ...change }, status, () => false),
    nodeId: 'node_c',
    at: at(0),
  });

  it('holds up neither the primary nor what writes to it, nor a promotion afterwards', () => {
    fc.assert(
      fc.property(fc.array(lie, { minLength: 1, maxLength: 4 }), lies => {
        let status = makeStatus('Ready');
        for (const change of lies) {
          const reports = [own, honest, believed(change, status)];
          ({ status } = decide({ status, reports, hosts: all }));
          expect(status).to.include({ phase: 'Ready', reason: 'volume_ready', primaryNode: 'node_a', epoch: 1 });
          expect(status).not.to.have.any.keys('finalFor', 'move');
          expect(isHeldVolume(status)).to.equal(false);
          const lost = { ...status, phase: 'Degraded' as const, since: at(200) };
          const { promotion } = decide({ status: lost, reports, hosts: [lose('a'), ...all.slice(1)] });
          expect(promotion?.epoch, 'a copy takes over').to.be.within(2, 2_000);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is told of its copy when it claims an epoch that was never issued, and ten minutes later another copy is made', () => {
    const status = makeStatus('Ready');
    const reports = [own, honest, believed({ epoch: 9_999_999_999 }, status)];
    const { status: next } = decide({ status, reports, hosts: all });
    const { state, message } = next.copies.find(({ nodeId }) => nodeId === 'node_c')!;
    expect(state).to.equal('syncing');
    expect(message).to.match(/^its agent claims epoch 9999999999 of the volume and cannot prove it/);

    const old = reports.map(each => ({ ...each, at: at(-300) }));
    const { status: later } = decide({
      status: next,
      volume: { replicaNodes: ['node_d'] },
      reports: old,
      hosts: [...all, host('d')],
    });
    expect(later.copies.map(({ nodeId }) => nodeId)).to.deep.equal(['node_b', 'node_c', 'node_d']);
  });

  it('of a later epoch that it can prove holds the primary: an old backup was restored', () => {
    const seen = { ...reportReplica('c', 190), epoch: 2 };
    const proven = { ...believeReport(seen, { epoch: 1 }, () => true), nodeId: 'node_c', at: at(0) };
    const { status } = decide({ status: makeStatus('Ready'), reports: [own, honest, proven], hosts: all });
    expect(isHeldVolume(status)).to.equal(true);
  });
});
