import { exampleVolumes } from '../rejections/index.js';
import { defaultRegions } from '../residency/index.js';
import { defaultSecretLimits } from '../secret/index.js';
import type { KnownVolume } from '../volume/index.js';
import type { WorkloadFacts, WorkloadLimits } from './context.js';

/** The limits of the default configuration. */
export const workloadLimits: WorkloadLimits = { reservedNames: ['etcd'], secrets: defaultSecretLimits };

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
export const { scratch } = exampleVolumes;

/** A folder that the machine's operator provides. */
export const folder = 'vol_01jx4t9mk3v8q2zr5w7y6n0bnd';

/** A tenant with two nodes, a few volumes of every state, and some deployments. */
export const exampleFacts: WorkloadFacts = {
  nodes: [
    { id: machine1, name: 'machine-1', labels: { 'mooring.io/country': 'DE' }, reachable: true },
    { id: machine2, name: 'machine-2', labels: { 'mooring.io/geo-region': 'us' }, reachable: true },
  ],
  volumes: [
    volume(exampleVolumes.ready),
    volume(exampleVolumes.writtenByOther, { consumers: [{ deployment: 'db', readOnly: false }] }),
    volume(exampleVolumes.object, { class: 'object' }),
    volume(exampleVolumes.degraded, { phase: 'Degraded' }),
    volume(folder, { type: 'bind' }),
    { ...volume(scratch, { class: 'ephemeral', type: 'tmpfs' }), primaryNode: undefined as never },
  ],
  volumeManagement: 'on',
  networks: [
    { name: 'backend', nodeId: machine1, internal: false },
    { name: 'vault', nodeId: machine1, internal: true },
    { name: 'edge', nodeId: machine2, internal: false },
  ],
  regions: { enforced: true, declared: defaultRegions },
  deployments: [
    { name: 'db', dependsOn: [], hasHealthCheck: true, secretPaths: ['deployments/db-admin'], externalPaths: [] },
    { name: 'cache', dependsOn: [], hasHealthCheck: false, secretPaths: [], externalPaths: [] },
    {
      name: 'worker',
      dependsOn: [{ name: 'web', condition: 'started' }],
      hasHealthCheck: true,
      secretPaths: [],
      externalPaths: [],
    },
  ],
  image: 'present',
  secretsPolicy: { namespaces: ['deployments', 'resources'] },
  secretKeys: { 'deployments/web-db': ['user', 'password'] },
  rotating: [],
};
