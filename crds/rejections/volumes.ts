import { exampleDeployment, defineEntries, exampleVolumes, exampleMount } from './entry.js';

/** Whether the id of the volume is in the path of the request or in its body. */
type FieldLocation = { readonly in: 'path' | 'body' };

const mounting = (fields: Readonly<Record<string, unknown>>, more: Readonly<Record<string, unknown>> = {}) =>
  exampleDeployment({ volumes: [exampleMount(fields)], ...more });

/** Section 7.5: volumes, snapshots and queries. */
export const volumeRejections = defineEntries('7.5', {
  volume_access_mode_conflict: {
    status: 409,
    expected: ({ writer }: { writer: string }) => `a read-only mount; ${writer} already writes to the volume`,
    sample: { writer: 'the deployment db' },
    why: 'ReadWriteOnce means one writer; two writers would corrupt the data.',
    remedy: 'Mount the volume with readOnly: true, or detach the other writer.',
    example: mounting({ volumeId: exampleVolumes.writtenByOther }),
    fixed: mounting({ volumeId: exampleVolumes.writtenByOther, readOnly: true }),
  },

  volume_binding_unavailable: {
    expected: 'no volumes, while volume management is off',
    why: 'The operator has switched volume management off: nothing new is created or mounted, and nothing is resized.',
    remedy: 'Remove volumes, or ask the operator of the platform to switch volume management on.',
    example: mounting({}),
    fixed: exampleDeployment(),
  },

  volume_class_not_wired: {
    expected: ({ wired }: { wired: readonly string[] }) => `a volume of class ${wired.join(' or ')}`,
    sample: { wired: ['ephemeral', 'replicated'] },
    why: 'Volumes of other classes can be created, but this release cannot mount them.',
    remedy: 'Mount a volume of one of these classes.',
    example: mounting({ volumeId: exampleVolumes.object }),
    fixed: mounting({}),
  },

  volume_mount_shape: {
    expected:
      'volumeId, an absolute mountPath without .. that no other mount has, and optionally type volume, bind or tmpfs, readOnly, subPath',
    why: 'The container engine would refuse the mount, or mount the volume at an unexpected path.',
    remedy: 'Correct the mount.',
    example: mounting({ mountPath: 'data' }),
    fixed: mounting({ mountPath: '/data' }),
  },

  volume_not_found: {
    status: (where: FieldLocation) => (where.in === 'path' ? 404 : 422),
    expected: (where: FieldLocation) =>
      where.in === 'path' ? 'the id of an existing volume' : 'the id of a volume that this tenant owns',
    sample: { in: 'body' },
    why: 'This tenant has no volume of that id.',
    remedy: 'List the volumes with GET /api/v1/dvm/volumes, and correct the id.',
    example: mounting({ volumeId: exampleVolumes.absent }),
    fixed: mounting({}),
  },

  volume_not_ready: {
    status: 409,
    expected: ({ phase }: { phase: string }) => `a volume in phase Ready; it is ${phase}`,
    sample: { phase: 'Degraded' },
    why: 'Data on a volume that is not ready may be missing or about to move.',
    remedy: 'Wait until the volume is Ready.',
    example: mounting({ volumeId: exampleVolumes.degraded }),
    fixed: mounting({}),
  },

  volume_primary_mismatch: {
    status: 409,
    expected: ({ primary }: { primary: string }) => `${primary}, the node of the volume’s primary copy, or no nodeId`,
    sample: { primary: 'machine-1' },
    why: 'Only the primary copy accepts writes, so a container that writes must run on its node.',
    remedy: 'Leave nodeId out; the scheduler then chooses the node of the primary copy.',
    example: mounting({}, { nodeId: 'machine-2' }),
    fixed: mounting({}),
  },

  volume_snapshot_not_found: {
    status: 404,
    expected: 'the id of an existing snapshot',
    why: 'No snapshot of that id exists; this release cannot create snapshots.',
    remedy: 'Use replicas of a replicated volume, or backups of the configuration.',
    example: 'GET …/volumes/vol_…/snapshots/snap_1',
    fixed: 'GET …/volumes/vol_…/snapshots',
  },

  volume_snapshot_not_implemented: {
    status: 501,
    expected:
      'no request for a snapshot: use replicas of a replicated volume, backups or archives for configuration, or a scheduled job inside the workload for its bytes',
    why: 'This release cannot create consistent snapshots, and an inconsistent one would be worse than none.',
    remedy:
      'Add replicas to a replicated volume; keep configuration in backups or archives; copy the data with a scheduled job inside the workload.',
    echo: 'never',
    example: 'POST …/volumes/vol_…/snapshots',
    fixed: 'POST …/volumes/vol_…/replicas with {"node_id": "machine-2"}',
  },

  query_parameter_unknown: {
    status: 400,
    expected: ({ known }: { known: readonly string[] }) =>
      known.length === 0 ? 'no query parameters' : `only these query parameters: ${known.join(', ')}`,
    sample: { known: ['limit', 'continue', 'watch', 'after'] },
    why: 'The parameter is unknown; ignoring it would return other results than requested.',
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
    remedy: 'Remove the volume from those deployments first.',
    example: 'DELETE /api/v1/dvm/volumes/vol_… while db mounts it',
    fixed: 'DELETE /api/v1/dvm/volumes/vol_… once nothing mounts it',
  },

  volume_record_unusable: {
    section: 'ours',
    status: 409,
    expected: ({ fault }: { fault: string }) =>
      `a volume whose record can be read; what is stored of it is not sound: ${fault}`,
    sample: { fault: 'class is not one of the known ones' },
    why: 'The record does not say what the volume is, and its bytes could be removed, or left behind, by mistake.',
    remedy: 'Ask the operator of the platform to restore the record from a backup of etcd; then delete the volume.',
    example: 'DELETE /api/v1/dvm/volumes/vol_… while its record is damaged',
    fixed: 'DELETE /api/v1/dvm/volumes/vol_… once its record is restored',
  },

  volume_size_unavailable: {
    section: 'ours',
    status: 409,
    expected: ({ wanted }: { wanted: string }) => wanted,
    sample: { wanted: 'at least 1073741824 bytes (1GiB), which the volume holds now' },
    why: 'What the volume holds would not fit, or its node has no room for more.',
    remedy: 'Choose a size within these bounds; remove files first, or make room on the node.',
    example: 'PATCH /api/v1/dvm/volumes/vol_… with {"sizeBytes": 1048576} while it holds 1 GiB',
    fixed: 'PATCH /api/v1/dvm/volumes/vol_… with {"sizeBytes": 2147483648}',
  },

  volume_replica_unsupported: {
    section: 'ours',
    expected: 'a volume of class replicated',
    why: 'Volumes of other classes have a single copy.',
    remedy: 'Create a volume of class replicated.',
    example: 'POST …/volumes/vol_…/replicas on an ephemeral volume',
    fixed: 'POST …/volumes/vol_…/replicas on a replicated volume',
  },

  volume_replica_set_aside: {
    section: 'ours',
    status: 409,
    expected: ({ names }: { names: readonly string[] }) =>
      `a copy beside which nothing was set aside, or force=true; ${names.join(', ')} is there`,
    sample: { names: ['divergent-1-9f2c41d07ab35e68'] },
    why: 'What was set aside is on no other node: it was written by a former primary and never copied.',
    remedy:
      'Copy out what you need, as docs/OPERATIONS.md says, and remove it ("moor volumes divergent delete"). To give it up with the copy, repeat the request with force=true ("moor volumes replicas remove --force").',
    example: 'DELETE …/volumes/vol_…/replicas/machine-2',
    fixed: 'DELETE …/volumes/vol_…/replicas/machine-2?force=true',
  },

  volume_move_node_unable: {
    section: 'ours',
    status: 409,
    expected: ({ because }: { because: string }) => `a node that can take the primary of the volume; ${because}`,
    sample: { because: 'machine-2 is drained and takes no work' },
    why: 'The primary is served from that node, and what mounts the volume runs there.',
    remedy: 'Correct what is named, or name another node.',
    example: { node: 'machine-1' },
    fixed: { node: 'machine-2' },
  },

  volume_move_under_way: {
    section: 'ours',
    status: 409,
    expected: ({ to }: { to: string }) => `a volume that is not moving; it moves to ${to}`,
    sample: { to: 'machine-2' },
    why: 'A volume moves to one node at a time.',
    remedy: 'Wait until the move has ended, or cancel it ("moor volumes move --cancel").',
    example: 'POST …/volumes/vol_…/move while it moves',
    fixed: 'DELETE …/volumes/vol_…/move, and then POST …/volumes/vol_…/move',
  },

  volume_replica_node_conflict: {
    section: 'ours',
    expected: ({ nodes, others }: { nodes: readonly string[]; others: readonly string[] }) => {
      const able = nodes.length === 0 ? '; the tenant has none' : `: ${nodes.join(', ')}`;
      const rest = others.length === 0 ? '' : ` (${others.join('; ')})`;
      return `a node that can hold another copy${able}${rest}`;
    },
    sample: { nodes: ['machine-2'], others: ['machine-1 is the node of its primary'] },
    why: 'Each copy is on a node of its own, which belongs to this tenant, satisfies the volume’s residency, takes copies, and keeps volumes with the driver that the primary has.',
    remedy:
      'Choose one of these nodes, enrol another, or start the agent of the node with --volume-listen or with the same --volume-driver.',
    example: { node_id: 'machine-1' },
    fixed: { node_id: 'machine-2' },
  },
});
