import { keys } from '../../../crds/keys/index.js';
import { describeCodes, machine1, machine2, type RejectableRequest } from '../deployment/rejection-lab.testing.js';
import { makeVolume } from '../../../crds/volume/volume.testing.js';

const GIB = 2 ** 30;
const AT = new Date(0).toISOString();
const full = '2'.repeat(26);
const lost = '3'.repeat(26);
const fine = '4'.repeat(26);
const going = '5'.repeat(26);
const absent = '6'.repeat(26);
const wide = '7'.repeat(26);

/** What volumes of a tenant are like, so that something can be recommended about them. */
function records(tenant: string): Readonly<Record<string, object>> {
  const volume = (id: string, spec: object, status: object, metadata = {}) => ({
    [keys.volume(tenant, `vol_${id}`)]: makeVolume(
      { tenant, uid: `vol_${id}`, generation: 1, createdAt: AT, updatedAt: AT, specHash: '', ...metadata },
      { name: `v${id[0]}`, class: 'ephemeral', sizeBytes: 2 * GIB, ...spec },
    ),
    [keys.volumeStatus(tenant, `vol_${id}`)]: {
      id: `vol_${id}`,
      phase: 'Ready',
      reason: 'volume_ready',
      message: '',
      primaryNode: machine1,
      copies: [],
      capacityBytes: 2 * GIB,
      usedBytes: GIB,
      measuredAt: AT,
      since: AT,
      ...status,
    },
  });
  const copies = [{ nodeId: machine2, state: 'lost' }];
  return {
    ...volume(full, {}, { usedBytes: Math.floor(1.9 * GIB) }),
    ...volume(fine, {}, { usedBytes: GIB }),
    ...volume(lost, { class: 'replicated', replicas: 1 }, { usedBytes: GIB, copies }),
    ...volume(wide, { class: 'replicated', replicas: 1 }, { usedBytes: GIB, copies: [], phase: 'Degraded' }),
    ...volume(going, {}, { usedBytes: 2 * GIB }, { deletedAt: AT }),
  };
}

const read = (query = '', more: Partial<RejectableRequest> = {}): RejectableRequest => ({
  method: 'GET',
  path: `/api/v1/dvm/recommendations${query}`,
  isNamed: true,
  ...more,
});
const apply = (
  id: string,
  parameters: unknown,
  more: Partial<RejectableRequest> = {},
  query = '',
): RejectableRequest => ({
  path: `/api/v1/dvm/recommendations/${id}/apply${query}`,
  body: { parameters },
  isNamed: true,
  ...more,
});
const grow = `rec_${full}_grow`;
const resize = (target_size_bytes: unknown, more = {}) => ({ action: 'resize', target_size_bytes, ...more });
const replicas = (target_replicas: unknown) => ({ action: 'set_replicas', target_replicas });
const sound = resize(4 * GIB);

