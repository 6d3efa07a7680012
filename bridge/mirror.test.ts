import { expect } from 'chai';
import fc from 'fast-check';

import {
  decideMirror,
  FINALIZER,
  hashWanted,
  hold,
  type MirroredKind,
  type MirroredObject,
  pin,
  prepare,
  release,
  type Side,
  toAdopted,
  toChanged,
  toRecord,
} from './mirror.js';

const deployments: MirroredKind = { plural: 'deployments', kind: 'Deployment', changed: 'all', isMadeAgain: true };
const jobs: MirroredKind = { plural: 'jobs', kind: 'Job', changed: [], isMadeAgain: false };
const volumes: MirroredKind = { plural: 'volumes', kind: 'Volume', changed: ['sizeBytes'], isMadeAgain: false };

const make = (
  metadata: Partial<MirroredObject['metadata']> = {},
  rest: Partial<MirroredObject> = {},
): MirroredObject => ({
  metadata: { name: 'web', uid: 'k', resourceVersion: '1', generation: 1, ...metadata },
  spec: { image: 'web:1' },
  ...rest,
});
const held = [FINALIZER];
const asked = make();
const prepared = prepare(asked);
const pinned = pin(asked, 'm');
const source = { 'kubernetes-bridge/uid': 'k' };
const ours = make({ uid: 'm', generation: 4, annotations: source });
const nobodys = make({ uid: 'm', generation: 4 });
const other = make({ uid: 'x' });
const going = { deletionTimestamp: '2026-11-17T01:00:00Z' };
const sent = { ...pinned, status: { mirror: toRecord(deployments, pinned, ours) } };
const changed = { ...sent, spec: { image: 'web:2' } };
const copied = make({ uid: 'k2', annotations: pinned.metadata.annotations!, finalizers: held });
const handed = make({ annotations: { 'mooring.io/uid': 'm' } });
const rolledBack = make(
  { uid: 'm', generation: 5, annotations: source },
  { status: { rollout: { failure: { rolledBackTo: 1 } } } },
);
const sized = (object: MirroredObject, spec: object) => ({ ...object, spec: { class: 'ephemeral', ...spec } });
const volume = sized(ours, { sizeBytes: 1, type: 'host' });
const small = sized(pinned, { sizeBytes: 1, primaryNode: 'one' });
const sentSmall = { ...small, status: { mirror: toRecord(volumes, small, volume) } };
const end = (object: MirroredObject) => ({ ...object, metadata: { ...object.metadata, ...going } });

