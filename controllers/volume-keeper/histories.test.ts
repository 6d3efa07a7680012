import { expect } from 'chai';

import { makeTerm } from '../../crds/volume/terms.testing.js';
import { nextEpoch } from './input.js';
import { decideLineage } from './lineage.js';
import {
  at,
  decide,
  fences,
  type Given,
  host,
  lose,
  makeStatus,
  others,
  primary,
  reportReplica,
  tell,
} from './promotion.testing.js';

const other = { epoch: 3, generationId: 'f'.repeat(16) };
const syncedIn = ({ epoch, generationId }: typeof other) => ({ syncedEpoch: epoch, syncedGenerationId: generationId });
const lineage = [2, 3].map(makeTerm);

describe('epochs of a volume that are issued again after a restore', () => {
  const degraded = makeStatus('Degraded', { epoch: 3, servedEpoch: 3, lineage });
  const served = primary('a', 3, { ...makeTerm(3), fencesAfterSeconds: 30 });
  const own = reportReplica('b', 150, { ...makeTerm(3), ...syncedIn(makeTerm(3)) });
  const foreign = reportReplica('c', 195, { ...makeTerm(3), ...syncedIn(other) });
  const hosts = [lose('a'), ...others];
  const isSetBack = { isSetBack: true };
  const cases: readonly (readonly [name: string, given: Given, found: string])[] = [
    [
      'have no copy of the other generation promoted, however fresh it is',
      { status: degraded, reports: [served, own, foreign], hosts },
      'Promoting node_b 4 after 50 s and 60 s without contact',
    ],
    [
      'have none promoted where there is no other',
      { status: degraded, reports: [served, foreign], hosts },
      'Degraded node_a 3',
    ],
    [
      'stop nothing that was served since in the one that is known: what is of the other is set aside',
      {
        status: makeStatus('Ready', { epoch: 3, servedEpoch: 3, lineage }),
        reports: [served, reportReplica('c', 195, { ...other, state: 'failed', message: 'busy' })],
        hosts: [host('a'), ...others],
      },
      'Ready node_a 3',
    ],
    [
      'hold up a takeover that was never served: what the other generation holds is newer',
      {
        status: makeStatus('Promoting', { primaryNode: 'node_b', epoch: 3, servedEpoch: 2, lineage, since: at(0) }),
        reports: [reportReplica('b', 195, { ...other, state: 'failed', message: 'another history' }), own],
        hosts: others,
      },
      'Promoting node_b 3',
    ],
    [
      'are not issued while the store is set back and that is not declared',
      { status: makeStatus('Degraded'), reports: [fences, reportReplica('b', 190)], hosts, store: isSetBack },
      'Degraded node_a 1',
    ],
    [
      'are above all that the history which a declared restore has ended can have issued',
      {
        status: makeStatus('Degraded'),
        reports: [fences, reportReplica('b', 190)],
        hosts,
        store: { epochFloor: 1_700_000_000 },
      },
      'Promoting node_b 1700000001 after 10 s and 60 s without contact',
    ],
  ];
  for (const [name, given, found] of cases) it(name, () => expect(tell(given)).to.equal(found));

  it('say why no copy takes over', () => {
    const { status } = decide({
      status: makeStatus('Degraded'),
      reports: [fences, reportReplica('b', 190)],
      hosts,
      store: isSetBack,
    });
    expect(status.message).to.match(/etcd is older than it was .* declare the restore \("moor admin restore"\)/);
  });

  it('order no move while the store is set back', () => {
    const move = { nodeId: 'node_b', generation: 7, at: at(290) };
    const given: Given = {
      status: makeStatus('Ready'),
      volume: { move },
      reports: [primary('a', 1), reportReplica('b', 190), reportReplica('c', 190)].map(each => ({
        ...each,
        ...makeTerm(1),
      })),
      hosts: [host('a'), ...others],
    };
    expect(decide(given).status).to.include({ finalFor: 2 });
    const { status } = decide({ ...given, store: isSetBack });
    expect(status).not.to.have.property('finalFor');
    expect(status.move).to.include({ phase: 'Waiting' }).and.have.property('message').that.contains('is not declared');
  });

  it('have a generation each, which is issued with them and kept', () => {
    const hosted = { reports: [fences, reportReplica('b', 190)], hosts };
    const { status } = decide({ status: makeStatus('Degraded', { lineage: [makeTerm(1)] }), ...hosted });
    expect(status.lineage).to.deep.equal([makeTerm(1), { epoch: 2, generationId: 'd'.repeat(16) }]);
    const kept = decide({ status, ...hosted }).status;
    expect(kept.lineage).to.equal(status.lineage);
  });

  it('keep the generation that the primary acts in where the status was lost', () => {
    const reports = [reportReplica('b', 190, other), primary('a', 3, makeTerm(3)), primary('c', 2, makeTerm(2))];
    const parts = { status: undefined, reports, drawGenerationId: () => 'd'.repeat(16) };
    expect(decideLineage(parts, 3)).to.deep.equal([makeTerm(3)]);
    expect(decideLineage({ ...parts, reports: [] }, 1)).to.deep.equal([{ epoch: 1, generationId: 'd'.repeat(16) }]);
  });

  it('remember sixteen terms', () => {
    const before = Array.from({ length: 16 }, (_, index) => makeTerm(index + 1));
    const after = decideLineage(
      { status: makeStatus('Degraded', { lineage: before }), reports: [], drawGenerationId: () => '' },
      17,
    );
    expect([after.length, after[0]]).to.deep.equal([16, makeTerm(2)]);
  });

  it('go on from the floor, one after the other', () => {
    const status = makeStatus('Degraded', { epoch: 1_700_000_001 });
    expect(nextEpoch({ status, reports: [], epochFloor: 1_700_000_000 })).to.equal(1_700_000_002);
  });
});