describeCodes(
  'recommendations (7.5)',
  [
    {
      code: 'dvm_recommendation_tenant_required',
      status: 400,
      cases: [
        ['[5.2 7.5.16] to read', 'X-Tenant-ID', { method: 'GET', path: '/api/v1/dvm/recommendations' }],
        ['before the query', 'X-Tenant-ID', { method: 'GET', path: '/api/v1/dvm/recommendations?priority=urgent' }],
        ['to apply', 'X-Tenant-ID', { path: `/api/v1/dvm/recommendations/${grow}/apply`, body: { parameters: sound } }],
        ['of the switch', 'X-Tenant-ID', { method: 'GET', path: '/api/v1/dvm/recommendations/auto-apply' }],
      ],
    },
    {
      code: 'dvm_recommendation_unknown_priority',
      status: 400,
      cases: [
        ['[4.14 7.5.18] another word', 'priority', read('?priority=urgent')],
        ['in capitals', 'priority', read('?priority=High')],
        ['nothing', 'priority', read('?priority=')],
        ['beside a type', 'priority', read('?type=capacity&priority=all')],
      ],
    },
    {
      code: 'dvm_recommendation_unknown_type',
      status: 400,
      cases: [
        ['[4.14 7.5.19] another word', 'type', read('?type=size')],
        ['nothing', 'type', read('?type=')],
        ['beside a priority', 'type', read('?type=Capacity&priority=low')],
      ],
    },
    {
      code: 'query_parameter_unknown',
      status: 400,
      cases: [
        ['a volume', 'volume', read('?volume=data')],
        ['a page', 'limit', read('?limit=5')],
        ['a watch', 'watch', read('?watch=true')],
        ['to apply', 'force', apply(grow, sound, {}, '?force=true')],
      ],
    },
    {
      code: 'query_parameter_invalid',
      status: 400,
      cases: [['twice', 'type', read('?type=capacity&type=capacity')]],
    },
    {
      code: 'dvm_recommendation_not_found',
      status: 404,
      cases: [
        ['[7.5.14] of a volume that is fine', 'id', apply(`rec_${fine}_grow`, sound)],
        ['of another condition', 'id', apply(`rec_${full}_shrink`, sound)],
        ['no id', 'id', apply('rec_1', sound)],
        ['in a dry run', 'id', apply(`rec_${fine}_grow`, sound, {}, '?dryRun=true')],
      ],
    },
    {
      code: 'dvm_recommendation_volume_missing',
      status: 409,
      cases: [
        ['[7.5.20] gone', 'volume_id', apply(`rec_${absent}_grow`, sound)],
        ['going', 'volume_id', apply(`rec_${going}_grow`, sound)],
        ['another tenant’s', 'volume_id', apply(grow, sound, { as: 'bare' })],
      ],
    },
    {
      code: 'dvm_recommendation_not_applicable',
      status: 409,
      cases: [
        ['[4.31 7.5.13] without enough nodes', 'id', apply(`rec_${wide}_copies`, replicas(1))],
        ['in a dry run', 'id', apply(`rec_${wide}_copies`, replicas(1), {}, '?dryRun=true')],
      ],
    },
    {
      code: 'dvm_recommendation_unknown_action',
      status: 422,
      cases: [
        ['[7.5.17] another verb', 'parameters.action', apply(grow, { action: 'shrink' })],
        ['none', 'parameters.action', apply(grow, {})],
        ['a number', 'parameters.action', apply(grow, { action: 5 })],
      ],
    },
    {
      code: 'dvm_recommendation_bad_parameter',
      status: 422,
      cases: [
        ['[7.5.11] no size', 'parameters.target_size_bytes', apply(grow, { action: 'resize' })],
        ['a size in words', 'parameters.target_size_bytes', apply(grow, resize('4Gi'))],
        ['a size below zero', 'parameters.target_size_bytes', apply(grow, resize(-1))],
        ['no replicas', 'parameters.target_replicas', apply(grow, { action: 'set_replicas' })],
        ['too many replicas', 'parameters.target_replicas', apply(grow, replicas(21))],
        [
          'what another action takes',
          'parameters.target_replicas',
          apply(grow, resize(4 * GIB, { target_replicas: 2 })),
        ],
      ],
    },
    {
      code: 'dvm_recommendation_stale_measurement',
      status: 409,
      cases: [
        ['[7.5.15] less than it holds', 'parameters.target_size_bytes', apply(grow, resize(GIB))],
        ['in a dry run', 'parameters.target_size_bytes', apply(grow, resize(GIB), {}, '?dryRun=true')],
      ],
    },
    {
      code: 'dvm_recommendation_apply_invalid_spec',
      status: 409,
      cases: [
        ['[7.5.10] copies of what has none', 'spec', apply(grow, replicas(1))],
        ['more than its node has', 'spec', apply(grow, resize(2 ** 40))],
      ],
    },
    {
      code: 'field_unknown',
      status: 422,
      cases: [['a parameter', 'parameters.force', apply(grow, { ...sound, force: true })]],
    },
    {
      code: 'quota_reached',
      status: 409,
      cases: [['more than the tenant may have', 'parameters.target_size_bytes', apply(grow, resize(30 * GIB))]],
    },
  ],
  { records, settings: { quotas: ['volumeBytes=20Gi'] } },
);

describeCodes(
  'recommendations while nobody manages volumes (7.5)',
  [
    {
      code: 'volume_binding_unavailable',
      status: 422,
      cases: [['to grow', 'volumes', apply(grow, sound)]],
    },
  ],
  { records, settings: { volumeManagement: false } },
);

describeCodes(
  'recommendations with too few nodes (7.5)',
  [
    {
      code: 'dvm_recommendation_insufficient_nodes',
      status: 409,
      cases: [
        ['[7.5.12 8.10] one more than nodes', 'parameters.target_replicas', apply(`rec_${lost}_copies`, replicas(3))],
        ['in a dry run', 'parameters.target_replicas', apply(`rec_${lost}_copies`, replicas(20), {}, '?dryRun=true')],
      ],
    },
  ],
  {
    records: tenant => ({
      ...records(tenant),
      [keys.node(tenant, 'machine-3')]: {
        metadata: { tenant, uid: 'node_3', generation: 1, createdAt: AT, updatedAt: AT, specHash: '' },
        id: `node_${'3'.repeat(26)}`,
        name: 'machine-3',
        labels: {},
        capacity: { cpu: 1000, memory: GIB, disk: 0 },
        publicKey: '',
        controlPlane: false,
        agentVersion: '0',
        volumeAddress: '127.0.0.1:7071',
      },
    }),
  },
);
