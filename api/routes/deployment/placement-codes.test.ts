import {
  absent,
  change,
  degraded,
  describeCodes,
  entry,
  machine1,
  machine2,
  object,
  ready,
  type RejectableRequest,
  toDryRun,
  web,
  writtenByOther,
} from './rejection-lab.testing.js';

const bare = (request: RejectableRequest): RejectableRequest => ({ ...request, as: 'bare' });
const job = (fields: Readonly<Record<string, unknown>> = {}, query = '?dryRun=true'): RejectableRequest => ({
  path: `/api/v1/jobs${query}`,
  body: { kind: 'Job', name: 'migrate', image: 'registry.example.com/shop/migrate:1.4.2', ...fields },
});
const network = (fields: Readonly<Record<string, unknown>> = {}, query = '?dryRun=true'): RejectableRequest => ({
  path: `/api/v1/networks${query}`,
  body: { name: 'front', nodeId: 'machine-1', ...fields },
});
const mount = (fields: Readonly<Record<string, unknown>> = {}) => ({ volumeId: ready, mountPath: '/data', ...fields });
const mounts = (...fields: readonly Readonly<Record<string, unknown>>[]) => web({ volumes: fields.map(mount) });
const needs = (...dependsOn: readonly unknown[]) => web({ dependsOn });
const resides = (residency: unknown) => web({ placement: { residency } });
const unknownNode = `node_${'9'.repeat(26)}`;

describeCodes('[7.2] placement, nodes, networks, jobs (7.4)', [
  {
    code: 'node_candidates_unresolvable',
    status: 422,
    cases: [
      ['[7.4.1] a name', 'nodeId', bare(web({ nodeId: 'machine-1' }))],
      ['[2.2.18] an id of another tenant', 'nodeId', bare(web({ nodeId: machine1 }))],
      ['a path', 'nodeId', bare(web({ nodeId: '../nodes' }))],
    ],
  },
  {
    code: 'node_not_a_placement_candidate',
    status: 422,
    cases: [
      ['[2.2.18 7.4.4] a name', 'nodeId', web({ nodeId: 'machine-9' })],
      ['an id', 'nodeId', web({ nodeId: unknownNode })],
      ['a change', 'nodeId', change('cache', { nodeId: 'machine-9' })],
    ],
  },
  {
    code: 'job_node_candidates_unresolvable',
    status: 422,
    cases: [
      ['[7.4.7] a name', 'nodeId', bare(job({ nodeId: 'machine-1' }))],
      ['an id', 'nodeId', bare(job({ nodeId: machine1 }))],
      ['without a dry run', 'nodeId', bare(job({ nodeId: machine1 }, ''))],
    ],
  },
  {
    code: 'job_node_not_found',
    status: 422,
    cases: [
      ['[2.8.10 7.4.9] a name', 'nodeId', job({ nodeId: 'machine-9' })],
      ['an id', 'nodeId', job({ nodeId: unknownNode })],
      ['without a dry run', 'nodeId', job({ nodeId: 'machine-9' }, '')],
    ],
  },
  {
    code: 'network_node_candidates_unresolvable',
    status: 422,
    cases: [
      ['[7.4.10] a name', 'nodeId', bare(network())],
      ['none', 'nodeId', bare(network({ nodeId: undefined }))],
      ['without a dry run', 'nodeId', bare(network({}, ''))],
    ],
  },
  {
    code: 'network_node_not_a_candidate',
    status: 422,
    cases: [
      ['[7.4.11] a name', 'nodeId', network({ nodeId: 'machine-9' })],
      ['an id', 'nodeId', network({ nodeId: unknownNode })],
      ['without a dry run', 'nodeId', network({ nodeId: 'x' }, '')],
    ],
  },
  {
    code: 'network_node_required',
    status: 422,
    cases: [
      ['[4.33 7.4.12] none', 'nodeId', network({ nodeId: undefined })],
      ['without a dry run', 'nodeId', network({ nodeId: undefined }, '')],
      ['of one without a way out', 'nodeId', network({ nodeId: undefined, internal: true })],
    ],
  },
  {
    code: 'network_option_unsupported_on_agent',
    status: 422,
    cases: [
      ['[2.8.8 7.4.13] a driver', 'driver', network({ driver: 'overlay' })],
      ['an option', 'options', network({ options: { mtu: '9000' } })],
      ['a subnet', 'ipam', network({ ipam: null })],
      ['without a dry run', 'subnet', network({ subnet: '10.0.0.0/24' }, '')],
      ['the kind', 'kind', network({ kind: 'Network' }, '')],
    ],
  },
  {
    code: 'manifest_wrong_kind',
    status: 422,
    cases: [
      ['[2.8.9] a deployment among jobs', 'kind', job({ kind: 'Deployment' })],
      ['none among jobs', 'kind', job({ kind: undefined })],
    ],
  },
  {
    code: 'resource_already_exists',
    status: 409,
    cases: [
      ['a network', 'name', network({ name: 'backend' })],
      ['a job', 'name', job({ name: 'nightly' }, '')],
      ['a job, in a dry run', 'name', job({ name: 'nightly' })],
      ['a network, without a dry run', 'name', network({ name: 'backend' }, '')],
      ['a network of another kind', 'name', network({ name: 'backend', internal: true })],
    ],
  },
]);