describe('decideMirror', () => {
  const rows: readonly (readonly [string, Side, Side, string, MirroredKind?])[] = [
    ['nothing, when the cluster has nothing', 'absent', ours, 'leave'],
    ['nothing, when the cluster cannot be read', 'unknown', ours, 'leave'],
    ['says so, when Mooring cannot be read', pinned, 'unknown', 'report MooringUnreadable'],
    ['says so of one that is being deleted, too', end(pinned), 'unknown', 'report MooringUnreadable'],
    ['prepares before it creates', asked, 'absent', 'prepare'],
    ['creates what is prepared', prepared, 'absent', 'create'],
    ['takes what it created and did not note', prepared, ours, 'pin m'],
    ['notes it also while it is being deleted', prepared, end(ours), 'pin m', jobs],
    ['does not take what others created meanwhile', prepared, nobodys, 'report Conflict'],
    ['does not take what was there before', asked, nobodys, 'report Conflict'],
    ['does not take what was created for another', make({ uid: 'k2' }), ours, 'report Conflict'],
    ['does not take another object of the name', pinned, other, 'report Conflict'],
    ['holds what is handed over by its uid', handed, nobodys, 'hold'],
    ['takes it when it belongs to nobody', hold(handed), nobodys, 'adopt'],
    ['does not take it while it is being deleted', hold(handed), end(nobodys), 'report BeingDeleted'],
    ['notes what it has taken', hold(handed), ours, 'pin m'],
    ['takes what has lost the note of its owner again', sent, nobodys, 'adopt'],
    ['does not take what is another’s by a copy of the annotations', copied, ours, 'report Conflict'],
    ['does not delete it with the copy', end(copied), ours, 'release'],
    ['deletes nothing that was never taken', end(hold(handed)), nobodys, 'release'],
    ['creates a job from a copy of one that is gone', copied, 'absent', 'prepare', jobs],
    ['creates a job by a uid that nothing has', hold(handed), 'absent', 'prepare', jobs],
    ['sends what was not noted as sent', pinned, ours, 'update'],
    ['is at rest', sent, ours, 'report Synced'],
    ['sends a change', changed, ours, 'update'],
    [
      'sends it again when Mooring’s was changed',
      sent,
      make({ uid: 'm', generation: 5, annotations: source }),
      'update',
    ],
    ['does not fight a rollback', sent, rolledBack, 'report RolledBack'],
    ['sends a new spec after a rollback', changed, rolledBack, 'update'],
    ['waits for a deletion in Mooring', sent, end(ours), 'report BeingDeleted'],
    ['makes a deployment again', sent, 'absent', 'prepare'],
    ['does not run a job again', sent, 'absent', 'report Gone', jobs],
    ['counts a job as sent once it exists', pinned, ours, 'report Synced', jobs],
    [
      'does not call a job the same that is another',
      { ...pinned, spec: { image: 'web:2' } },
      ours,
      'report Immutable',
      jobs,
    ],
    ['does not change a job', changed, ours, 'report Immutable', jobs],
    ['counts a volume as sent once it exists', sized(pinned, { sizeBytes: 1 }), volume, 'report Synced', volumes],
    ['is at rest with a volume', sentSmall, volume, 'report Synced', volumes],
    [
      'sends another size of a volume',
      sized(sentSmall, { sizeBytes: 2, primaryNode: 'one' }),
      volume,
      'update',
      volumes,
    ],
    ['sends it also when nothing was noted', sized(pinned, { sizeBytes: 2 }), volume, 'update', volumes],
    [
      'does not shrink what was never sent',
      sized(pinned, { sizeBytes: 1 }),
      sized(volume, { sizeBytes: 3 }),
      'report Synced',
      volumes,
    ],
    ['does not shrink what Mooring has grown', sentSmall, sized(volume, { sizeBytes: 3 }), 'report Synced', volumes],
    ['changes nothing else of a volume', sized(sentSmall, { sizeBytes: 2 }), volume, 'report Immutable', volumes],
    ['deletes what it created', end(sent), ours, 'delete m'],
    ['waits for its end', end(sent), end(ours), 'report BeingDeleted'],
    ['lets go when it has ended', end(sent), 'absent', 'release'],
    ['lets go of what it never created', end(prepared), nobodys, 'release'],
    ['takes what it created, to delete it', end(prepared), ours, 'pin m'],
    ['lets go when the name is another’s', end(sent), other, 'release'],
    ['leaves what it does not hold', end(make()), ours, 'leave'],
    ['holds one that lost its finalizer again', make({ annotations: pinned.metadata.annotations! }), ours, 'hold'],
  ];
  for (const [what, cluster, mooring, expected, kind = deployments] of rows) {
    it(what, () => {
      const step = decideMirror(kind, cluster, mooring);
      const word = 'uid' in step ? ` ${step.uid}` : 'reason' in step ? ` ${step.reason}` : '';
      expect(`${step.do}${word}`).to.equal(expected);
    });
  }

  const metadata = fc.record(
    {
      uid: fc.constantFrom('m', 'x', 'k'),
      generation: fc.nat(3),
      deletionTimestamp: fc.constant(going.deletionTimestamp),
      finalizers: fc.constantFrom([], held, ['other/one']),
      annotations: fc.constantFrom({}, source, pinned.metadata.annotations!, handed.metadata.annotations!),
    },
    { requiredKeys: ['uid'] },
  );
  const object = fc.tuple(metadata, fc.boolean()).map(([given, isSent]) => {
    const drawn = make(given);
    return isSent ? { ...drawn, status: { mirror: toRecord(deployments, drawn, ours) } } : drawn;
  });
  const side: fc.Arbitrary<Side> = fc.oneof(object, fc.constantFrom('absent' as const, 'unknown' as const));

  const isOneAnothers = (cluster: MirroredObject, mooring: MirroredObject) =>
    cluster.metadata.annotations?.['mooring.io/uid'] === mooring.metadata.uid &&
    mooring.metadata.annotations?.['kubernetes-bridge/uid'] === cluster.metadata.uid;

  it('deletes only what both sides name, and nothing while one is unknown', () => {
    fc.assert(
      fc.property(side, side, fc.constantFrom(deployments, jobs, volumes), (cluster, mooring, kind) => {
        const step = decideMirror(kind, cluster, mooring);
        if (cluster === 'unknown' || cluster === 'absent') return step.do === 'leave';
        if (mooring === 'unknown') return step.do === 'leave' || step.do === 'report';
        const isGoing = cluster.metadata.deletionTimestamp !== undefined;
        if (step.do === 'release') return isGoing;
        if (step.do !== 'delete') return true;
        return isGoing && mooring !== 'absent' && mooring.metadata.uid === step.uid && isOneAnothers(cluster, mooring);
      }),
      { numRuns: 2000 },
    );
  });

  it('touches no object in Mooring unless each side names the other', () => {
    fc.assert(
      fc.property(object, object, (cluster, mooring) => {
        const step = decideMirror(deployments, cluster, mooring);
        if (step.do !== 'update' && step.do !== 'delete') return true;
        return isOneAnothers(cluster, mooring);
      }),
      { numRuns: 1000 },
    );
  });

  it('comes to rest from any state, whatever it does', () => {
    fc.assert(
      fc.property(
        object,
        fc.constantFrom(deployments, jobs, volumes),
        fc.constantFrom<Side>(ours, nobodys, 'absent'),
        (start, kind, found) => {
          let cluster: Side = start;
          let mooring: Side = found;
          for (let count = 0; count < 10; count++) {
            const step = decideMirror(kind, cluster, mooring);
            if (step.do === 'leave' || step.do === 'report') return true;
            const known: MirroredObject = cluster as MirroredObject;
            if (step.do === 'prepare') cluster = prepare(known);
            else if (step.do === 'hold') cluster = hold(known);
            else if (step.do === 'adopt') mooring = toAdopted(known, mooring as MirroredObject);
            else if (step.do === 'pin') cluster = pin(known, step.uid);
            else if (step.do === 'release') cluster = release(known);
            else if (step.do === 'delete') mooring = 'absent';
            else if (step.do === 'create')
              mooring = {
                ...ours,
                metadata: { ...ours.metadata, annotations: { 'kubernetes-bridge/uid': known.metadata.uid } },
              };
            else cluster = { ...known, status: { mirror: toRecord(kind, known, mooring as MirroredObject) } };
          }
          return false;
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe('what is sent to Mooring', () => {
  it('has the fields that the cluster names, without those it named before, and keeps the others', () => {
    const cluster = {
      ...sent,
      status: { mirror: { specHash: '', generation: 1, fields: ['command', 'image', 'labels'] } },
    };
    const mooring = make(
      { uid: 'm', labels: { app: 'old' } },
      { spec: { image: 'web:0', command: ['a'], restartedAt: 'x' } },
    );
    const wanted = toChanged(deployments, cluster, mooring) as MirroredObject;
    expect(wanted.spec).to.deep.equal({ image: 'web:1', restartedAt: 'x' });
    expect(wanted.metadata).to.deep.include({ uid: 'm', labels: {} });
  });

  it('is what Mooring has with the size that the cluster names, of a volume', () => {
    const wanted = toChanged(volumes, sized(sentSmall, { sizeBytes: 2, primaryNode: 'one' }), volume) as MirroredObject;
    expect(wanted.spec).to.deep.equal({ class: 'ephemeral', type: 'host', sizeBytes: 2 });
    expect(wanted.metadata).to.deep.equal(volume.metadata);
  });

  it('is told apart by its spec and its labels only', () => {
    expect(hashWanted(make({ generation: 7 }))).to.equal(hashWanted(make()));
    expect(hashWanted(make({ labels: { a: 'b' } }))).to.not.equal(hashWanted(make()));
  });

  it('leaves no trace on an object that is let go', () => {
    expect(release(pinned).metadata).to.deep.include({ annotations: {}, finalizers: [] });
  });
});
