import { expect } from 'chai';

import { claimName, type NameClaim, type Ownership } from './engine.js';

const wanted: Ownership = {
  nodeId: 'node_1',
  tenant: 't1',
  deployment: 'web',
  deploymentUid: 'dep_1',
  replica: 'r2',
  slot: 0,
  generation: 2,
  templateHash: 'h2',
};

describe('claiming a name', () => {
  const cases: ReadonlyArray<{ name: string; holder: Ownership | undefined; claim: NameClaim }> = [
    { name: 'adopts the same replica', holder: wanted, claim: 'adopt' },
    { name: 'replaces an older replica', holder: { ...wanted, replica: 'r1', generation: 1 }, claim: 'replace' },
    { name: 'replaces another replica of the same generation', holder: { ...wanted, replica: 'r1' }, claim: 'replace' },
    { name: 'leaves a newer generation', holder: { ...wanted, replica: 'r3', generation: 3 }, claim: 'conflict' },
    {
      name: 'replaces a deleted deployment of the same name, whatever its generation',
      holder: { ...wanted, replica: 'r0', deploymentUid: 'dep_0', generation: 9 },
      claim: 'replace',
    },
    { name: 'leaves another node', holder: { ...wanted, replica: 'r1', nodeId: 'node_2' }, claim: 'conflict' },
    { name: 'leaves another tenant', holder: { ...wanted, replica: 'r1', tenant: 't2' }, claim: 'conflict' },
    { name: 'leaves another slot', holder: { ...wanted, replica: 'r1', slot: 1 }, claim: 'conflict' },
    { name: 'leaves what carries no labels of ours', holder: undefined, claim: 'conflict' },
  ];

  for (const { name, holder, claim } of cases) {
    it(name, () => expect(claimName(holder, wanted)).to.equal(claim));
  }
});
