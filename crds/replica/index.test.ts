import { expect } from 'chai';

import { type Deployment, deploymentFields } from '../deployment/index.js';
import { toContainerTemplate, computeTemplateHash } from './index.js';

const web: Deployment = { kind: 'Deployment', name: 'web', image: 'web:1', replicas: 1, secretsVersion: 0 };

const db = { name: 'DB', vault_path: 'deployments/web-db', anchor: 'process', rotation: 'restart' } as const;

describe('container template', () => {
  it('holds only the fields that a container is created from', () => {
    const template = toContainerTemplate({ ...web, labels: { team: 'shop' }, environment: { MODE: 'production' } });
    expect(template).to.deep.equal({ image: 'web:1', environment: { MODE: 'production' }, secretsVersion: 0 });
  });

  it('holds secret references without anchor and rotation', () => {
    const { secrets } = toContainerTemplate({ ...web, secrets: [db] });
    expect(secrets).to.deep.equal([{ name: 'DB', vault_path: 'deployments/web-db' }]);
    const other = { ...db, anchor: 'external' } as const;
    expect(computeTemplateHash({ ...web, secrets: [db] })).to.equal(computeTemplateHash({ ...web, secrets: [other] }));
  });

  const cases: readonly [name: string, change: Partial<Deployment>, recreated: boolean][] = [
    ['another number of replicas', { replicas: 5 }, false],
    ['other labels', { labels: { team: 'shop' } }, false],
    [
      'other bounds of a rollout',
      { rollout: { maxSurge: 2, maxUnavailable: 0, progressDeadline: '5m', autoRollback: true } },
      false,
    ],
    ['another placement', { placement: { residency: { country: 'DE' } } }, false],
    ['a restart', { restartedAt: '2026-01-31T12:00:00Z' }, true],
    ['another image', { image: 'web:2' }, true],
    ['another command', { command: ['serve'] }, true],
    ['another environment', { environment: { MODE: 'test' } }, true],
    ['another health check', { healthCheck: { type: 'exec', command: ['true'] } }, true],
    ['other ports', { ports: [{ containerPort: 80, protocol: 'tcp' }] }, true],
    ['other requests', { resources: { cpu: '1' } }, true],
    ['[2.2.23] other secrets', { secretsVersion: 1 }, true],
    ['a reference to a secret', { secrets: [db] }, true],
    ['a composed secret', { composedSecrets: { URL: '{{secret.web-db.url}}' } }, true],
    ['another node by name', { nodeId: 'node_1' }, true],
  ];
  for (const [name, change, recreated] of cases) {
    it(`${recreated ? 'changes' : 'keeps'} its hash with ${name}`, () => {
      expect(computeTemplateHash({ ...web, ...change }) !== computeTemplateHash(web)).to.equal(recreated);
    });
  }

  it('holds exactly the fields that are marked as template fields', () => {
    const values: Readonly<Record<string, unknown>> = { replicas: 7, secretsVersion: 7, image: 'web:7', secrets: [db] };
    for (const [field, { partOf }] of Object.entries<{ readonly schema: object; readonly partOf?: string }>(
      deploymentFields,
    )) {
      const changed = { ...web, [field]: values[field] ?? ['changed'] } as Deployment;
      expect(computeTemplateHash(changed) !== computeTemplateHash(web), field).to.equal(partOf !== undefined);
      expect(Object.keys(toContainerTemplate(changed)).includes(field), field).to.equal(partOf === 'template');
    }
  });
});
