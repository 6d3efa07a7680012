import { exampleVolumes } from '../rejections/index.js';
import { workloadLimits } from '../workload/facts.testing.js';
import type { DeploymentAdmission } from './admit.js';
import type { DeploymentLimits, StoredDeployment } from './deployment.js';

/** The limits of the default configuration. */
export const limits: DeploymentLimits = {
  ...workloadLimits,
  maxReplicas: 100,
  retriesFloor: 3,
  reservedHostPorts: [
    { first: 2379, last: 2380 },
    { first: 7070, last: 7070 },
  ],
  timeoutFloor: '10s',
};

export { exampleFacts, folder, machine1, machine2, scratch } from '../workload/facts.testing.js';

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
  secrets: [
    { name: 'DB', vault_path: 'deployments/web-db', anchor: `volume(${exampleVolumes.ready})`, rotation: 'restart' },
    { name: 'MAIL', vault_path: 'resources/mail', anchor: 'external', rotation: 'restart' },
  ],
  composedSecrets: { DATABASE_URL: 'postgres://{{secret.web-db.user}}:{{secret.web-db.password}}@db/shop' },
  secretsVersion: 0,
  volumes: [
    { volumeId: exampleVolumes.ready, type: 'volume', mountPath: '/data', readOnly: true, subPath: 'web' },
    { volumeId: exampleVolumes.writtenByOther, type: 'volume', mountPath: '/srv/assets', readOnly: true },
  ],
  networks: ['backend'],
  resources: { cpu: '500m', memory: '256Mi', limits: { cpu: '1', memory: '512Mi', pids: 256 } },
  user: '1000:1000',
  readOnlyRootFilesystem: true,
  placement: {
    residency: { country: 'DE', region: 'eu', blockedCountries: ['US', 'CN'] },
    constraints: [
      { key: 'disk', operator: 'In', values: ['ssd'] },
      { key: 'gpu', operator: 'DoesNotExist' },
    ],
    antiAffinity: { self: true, deployments: ['cache'], topologyKey: 'node' },
  },
  dependsOn: [
    { name: 'db', condition: 'healthy' },
    { name: 'cache', condition: 'started' },
  ],
  rollout: {
    maxSurge: 1,
    maxUnavailable: 0,
    progressDeadline: '10m',
    autoRollback: true,
    canary: { replicas: 1, hold: '5m' },
  },
  labels: { team: 'shop', 'example.com/tier': 'front' },
} as const;

/** The labels that the residency of `full` is stored as. */
export const renderedLabels = {
  'mooring.io/data-residency-country': 'DE',
  'mooring.io/data-residency-region': 'eu',
  'mooring.io/blocked-countries': 'US,CN',
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
  placement: { ...full.placement, labels: renderedLabels },
};

/** Code and field of everything that was refused; empty when it was accepted. */
export function listFaults(admission: DeploymentAdmission): [code: string, field: string][] {
  return admission.ok ? [] : admission.rejections.map(({ code, field }) => [code, field]);
}
