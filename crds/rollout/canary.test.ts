import { expect } from 'chai';

import type { Deployment } from '../deployment/index.js';
import { computeTemplateHash, type Replica, toContainerTemplate } from '../replica/index.js';
import { toReplicaForm } from './index.js';

const spec = (nodeId?: string, image = 'web:1'): Deployment => ({
  kind: 'Deployment',
  name: 'web',
  image,
  replicas: 1,
  secretsVersion: 0,
  ...(nodeId !== undefined && { nodeId }),
});
const at = '2030-01-01T00:00:00.000Z';
const replica = (of: Deployment, change: Partial<Replica>): Replica => ({
  uid: 'r0',
  tenant: 't1',
  deployment: 'web',
  deploymentUid: 'dep_1',
  slot: 0,
  generation: 1,
  templateHash: computeTemplateHash(of),
  template: toContainerTemplate(of),
  createdAt: at,
  ...change,
});

const cases: readonly (readonly [
  name: string,
  of: Deployment,
  has: Partial<Replica>,
  done: Deployment | undefined,
  as: Deployment,
])[] = [
  ['of the revision that was complete', spec('n1'), { namedNode: 'n1', nodeId: 'n1' }, spec('n1'), spec('n1')],
  ['whose node is not named any more', spec('n1'), { namedNode: 'n1', nodeId: 'n1' }, spec(), spec()],
  ['whose node was named later', spec(), { nodeId: 'n1' }, spec('n1'), spec('n1')],
  ['from before its record said which node was named', spec('n1'), { nodeId: 'n1' }, spec('n1'), spec('n1')],
  ['from before, whose node is not named any more', spec('n1'), { nodeId: 'n1' }, spec(), spec()],
  ['of another template', spec('n1'), { namedNode: 'n1' }, spec(undefined, 'web:2'), spec('n1')],
  ['from before, of another template', spec('n1'), { nodeId: 'n1' }, spec(undefined, 'web:2'), spec('n1')],
  ['on another node than was named later', spec(), { nodeId: 'n2' }, spec('n1'), spec()],
  ['when nothing was complete', spec('n1'), { namedNode: 'n1' }, undefined, spec('n1')],
];

describe('what a replica is made anew from', () => {
  for (const [name, of, has, done, as] of cases) {
    it(`is that of a replica ${name}`, () => {
      const { nodeId } = as;
      expect(toReplicaForm(replica(of, has), done && computeTemplateHash(done))).to.deep.equal({
        templateHash: computeTemplateHash(as),
        template: toContainerTemplate(as),
        ...(nodeId !== undefined && { namedNode: nodeId }),
      });
    });
  }

  it('is what its record says where the hash tells nothing', () => {
    const lost = replica(spec(), { templateHash: 'lost', namedNode: 'n1' });
    expect(toReplicaForm(lost, 'gone')).to.deep.equal({
      templateHash: 'lost',
      template: lost.template,
      namedNode: 'n1',
    });
  });
});