describeCodes('residency and dependencies (ours)', [
  {
    code: 'residency_country_invalid',
    status: 422,
    cases: [
      ['a name', 'placement.residency.country', resides({ country: 'Germany' })],
      ['no country', 'placement.residency.country', resides({ country: 'XX' })],
      ['a blocked one', 'placement.residency.blockedCountries[1]', resides({ blockedCountries: ['US', 'ZZ'] })],
    ],
  },
  {
    code: 'residency_region_unknown',
    status: 422,
    cases: [
      ['[2.7.14] another', 'placement.residency.region', resides({ region: 'mars' })],
      ['in capitals', 'placement.residency.region', resides({ region: 'EU' })],
      ['a country', 'placement.residency.region', resides({ region: 'DE' })],
    ],
  },
  {
    code: 'residency_label_handwritten',
    status: 422,
    cases: [
      [
        '[2.7.11] a country',
        'labels.mooring.io/data-residency-country',
        web({ labels: { 'mooring.io/data-residency-country': 'DE' } }),
      ],
      [
        'blocked ones',
        'labels.mooring.io/blocked-countries',
        web({ labels: { 'mooring.io/blocked-countries': 'US' } }),
      ],
      [
        'a region, by a change',
        'labels.mooring.io/data-residency-region',
        change('cache', { labels: { 'mooring.io/data-residency-region': 'eu' } }),
      ],
    ],
  },
  {
    code: 'residency_label_conflict',
    status: 422,
    cases: [
      [
        '[2.7.13] both',
        'labels.mooring.io/data-residency-country',
        web({
          labels: { 'mooring.io/data-residency-country': 'DE' },
          placement: { residency: { country: 'DE' } },
        }),
      ],
      [
        'of different things',
        'labels.mooring.io/blocked-countries',
        web({ labels: { 'mooring.io/blocked-countries': 'US' }, placement: { residency: { region: 'eu' } } }),
      ],
      [
        'by a change',
        'labels.mooring.io/data-residency-region',
        change('cache', {
          labels: { 'mooring.io/data-residency-region': 'eu' },
          placement: { residency: { region: 'eu' } },
        }),
      ],
    ],
  },
  {
    code: 'depends_on_self',
    status: 422,
    cases: [
      ['in a list', 'dependsOn[0].name', needs({ name: 'web' })],
      ['beside others', 'dependsOn[1].name', needs({ name: 'db' }, { name: 'web', condition: 'started' })],
      ['by a change', 'dependsOn[0].name', change('cache', { dependsOn: [{ name: 'cache', condition: 'started' }] })],
    ],
  },
  {
    code: 'depends_on_cycle',
    status: 422,
    cases: [
      ['of two', 'dependsOn[0].name', needs({ name: 'worker', condition: 'started' })],
      ['by a change', 'dependsOn[0].name', change('db', { dependsOn: [{ name: 'worker', condition: 'started' }] })],
      ['as a map', 'dependsOn.worker', web({ dependsOn: { worker: 'started' } })],
      ['beside others', 'dependsOn[1].name', needs({ name: 'db' }, { name: 'worker', condition: 'started' })],
    ],
  },
  {
    code: 'depends_on_no_health_check',
    status: 422,
    cases: [
      ['[2.2.29] asked for', 'dependsOn[0].name', needs({ name: 'cache', condition: 'healthy' })],
      ['by default', 'dependsOn[0].name', needs({ name: 'cache' })],
      ['as a map', 'dependsOn.cache', web({ dependsOn: { cache: 'healthy' } })],
    ],
  },
  {
    code: 'depends_on_duplicate',
    status: 422,
    cases: [
      ['twice', 'dependsOn[1].name', needs({ name: 'db' }, { name: 'db', condition: 'started' })],
      ['with another between', 'dependsOn[2].name', needs({ name: 'db' }, { name: 'later' }, { name: 'db' })],
      ['by a change', 'dependsOn[1].name', change('cache', { dependsOn: [{ name: 'db' }, { name: 'db' }] })],
    ],
  },
  {
    code: 'health_check_needed',
    status: 422,
    cases: [
      ['[2.2.29] taken away', 'healthCheck', change('db', { healthCheck: null })],
      ['beside another change', 'healthCheck', change('db', { healthCheck: null, labels: { team: 'shop' } })],
      ['in a dry run', 'healthCheck', toDryRun(change('db', { healthCheck: null }))],
    ],
  },
  {
    code: 'network_not_found',
    status: 422,
    cases: [
      ['one', 'networks[0]', web({ networks: ['none'] })],
      ['beside one that is there', 'networks[1]', web({ networks: ['backend', 'none'] })],
      ['another tenant’s', 'networks[0]', bare(web({ networks: ['backend'] }))],
      ['by a change', 'networks[0]', change('cache', { networks: ['none'] })],
      ['a name that is none', 'networks[0]', web({ networks: ['../backend'] })],
    ],
  },
  {
    code: 'network_on_another_node',
    status: 422,
    cases: [
      ['of two networks', 'networks[1]', web({ networks: ['backend', 'edge'] })],
      ['than the one named', 'networks[0]', web({ networks: ['edge'], nodeId: 'machine-1' })],
      ['than the one named, in a dry run', 'networks[0]', toDryRun(web({ networks: ['edge'], nodeId: machine1 }))],
      ['by a change of networks', 'networks[2]', change('joined', { networks: ['backend', 'vault', 'edge'] })],
      ['for a job', 'networks[0]', job({ networks: ['edge'], nodeId: 'machine-1' })],
    ],
  },
  {
    code: 'network_internal_port',
    status: 422,
    cases: [
      ['a host port', 'networks', web({ networks: ['vault'], ports: [{ containerPort: 80, hostPort: 80 }] })],
      [
        'by a change of networks and ports',
        'networks',
        change('joined', { networks: ['vault'], ports: [{ containerPort: 80 }, { containerPort: 81, hostPort: 81 }] }),
      ],
    ],
  },
  {
    code: 'network_in_use',
    status: 409,
    cases: [
      ['by a deployment', 'name', { method: 'DELETE', path: '/api/v1/networks/backend' }],
      ['in a dry run', 'name', { method: 'DELETE', path: '/api/v1/networks/vault?dryRun=true' }],
    ],
  },
  {
    code: 'resource_not_found',
    status: 404,
    cases: [
      ['a network to delete', 'name', { method: 'DELETE', path: '/api/v1/networks/none' }],
      ['a network to show', 'name', { method: 'GET', path: '/api/v1/networks/none' }],
      ['another tenant’s network', 'name', { method: 'DELETE', path: '/api/v1/networks/backend', as: 'bare' }],
      ['another tenant’s network to show', 'name', { method: 'GET', path: '/api/v1/networks/backend', as: 'bare' }],
    ],
  },
  {
    code: 'label_reserved',
    status: 422,
    cases: [['of a network', 'labels.mooring.io/tenant', network({ labels: { 'mooring.io/tenant': 'x' } }, '')]],
  },
]);

