import {
  absent,
  degraded,
  describeCodes,
  machine1,
  object,
  ready,
  type RejectableRequest,
  scratch,
  web,
  writtenByOther,
} from '../deployment/rejection-lab.testing.js';

const volume = (fields: Readonly<Record<string, unknown>> = {}, query = ''): RejectableRequest => ({
  path: `/api/v1/dvm/volumes${query}`,
  body: { name: 'new', class: 'ephemeral', sizeBytes: 2 ** 30, ...fields },
});
const one = (method: string, id: string, as: 'rich' | 'bare' = 'rich', query = ''): RejectableRequest => ({
  method,
  path: `/api/v1/dvm/volumes/${id}${query}`,
  as,
});
const resize = (id: string, body: unknown, query = '', as: 'rich' | 'bare' = 'rich'): RejectableRequest => ({
  method: 'PATCH',
  path: `/api/v1/dvm/volumes/${id}${query}`,
  body,
  as,
});
const snapshots = (
  method: string,
  id: string,
  rest = '',
  more: Partial<RejectableRequest> = {},
): RejectableRequest => ({
  method,
  path: `/api/v1/tenants/self/volumes/${id}/snapshots${rest}`,
  ...more,
});

const replicas = (
  method: string,
  id: string,
  rest: string,
  more: Partial<RejectableRequest> = {},
): RejectableRequest => ({
  method,
  path: `/api/v1/tenants/self/volumes/${id}/replicas${rest}`,
  ...more,
});

const move = (id: string, node: string, more: Partial<RejectableRequest> = {}): RejectableRequest => ({
  method: 'POST',
  path: `/api/v1/tenants/self/volumes/${id}/move`,
  body: { node },
  ...more,
});

