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