describeCodes('mounts (7.5)', [
  {
    code: 'volume_mount_shape',
    status: 422,
    cases: [
      ['[7.5.4] no path', 'volumes[0].mountPath', mounts({ mountPath: undefined })],
      ['a relative path', 'volumes[0].mountPath', mounts({ mountPath: 'data' })],
      ['upwards', 'volumes[0].mountPath', mounts({ mountPath: '/data/../etc' })],
      ['twice', 'volumes[1].mountPath', mounts({ readOnly: true }, { readOnly: true })],
      ['no volume', 'volumes[0].volumeId', mounts({ volumeId: undefined })],
      ['no id', 'volumes[0].volumeId', mounts({ volumeId: 'data' })],
      ['of another type', 'volumes[0].type', mounts({ type: 'tmpfs' })],
      ['a sub path upwards', 'volumes[0].subPath', mounts({ subPath: '../other' })],
      ['a sub path from the root', 'volumes[0].subPath', mounts({ subPath: '/etc' })],
      ['in a job', 'volumes[0].mountPath', job({ volumes: [mount({ mountPath: '/a/./b' })] }, '')],
    ],
  },
  {
    code: 'volume_not_found',
    status: 422,
    cases: [
      ['[7.5.5] an id', 'volumes[0].volumeId', mounts({ volumeId: absent })],
      ['by the other name', 'volumes[0].volume_id', mounts({ volumeId: undefined, volume_id: absent })],
      ['another tenant’s', 'volumes[0].volumeId', bare(mounts({}))],
      ['in a job', 'volumes[0].volumeId', job({ volumes: [mount({ volumeId: absent })] })],
    ],
  },
  {
    code: 'volume_class_not_wired',
    status: 422,
    cases: [
      ['[2.6.3 7.5.3] objects', 'volumes[0].volumeId', mounts({ volumeId: object })],
      ['read only', 'volumes[0].volumeId', mounts({ volumeId: object, readOnly: true })],
      ['by a change', 'volumes[0].volumeId', change('cache', { volumes: [mount({ volumeId: object })] })],
    ],
  },
  {
    code: 'volume_not_ready',
    status: 409,
    cases: [
      ['[3.20 7.5.6] degraded', 'volumes[0].volumeId', mounts({ volumeId: degraded })],
      ['read only', 'volumes[0].volumeId', mounts({ volumeId: degraded, readOnly: true })],
      ['by a change', 'volumes[0].volumeId', change('cache', { volumes: [mount({ volumeId: degraded })] })],
    ],
  },
  {
    code: 'volume_access_mode_conflict',
    status: 409,
    cases: [
      ['[2.6.4 2.6.5 7.5.1 8.11] another deployment', 'volumes[0].readOnly', mounts({ volumeId: writtenByOther })],
      ['another replica', 'volumes[0].readOnly', web({ replicas: 2, volumes: [mount()] })],
      ['another mount', 'volumes[1].readOnly', mounts({}, { mountPath: '/more' })],
      ['by scaling', 'volumes[0].readOnly', change('db', { replicas: 2 })],
      ['in a job', 'volumes[0].readOnly', job({ volumes: [mount({ volumeId: writtenByOther })] })],
      [
        'by the runs of a schedule',
        'volumes[0].readOnly',
        job({ volumes: [mount()], schedule: '0 3 * * *', concurrencyPolicy: 'Allow' }, ''),
      ],
    ],
  },
  {
    code: 'volume_primary_mismatch',
    status: 409,
    cases: [
      ['[2.2.19 7.5.7] by name', 'nodeId', web({ nodeId: 'machine-2', volumes: [mount()] })],
      ['by id', 'nodeId', web({ nodeId: machine2, volumes: [mount()] })],
      ['by a change', 'nodeId', change('db', { nodeId: machine2 })],
    ],
  },
]);

