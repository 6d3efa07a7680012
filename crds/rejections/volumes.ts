import { exampleDeployment, defineEntries, exampleVolumes, exampleMount } from './entry.js';

/** Whether the volume stands in the path of the request, or in its body. */
type Where = { readonly in: 'path' | 'body' };

const mounting = (fields: Readonly<Record<string, unknown>>, more: Readonly<Record<string, unknown>> = {}) =>
  exampleDeployment({ volumes: [exampleMount(fields)], ...more });

/** Section 7.5: volumes, snapshots and queries. */
export const volumeRejections = defineEntries({
  volume_access_mode_conflict: {
    section: '7.5',
    status: 409,
    expected: ({ writer }: { writer: string }) => `a read-only mount: ${writer} is the one that writes`,
    sample: { writer: 'the deployment db' },
    why: 'ReadWriteOnce means one writer; two would destroy each other’s data.',
    remedy: 'Mount the volume with readOnly: true, or detach the other writer.',
    example: mounting({ volumeId: exampleVolumes.writtenByOther }),
    fixed: mounting({ volumeId: exampleVolumes.writtenByOther, readOnly: true }),
  },

  volume_binding_unavailable: {
    section: '7.5',
    status: 422,
    expected: 'a deployment without volumes, while volume management is off',
    why: 'Nobody would make, move or protect the volume.',
    remedy: 'Remove volumes, or have volume management switched on.',
    example: mounting({}),
    fixed: exampleDeployment(),
  },

  volume_class_not_wired: {
    section: '7.5',
    status: 422,
    expected: ({ wired }: { wired: readonly string[] }) => `a volume of class ${wired.join(' or ')}`,
    sample: { wired: ['ephemeral', 'replicated'] },
    why: 'Volumes of other classes can be made, but not yet be bound to containers.',
    remedy: 'Use a volume of another class.',
    example: mounting({ volumeId: exampleVolumes.object }),
    fixed: mounting({}),
  },

  volume_mount_shape: {
    section: '7.5',
    status: 422,
    expected:
      'volumeId, an absolute mountPath without .. that no other mount has, and optionally type volume, bind or tmpfs, readOnly, subPath',
    why: 'The engine would refuse the mount, or put it where nobody expects it.',
    remedy: 'Correct the mount.',
    example: mounting({ mountPath: 'data' }),
    fixed: mounting({ mountPath: '/data' }),
  },

  volume_not_found: {
    section: '7.5',
    status: (where: Where) => (where.in === 'path' ? 404 : 422),
    expected: (where: Where) =>
      where.in === 'path' ? 'the id of an existing volume' : 'the id of a volume that this tenant owns',
    sample: { in: 'body' },
    why: 'There is no volume of that id, or not in this tenant.',
    remedy: 'List the volumes with GET /api/v1/dvm/volumes, and correct the id.',
    example: mounting({ volumeId: exampleVolumes.absent }),
    fixed: mounting({}),
  },

  volume_not_ready: {
    section: '7.5',
    status: 409,
    expected: ({ phase }: { phase: string }) => `a volume in phase Ready; it is ${phase}`,
    sample: { phase: 'Degraded' },
    why: 'Data on a volume that is not ready may be missing or about to move.',
    remedy: 'Wait until the volume is Ready.',
    example: mounting({ volumeId: exampleVolumes.degraded }),
    fixed: mounting({}),
  },

  volume_primary_mismatch: {
    section: '7.5',
    status: 409,
    expected: ({ primary }: { primary: string }) => `${primary}, where the volume’s primary is; or no nodeId`,
    sample: { primary: 'machine-1' },
    why: 'Only the primary takes writes, so a writer must run beside it.',
    remedy: 'Leave nodeId out, and placement follows the volume.',
    example: mounting({}, { nodeId: 'machine-2' }),
    fixed: mounting({}),
  },

  volume_snapshot_not_found: {
    section: '7.5',
    status: 404,
    expected: 'the id of an existing snapshot',
    why: 'There is no such snapshot; none can be made in this release.',
    remedy: 'Use replicas of a replicated volume, or backups of the configuration.',
    example: 'GET …/volumes/vol_…/snapshots/snap_1',
    fixed: 'GET …/volumes/vol_…/snapshots',
  },

  volume_snapshot_not_implemented: {
    section: '7.5',
    status: 501,
    expected: 'no snapshot: no body can succeed',
    why: 'A snapshot that is not consistent would be worse than none, and consistent ones are not made yet.',
    remedy:
      'Add replicas to a replicated volume; use backups or archives for configuration; run a scheduled job inside the workload for the bytes.',
    echo: 'never',
    example: 'POST …/volumes/vol_…/snapshots',
    fixed: 'POST …/volumes/vol_…/replicas with {"node_id": "machine-2"}',
  },

  query_parameter_unknown: {
    section: '7.5',
    status: 400,
    expected: ({ known }: { known: readonly string[] }) =>
      known.length === 0 ? 'no query parameters' : `only these query parameters: ${known.join(', ')}`,
    sample: { known: ['limit', 'continue', 'watch', 'after'] },
    why: 'The parameter is unknown; ignoring it would return other results than those asked for.',
    remedy: 'Correct or remove the parameter.',
    example: 'GET /api/v1/deployments?limt=10',
    fixed: 'GET /api/v1/deployments?limit=10',
  },

  volume_in_use: {
    section: 'ours',
    status: 409,
    expected: ({ users }: { users: readonly string[] }) =>
      `a volume that no deployment mounts; mounted by ${users.join(', ')}`,
    sample: { users: ['db'] },
    why: 'Deployments mount the volume, and their data would be lost.',
    remedy: 'Take the volume out of the deployments first.',
    example: 'DELETE /api/v1/dvm/volumes/vol_… while db mounts it',
    fixed: 'DELETE /api/v1/dvm/volumes/vol_… once nothing mounts it',
  },

  volume_replica_unsupported: {
    section: 'ours',
    status: 422,
    expected: 'a volume of class replicated',
    why: 'Other classes have one copy by their nature.',
    remedy: 'Make a volume of class replicated.',
    example: 'POST …/volumes/vol_…/replicas on an ephemeral volume',
    fixed: 'POST …/volumes/vol_…/replicas on a replicated volume',
  },

  volume_replica_node_conflict: {
    section: 'ours',
    status: 422,
    expected: ({ nodes }: { nodes: readonly string[] }) =>
      nodes.length === 0
        ? 'another node that could hold a copy, and the tenant has none'
        : `a node that could hold a copy: ${nodes.join(', ')}`,
    sample: { nodes: ['machine-2'] },
    why: 'Every copy sits on a node of its own, of this tenant, and inside the volume’s residency.',
    remedy: 'Choose one of the nodes, or enrol another.',
    example: { node_id: 'machine-1' },
    fixed: { node_id: 'machine-2' },
  },
});
