import { expect } from 'chai';

import type { Deployment } from '../deployment/index.js';
import { containerTemplate, templateHash } from './index.js';

const spec: Deployment = {
  kind: 'Deployment',
  name: 'web',
  image: 'registry.example.com/shop/web:1.4.2',
  replicas: 2,
  command: ['--port', '8080'],
  environment: { MODE: 'production', ZONE: 'a' },
  secretsVersion: 0,
  labels: { team: 'shop' },
};

describe('what forces a new container', () => {
  const cases: ReadonlyArray<{ change: Partial<Deployment>; forces: boolean }> = [
    { change: { replicas: 5 }, forces: false },
    { change: { labels: {} }, forces: false },
    { change: { environment: { ZONE: 'a', MODE: 'production' } }, forces: false },
    { change: { image: 'registry.example.com/shop/web:1.4.3' }, forces: true },
    { change: { command: ['--port', '8081'] }, forces: true },
    { change: { entrypoint: ['/bin/web'] }, forces: true },
    { change: { environment: { MODE: 'test', ZONE: 'a' } }, forces: true },
    { change: { ports: [{ containerPort: 80, protocol: 'tcp' }] }, forces: true },
    { change: { healthCheck: { type: 'exec', command: ['/bin/check'] } }, forces: true },
    { change: { resources: { cpu: '1' } }, forces: true },
    { change: { secretsVersion: 1 }, forces: true },
    { change: { nodeId: 'node_1' }, forces: true },
  ];
  for (const { change, forces } of cases) {
    it(`${JSON.stringify(change)} ${forces ? 'does' : 'does not'}`, () => {
      expect(templateHash({ ...spec, ...change }) !== templateHash(spec)).to.equal(forces);
    });
  }

  it('is made of what a container needs, and of nothing else', () => {
    expect(Object.keys(containerTemplate(spec))).to.have.members(['image', 'command', 'environment', 'secretsVersion']);
  });
});