describeCodes(
  'mounts while nobody manages volumes (7.5)',
  [
    {
      code: 'volume_binding_unavailable',
      status: 422,
      cases: [
        ['[7.5.2] one', 'volumes', mounts({})],
        ['of a volume that is not there', 'volumes', mounts({ volumeId: absent })],
        ['by a change', 'volumes', change('cache', { volumes: [mount()] })],
        ['in a job', 'volumes', job({ volumes: [mount()] })],
      ],
    },
  ],
  { settings: { volumeManagement: false } },
);

describeCodes(
  'nodes that cannot be read (7.4)',
  [
    {
      code: 'node_candidates_unresolvable',
      status: 503,
      cases: [
        ['[7.4.3] a name', 'nodeId', web({ nodeId: 'machine-1' })],
        ['an id', 'nodeId', web({ nodeId: machine1 })],
        ['in a dry run', 'nodeId', toDryRun(web({ nodeId: 'machine-1' }))],
      ],
    },
    {
      code: 'job_node_candidates_unresolvable',
      status: 503,
      cases: [
        ['a name', 'nodeId', job({ nodeId: 'machine-1' })],
        ['an id', 'nodeId', job({ nodeId: machine1 })],
        ['without a dry run', 'nodeId', job({ nodeId: 'machine-1' }, '')],
      ],
    },
    {
      code: 'network_node_candidates_unresolvable',
      status: 503,
      cases: [
        ['a name', 'nodeId', network()],
        ['none', 'nodeId', network({ nodeId: undefined })],
        ['without a dry run', 'nodeId', network({}, '')],
      ],
    },
  ],
  { isAway: true },
);

describeCodes(
  'while no agent sends heartbeats',
  [
    {
      code: 'job_node_candidates_unresolvable',
      status: 422,
      cases: [
        ['[7.4.8] no agent of a node that is enrolled is reached', 'nodeId', job({ nodeId: 'machine-1' }, '')],
        ['nor by its id, in a dry run', 'nodeId', job({ nodeId: machine1 })],
      ],
    },
  ],
  { isSilent: true },
);

describeCodes('what a workload of either kind is refused with', [
  {
    code: 'image_required',
    status: 422,
    cases: [['a job without one', 'image', job({ image: undefined })]],
  },
  {
    code: 'secret_anchor_invalid',
    status: 422,
    cases: [['a job’s', 'secrets[0].anchor', job({ secrets: [entry({ anchor: 'x' })] })]],
  },
]);
