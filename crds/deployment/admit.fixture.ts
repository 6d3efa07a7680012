import { exampleVolumes } from '../rejections/index.js';
import { defaultRegions } from '../residency/index.js';
import { defaultSecretLimits } from '../secret/index.js';
import type { KnownVolume } from '../volume/index.js';
import type { Admission } from './admit.js';
import type { StoredDeployment } from './deployment.js';
import type { DeploymentFacts, DeploymentLimits } from './limits.js';
import { optionalFields } from './rules.js';

/** The limits of the default configuration, with every field honoured. */
export const limits: DeploymentLimits = {
  maxReplicas: 100,
  retriesFloor: 3,
  timeoutFloor: '10s',
  reservedNames: ['etcd'],
  secrets: defaultSecretLimits,
  honoured: new Set(optionalFields),
};

/** Ids of the tenant's two nodes. */
export const machine1 = `node_${'1'.repeat(26)}`;
export const machine2 = `node_${'2'.repeat(26)}`;

const volume = (id: string, fields: Partial<KnownVolume> = {}): KnownVolume => ({
  id,
  name: id.slice(-3),
  class: 'replicated',
  type: 'volume',
  sizeBytes: 2 ** 30,
  accessMode: 'ReadWriteOnce',
  phase: 'Ready',
  primaryNode: machine1,
  copies: [],
  consumers: [],
  ...fields,
});

/** An ephemeral volume without a primary, as free as can be. */
export const scratch = 'vol_01jx4t9mk3v8q2zr5w7y6n0scr';

/** A tenant with two nodes, a few volumes of every state, and some deployments. */
export const facts: DeploymentFacts = {
  nodes: [
    { id: machine1, name: 'machine-1', labels: { 'mooring.io/country': 'DE' }, reachable: true },
    { id: machine2, name: 'machine-2', labels: { 'mooring.io/geo-region': 'us' }, reachable: true },
  ],
  volumes: [
    volume(exampleVolumes.ready),
    volume(exampleVolumes.writtenByOther, { consumers: [{ deployment: 'db', readOnly: false }] }),
    volume(exampleVolumes.object, { class: 'object' }),
    volume(exampleVolumes.degraded, { phase: 'Degraded' }),
    { ...volume(scratch, { class: 'ephemeral', type: 'tmpfs' }), primaryNode: undefined as never },
  ],
  volumeManagement: 'on',
  networks: ['backend'],
  regions: { enforced: true, declared: defaultRegions },
  deployments: [
    { name: 'db', dependsOn: [], hasHealthCheck: true, secretPaths: ['deployments/db-admin'] },
    { name: 'cache', dependsOn: [], hasHealthCheck: false, secretPaths: [] },
    { name: 'worker', dependsOn: [{ name: 'web', condition: 'started' }], hasHealthCheck: true, secretPaths: [] },
  ],
  image: 'present',
  secretsPolicy: { namespaces: ['deployments', 'resources'] },
  secretKeys: { 'deployments/web-db': ['user', 'password'] },
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
  secrets: [
    { name: 'DB', vault_path: 'deployments/web-db', anchor: `volume(${exampleVolumes.ready})`, rotation: 'restart' },
    { name: 'MAIL', vault_path: 'resources/mail', anchor: 'external', rotation: 'restart' },
  ],
  composedSecrets: { DATABASE_URL: 'postgres://{{secret.web-db.user}}:{{secret.web-db.password}}@db/shop' },
  secretsVersion: 0,
  volumes: [
    { volumeId: exampleVolumes.ready, type: 'volume', mountPath: '/data', readOnly: true, subPath: 'web' },
    { volumeId: exampleVolumes.writtenByOther, type: 'bind', mountPath: '/srv/assets', readOnly: true },
  ],
  networks: ['backend'],
  resources: { cpu: '500m', memory: '256Mi' },
  placement: {
    residency: { country: 'DE', region: 'eu', blockedCountries: ['US', 'CN'] },
    labels: {
      'mooring.io/data-residency-country': 'DE',
      'mooring.io/data-residency-region': 'eu',
      'mooring.io/blocked-countries': 'US,CN',
    },
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
