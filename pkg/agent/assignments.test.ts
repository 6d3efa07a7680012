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

  it('do not turn a slot back whose newer container is there', () => {
    expect(afterwards([replica('new', 2)])).to.equal('outdated');
  });

  it('forget a slot of which nothing is wanted and nothing is there', () => {
    expect(afterwards([])).to.equal('run');
  });

  it('remember a slot that is wanted, whatever is there', () => {
    const assignments = new Assignments();
    assignments.replaceAll([replica('new', 2)]);
    assignments.witness([]);
    assignments.set(replica('old', 1));

    expect(assignments.wanted('old')).to.equal('outdated');
  });
});
