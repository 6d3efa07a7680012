import { expect } from 'chai';

import { replica } from '../../link/dispatcher-lab.testing.js';
import { buildContainerSpec } from './container-spec.js';

describe('the container of a replica', () => {
  const build = (change: Parameters<typeof replica>[0]) =>
    buildContainerSpec(replica(change), { nodeId: 'node_1', prefix: '', secrets: new Map() });

  it('[2.2.6 2.2.8] uses the name of the deployment verbatim as its name or the prefix of it, and as its only DNS alias', () => {
    const made = [0, 1].map(slot => build({ deployment: 'web-1', slot }));

    expect(made.map(({ name }) => name)).to.deep.equal(['web-1', 'web-1.1']);
    expect(made.map(({ alias }) => alias)).to.deep.equal(['web-1', 'web-1']);
    expect(new Set(made.map(({ network }) => network)).size, 'one network of the tenant').to.equal(1);
  });
});