describeCodes('volumes (7.5)', [
  {
    code: 'volume_move_node_unable',
    status: 409,
    cases: [
      ['where the primary is', 'node', move(ready, machine1)],
      ['a node that takes no copies', 'node', move(ready, 'machine-2')],
    ],
  },
  {
    code: 'node_not_a_placement_candidate',
    status: 422,
    cases: [['to move to', 'node', move(ready, 'machine-9')]],
  },
  {
    code: 'volume_in_use',
    status: 409,
    cases: [
      ['by a deployment', 'id', one('DELETE', writtenByOther)],
      ['by its name', 'id', one('DELETE', writtenByOther.slice(-3))],
      ['in a dry run', 'id', one('DELETE', writtenByOther, 'rich', '?dryRun=true')],
    ],
  },
  {
    code: 'volume_not_found',
    status: 404,
    cases: [
      ['to show', 'id', one('GET', absent)],
      ['to delete', 'id', one('DELETE', absent)],
      ['to resize', 'id', resize(absent, { sizeBytes: 2 ** 31 })],
      ['another tenant’s to resize', 'id', resize(ready, { sizeBytes: 2 ** 31 }, '', 'bare')],
      ['no id', 'id', one('GET', 'vol_1')],
      ['another tenant’s', 'id', one('GET', ready, 'bare')],
      ['another tenant’s to delete', 'id', one('DELETE', ready, 'bare')],
      ['for its snapshots', 'id', snapshots('GET', absent)],
      ['another tenant’s for its snapshots', 'id', snapshots('GET', ready, '', { as: 'bare' })],
      ['for a copy', 'id', replicas('POST', absent, '', { body: { node_id: machine1 } })],
      ['another tenant’s for a copy', 'id', replicas('POST', ready, '', { body: { node_id: machine1 }, as: 'bare' })],
      ['to move', 'id', move(absent, machine1)],
      ['another tenant’s to move', 'id', move(ready, machine1, { as: 'bare' })],
      ['another tenant’s copy', 'id', replicas('DELETE', ready, '/machine-1', { as: 'bare' })],
    ],
  },
  {
    code: 'volume_snapshot_not_found',
    status: 404,
    cases: [
      ['[7.5.8] any', 'snapshots/{snap}', snapshots('GET', ready, '/snap_1')],
      ['a path', 'snapshots/{snap}', snapshots('GET', degraded, '/Snap%201')],
    ],
  },
  {
    code: 'volume_snapshot_not_implemented',
    status: 501,
    cases: [
      ['[7.5.9] without a body', `volumes.${ready}.snapshots`, snapshots('POST', ready)],
      ['with any body', `volumes.${ready}.snapshots`, snapshots('POST', ready, '', { body: { name: 'nightly' } })],
      ['of a volume that is not there', `volumes.${absent}.snapshots`, snapshots('POST', absent, '', { body: [] })],
    ],
  },
  {
    code: 'volume_size_unavailable',
    status: 409,
    cases: [
      ['more than its node has', 'sizeBytes', resize(ready, { sizeBytes: 2 ** 40 })],
      ['in a dry run', 'sizeBytes', resize(ready, { sizeBytes: 2 ** 40 }, '?dryRun=true')],
    ],
  },
  {
    code: 'field_immutable',
    status: 422,
    cases: [
      ['the class', 'class', resize(ready, { sizeBytes: 2 ** 31, class: 'ephemeral' })],
      ['the name', 'name', resize(ready, { sizeBytes: 2 ** 31, name: 'other' })],
      ['the node', 'primaryNode', resize(ready, { sizeBytes: 2 ** 31, primaryNode: 'machine-2' })],
    ],
  },
  {
    code: 'volume_not_ready',
    status: 409,
    cases: [['another size', 'id', resize(degraded, { sizeBytes: 2 ** 31 })]],
  },
  {
    code: 'volume_class_not_wired',
    status: 422,
    cases: [['another size of objects', 'id', resize(object, { sizeBytes: 2 ** 31 })]],
  },
  {
    code: 'volume_replica_unsupported',
    status: 422,
    cases: [
      ['of a volume with one copy', 'replicas', volume({ replicas: 1 })],
      ['of objects', 'replicas', volume({ class: 'object', replicas: 2 })],
      ['one more', 'node_id', replicas('POST', scratch, '', { body: { node_id: machine1 } })],
      ['one more of objects', 'node_id', replicas('POST', object, '', { body: { node_id: 'machine-2' } })],
      ['one less', 'node_id', replicas('DELETE', scratch, '/machine-1')],
      ['to move', 'node', move(scratch, 'machine-2')],
    ],
  },
  {
    code: 'volume_replica_node_conflict',
    status: 422,
    cases: [
      ['where the primary is', 'node_id', replicas('POST', ready, '', { body: { node_id: machine1 } })],
      ['no node', 'node_id', replicas('POST', ready, '', { body: { node_id: 'machine-9' } })],
      ['a node that takes none', 'node_id', replicas('POST', ready, '', { body: { node_id: 'machine-2' } })],
      ['in a dry run', 'node_id', replicas('POST', ready, '?dryRun=true', { body: { node_id: machine1 } })],
    ],
  },
  {
    code: 'resource_not_found',
    status: 404,
    cases: [
      ['a copy', 'node_id', replicas('DELETE', ready, '/machine-2')],
      ['the primary', 'node_id', replicas('DELETE', ready, '/machine-1')],
    ],
  },
  {
    code: 'field_invalid',
    status: 422,
    cases: [
      ['no class', 'class', volume({ class: 'fast' })],
      ['no size', 'sizeBytes', volume({ sizeBytes: undefined })],
      ['a size in words', 'sizeBytes', volume({ sizeBytes: '1Gi' })],
      ['a size below any', 'sizeBytes', volume({ sizeBytes: 1 })],
      ['an access mode', 'accessMode', volume({ accessMode: 'ReadWriteMany' })],
      ['a name', 'name', volume({ name: '../data' })],
      ['no other size', 'sizeBytes', resize(ready, {})],
      ['another size in words', 'sizeBytes', resize(ready, { sizeBytes: '2Gi' })],
      ['copied memory', 'type', volume({ class: 'replicated', type: 'tmpfs' })],
      ['a copied folder of a machine', 'type', volume({ class: 'replicated', type: 'bind' })],
      ['a folder above', 'name', volume({ type: 'bind', name: '..' })],
      ['no node for a copy', 'node_id', replicas('POST', ready, '', { body: {} })],
    ],
  },
  {
    code: 'field_unknown',
    status: 422,
    cases: [
      ['a phase', 'phase', volume({ phase: 'Ready' })],
      ['a phase beside a size', 'phase', resize(ready, { sizeBytes: 2 ** 31, phase: 'Ready' })],
      ['a path of the machine', 'hostPath', volume({ type: 'bind', hostPath: '/etc' })],
    ],
  },
  {
    code: 'node_not_a_placement_candidate',
    status: 422,
    cases: [['a node', 'primaryNode', volume({ primaryNode: 'machine-9' })]],
  },
  {
    code: 'node_candidates_unresolvable',
    status: 422,
    cases: [['another tenant’s node', 'primaryNode', { ...volume({ primaryNode: machine1 }), as: 'bare' }]],
  },
  {
    code: 'residency_region_unknown',
    status: 422,
    cases: [['a region', 'residency.region', volume({ residency: { region: 'mars' } })]],
  },
  {
    code: 'residency_country_invalid',
    status: 422,
    cases: [['a country', 'residency.country', volume({ residency: { country: 'Germany' } })]],
  },
  {
    code: 'resource_already_exists',
    status: 409,
    cases: [
      ['a name', 'name', volume({ name: ready.slice(-3) })],
      ['in a dry run', 'name', volume({ name: object.slice(-3) }, '?dryRun=true')],
    ],
  },
  {
    code: 'query_parameter_unknown',
    status: 400,
    cases: [
      ['of volumes', 'phase', { method: 'GET', path: '/api/v1/dvm/volumes?phase=Ready' }],
      ['of snapshots', 'watch', snapshots('GET', ready, '?watch=true')],
    ],
  },
]);

describeCodes(
  'volumes while nobody manages them (7.5)',
  [
    {
      code: 'volume_binding_unavailable',
      status: 422,
      cases: [
        ['a new one', 'volumes', volume()],
        ['in a dry run', 'volumes', volume({}, '?dryRun=true')],
        ['a mount', 'volumes', web({ volumes: [{ volumeId: ready, mountPath: '/data' }] })],
        ['a copy', 'volumes', replicas('POST', ready, '', { body: { node_id: 'machine-2' } })],
        ['another size', 'volumes', resize(ready, { sizeBytes: 2 ** 31 })],
        ['another size in a dry run', 'volumes', resize(ready, { sizeBytes: 2 ** 31 }, '?dryRun=true')],
      ],
    },
  ],
  { settings: { volumeManagement: false } },
);
