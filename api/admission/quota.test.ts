import { expect } from 'chai';

import type { Deployment } from '../../crds/deployment/index.js';
import type { QuotaKind } from '../../crds/kinds/index.js';
import type { QuotaEnv } from './env.js';
import { warnAboveQuota } from './quota.js';

describe('the warning of a reached quota', () => {
  const warn = (kind: QuotaKind, limit: number, used: number) => {
    const env = {
      cache: { get: () => undefined, list: () => [] },
      placementPolicy: { quotas: { [kind]: limit } },
      usage: { of: () => ({ [kind]: used }) },
    } as unknown as QuotaEnv;
    const spec = { name: 'web', replicas: 2, resources: { cpu: '500m', memory: '64Mi' } } as unknown as Deployment;
    return warnAboveQuota(env, 'tenant', spec, 2).map(({ field, message }) => `${field}: ${message.split(';')[0]}`);
  };
  for (const [kind, limit, used, text] of [
    ['deployments', 1, 1, 'name: the quota is 1 deployment and 1 deployment is used'],
    ['deployments', 2, 2, 'name: the quota is 2 deployments and 2 deployments are used'],
    ['containers', 1, 0, 'replicas: the quota is 1 container and 0 containers are used'],
    ['containers', 2, 1, 'replicas: the quota is 2 containers and 1 container is used'],
    ['cpu', 1500, 1000, 'resources.cpu: the quota is 1500m cpu and 1000m cpu is used'],
    ['memory', 2 ** 27, 2 ** 26, 'resources.memory: the quota is 128Mi memory and 64Mi memory is used'],
  ] as const) {
    it(`counts in singular and plural: ${text}`, () => expect(warn(kind, limit, used)).to.deep.equal([text]));
  }

  it('is not given while the quota allows what is asked for', () => {
    expect(warn('containers', 3, 1)).to.deep.equal([]);
  });
});
