import type { Admission } from './admit.js';
import type { StoredDeployment } from './deployment.js';
import type { DeploymentFacts, DeploymentLimits } from './limits.js';

/** The limits of the default configuration. */
export const limits: DeploymentLimits = {
  maxReplicas: 100,
  retriesFloor: 3,
  timeoutFloor: '10s',
  reservedNames: ['etcd'],
};

/** A tenant with two nodes. */
export const facts: DeploymentFacts = {
  nodes: [
    { id: `node_${'1'.repeat(26)}`, name: 'machine-1' },
    { id: `node_${'2'.repeat(26)}`, name: 'machine-2' },
  ],
};

/** The least that is accepted. */
export const least = { kind: 'Deployment', name: 'web', image: 'registry.example.com/shop/web:1.4.2' } as const;

/** A document that uses every field. */
export const full = {
  ...least,
  replicas: 2,
  entrypoint: ['/bin/web'],
  command: ['--port', '8080'],
  ports: [
    { containerPort: 8080, hostPort: 80, protocol: 'tcp' },
    { containerPort: 8125, protocol: 'udp' },
  ],
  nodeId: `node_${'1'.repeat(26)}`,
  healthCheck: {
    type: 'exec',
    command: ['/bin/check'],
    retries: 3,
    timeout: '10s',
    interval: '5s',
    startPeriod: '10s',
  },
  environment: { MODE: 'production', 'spring.profile': 'live' },
  secretsVersion: 0,
  resources: { cpu: '500m', memory: '256Mi' },
  labels: { team: 'shop', 'example.com/tier': 'front' },
} as const;

/** What is stored after `full` was accepted. */
export const stored: StoredDeployment = {
  metadata: {
    tenant: '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10',
    uid: `dep_${'3'.repeat(26)}`,
    generation: 1,
    createdAt: '2026-01-31T12:00:00.000Z',
    updatedAt: '2026-01-31T12:00:00.000Z',
    specHash: '0'.repeat(32),
  },
  ...full,
};

/** Code and field of everything that was refused; empty when it was accepted. */
export function complaints(admission: Admission): [code: string, field: string][] {
  return admission.ok ? [] : admission.rejections.map(({ code, field }) => [code, field]);
}
