import { expect } from 'chai';

import type { Replica } from '../../crds/replica/index.js';
import { Assignments } from './assignments.js';

const replica = (uid: string, generation: number): Replica => ({
  uid,
  tenant: 't',
  deployment: 'web',
  deploymentUid: 'dep_1',
  slot: 0,
  generation,
  templateHash: 'h',
  template: { image: 'a:1', secretsVersion: 0 },
  createdAt: '',
});

describe('assignments', () => {
  const afterwards = (containers: readonly Replica[]) => {
    const assignments = new Assignments();
    assignments.replaceAll([replica('new', 2)]);
    assignments.drop('new');
    assignments.witness(containers);
    assignments.set(replica('old', 1));
    return assignments.wanted('old');
  };

  it('do not roll back a slot that has a newer container', () => {
    expect(afterwards([replica('new', 2)])).to.equal('outdated');
  });

  describe('of a store that was restored from a backup', () => {
    const restored = (epoch: number) => {
      const assignments = new Assignments();
      assignments.replaceAll([replica('new', 2)]);
      assignments.witness([replica('new', 2)]);
      assignments.replaceAll([replica('old', 1)], { restoreEpoch: epoch });
      return assignments;
    };

    it('are refused until the restore is declared', () => {
      const assignments = restored(0);
      expect([assignments.wanted('old'), assignments.wanted('new', replica('new', 2))]).to.deep.equal([
        'outdated',
        'unknown',
      ]);
      assignments.replaceAll([replica('old', 1)], { restoreEpoch: 7 });
      expect([assignments.wanted('old'), assignments.wanted('new', replica('new', 2))]).to.deep.equal([
        'run',
        'nothing',
      ]);
    });

    it('stay accepted when the containers are listed again, and by an agent that starts afterwards', () => {
      const assignments = restored(7);
      assignments.witness([replica('new', 2)]);
      expect(assignments.wanted('old')).to.equal('run');

      const next = new Assignments();
      next.witness([replica('new', 2)]);
      next.replaceAll([replica('old', 1)], { restoreEpoch: 7 });
      expect(next.wanted('old')).to.equal('run');
    });

    it('are protected from the next restore by containers that were created since', () => {
      const next = new Assignments();
      next.witness([{ ...replica('new', 2), restoreEpoch: 7 }]);
      next.replaceAll([replica('old', 1)], { restoreEpoch: 7 });
      expect(next.wanted('old')).to.equal('outdated');
    });

    it('run again what was retired after the backup', () => {
      const assignments = new Assignments();
      assignments.replaceAll([{ ...replica('old', 1), retiringSince: 'then' }]);
      assignments.replaceAll([replica('old', 1)]);
      expect(assignments.wanted('old')).to.equal('retire');
      assignments.replaceAll([replica('old', 1)], { restoreEpoch: 7 });
      expect(assignments.wanted('old')).to.equal('run');
    });
  });

  it('forget a slot without assignment and container', () => {
    expect(afterwards([])).to.equal('run');
  });

  it('remember an assigned slot, with or without a container', () => {
    const assignments = new Assignments();
    assignments.replaceAll([replica('new', 2)]);
    assignments.witness([]);
    assignments.set(replica('old', 1));

    expect(assignments.wanted('old')).to.equal('outdated');
  });
});
