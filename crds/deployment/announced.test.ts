import { expect } from 'chai';

import { exampleVolumes } from '../rejections/index.js';
import { exampleFacts, full, least, limits, machine1, renderedLabels, stored } from './admit.testing.js';
import type { ContainerDefaults } from '../workload/index.js';
import { admitCreate, admitUpdate } from './admit.js';
import type { DeploymentFacts } from './deployment.js';

type Fields = Readonly<Record<string, unknown>>;

function accepted(given: Fields, facts: Partial<DeploymentFacts> = {}) {
  const admission = admitCreate({ ...least, ...given }, { ...exampleFacts, ...facts }, limits);
  if (!admission.ok) throw new Error(JSON.stringify(admission.rejections));
  return admission;
}

/** Everything announced for one field, as `place: from → to`. */
function announced(given: Fields): string[] {
  const [field = ''] = Object.keys(given);
  return accepted(given)
    .alterations.filter(alteration => alteration.field.startsWith(field))
    .map(({ field: place, from, to }) => `${place}: ${JSON.stringify(from)} → ${JSON.stringify(to)}`);
}

describe('alterations of the fields of a create', () => {
  const id = exampleVolumes.ready;
  const cases: ReadonlyArray<{ given: Fields; found: string[] }> = [
    {
      given: { volumes: [{ volume_id: id, mountPath: '/a' }] },
      found: [
        `volumes[0].volume_id: "${id}" → null`,
        `volumes[0].volumeId: null → "${id}"`,
        'volumes[0].type: null → "volume"',
        'volumes[0].readOnly: null → false',
      ],
    },
    {
      given: { placement: { residency: { country: 'de', blockedCountries: ['us'] } } },
      found: [
        'placement.residency.country: "de" → "DE"',
        'placement.residency.blockedCountries[0]: "us" → "US"',
        'placement.labels: null → {"mooring.io/data-residency-country":"DE","mooring.io/blocked-countries":"US"}',
      ],
    },
    {
      given: { placement: { antiAffinity: { self: true } } },
      found: ['placement.antiAffinity.deployments: null → []', 'placement.antiAffinity.topologyKey: null → "node"'],
    },
    { given: { dependsOn: [{ name: 'db' }] }, found: ['dependsOn[0].condition: null → "healthy"'] },
    {
      given: { dependsOn: { db: 'healthy' } },
      found: ['dependsOn: {"db":"healthy"} → [{"name":"db","condition":"healthy"}]'],
    },
    {
      given: { rollout: { maxSurge: 2, autoRollback: false } },
      found: ['rollout.maxUnavailable: null → 0', 'rollout.progressDeadline: null → "10m"'],
    },
    {
      given: { secrets: [{ name: 'A', vault_path: 'deployments/a', anchor: 'process' }] },
      found: ['secrets[0].rotation: null → "restart"', 'secretsVersion: null → 0'],
    },
  ];
  for (const { given, found } of cases) {
    it(`are announced for ${JSON.stringify(given).slice(0, 90)}`, () => {
      expect(announced(given)).to.deep.equal(found);
    });
  }
});

describe('warnings of a create', () => {
  const germany = { placement: { residency: { country: 'DE' } } };
  const france = { placement: { residency: { country: 'FR' } } };
  const cases: ReadonlyArray<{ name: string; given: Fields; facts?: Partial<DeploymentFacts>; found: object[] }> = [
    { name: 'nothing when all is well', given: germany, found: [] },
    {
      name: 'a registry that could not be asked',
      given: {},
      facts: { image: 'unreachable' },
      found: [{ code: 'image_registry_unreachable', field: 'image' }],
    },
    {
      name: 'a registry that requires a login, with the secret that is looked for',
      given: { image: 'registry.example.com:5000/shop/web:1' },
      facts: { image: 'login_required' },
      found: [
        { code: 'image_registry_login_required', field: 'image', secret: 'registries/registry-example-com-5000' },
      ],
    },
    {
      name: 'a login that the registry refuses',
      given: { image: 'registry.example.com:5000/shop/web:1' },
      facts: { image: 'credential_refused' },
      found: [
        { code: 'image_registry_credential_refused', field: 'image', secret: 'registries/registry-example-com-5000' },
      ],
    },
    {
      name: 'residency that is not enforced',
      given: germany,
      facts: { regions: { ...exampleFacts.regions, enforced: false } },
      found: [{ code: 'residency_enforcement_off', field: 'placement.residency' }],
    },
    {
      name: 'residency that no node can satisfy, with what they advertise',
      given: france,
      found: [{ code: 'residency_no_matching_node', field: 'placement.residency', advertised: ['DE', 'us'] }],
    },
    {
      name: 'residency that no node can satisfy, with the country and the region of one node',
      given: france,
      facts: {
        nodes: [
          {
            id: machine1,
            name: 'machine-1',
            labels: { 'mooring.io/country': 'DE', 'mooring.io/geo-region': 'eu' },
            reachable: true,
          },
        ],
      },
      found: [{ code: 'residency_no_matching_node', field: 'placement.residency', advertised: ['DE', 'eu'] }],
    },
    {
      name: '[2.7.16] residency that only a silent node could satisfy',
      given: germany,
      facts: {
        nodes: [{ id: machine1, name: 'machine-1', labels: { 'mooring.io/country': 'DE' }, reachable: false }],
      },
      found: [{ code: 'residency_no_matching_node', field: 'placement.residency', advertised: [] }],
    },
    {
      name: 'nothing for a region that a country covers',
      given: { placement: { residency: { region: 'eu' } } },
      found: [],
    },
    {
      name: 'nothing for a region that a node names',
      given: { placement: { residency: { region: 'us' } } },
      found: [],
    },
    {
      name: 'a dependency that is not there yet',
      given: { dependsOn: [{ name: 'db' }, { name: 'soon' }] },
      found: [{ code: 'dependency_absent', field: 'dependsOn[1].name' }],
    },
  ];
  for (const { name, given, facts, found } of cases) {
    it(name, () => {
      const { warnings } = accepted(given, facts);
      const told = warnings.map(warning => ({ ...warning, message: undefined }));
      expect(told).to.deep.equal(found.map(warning => ({ ...warning, message: undefined })));
    });
  }
});

describe('the fix of a rejection', () => {
  const label = 'mooring.io/data-residency-country';
  const pointer = '/labels/mooring.io~1data-residency-country';
  const cases: ReadonlyArray<{ given: Fields; fix: object[] }> = [
    {
      given: { labels: { [label]: 'DE' } },
      fix: [
        { op: 'remove', path: pointer },
        { op: 'add', path: '/placement', value: { residency: { country: 'DE' } } },
      ],
    },
    {
      given: { labels: { [label]: 'DE' }, placement: { antiAffinity: { self: true } } },
      fix: [
        { op: 'remove', path: pointer },
        { op: 'add', path: '/placement/residency', value: { country: 'DE' } },
      ],
    },
    {
      given: { labels: { [label]: 'DE' }, placement: { residency: { country: 'DE' } } },
      fix: [{ op: 'remove', path: pointer }],
    },
    {
      given: { labels: { 'Mooring.io/Data-Residency-Country': 'DE', team: 'shop' } },
      fix: [
        { op: 'remove', path: '/labels/Mooring.io~1Data-Residency-Country' },
        { op: 'add', path: '/placement', value: { residency: { country: 'DE' } } },
      ],
    },
    {
      given: { placement: { labels: { 'MOORING.io/data-residency-region': 'eu' } } },
      fix: [
        { op: 'remove', path: '/placement/labels' },
        { op: 'add', path: '/placement/residency', value: { region: 'eu' } },
      ],
    },
    {
      given: { placement: { residency: { country: 'DE' }, labels: { [label]: 'DE' } } },
      fix: [{ op: 'remove', path: '/placement/labels' }],
    },
    {
      given: {
        environment: { URL: 'postgres://{{secret.db.user}}@db' },
        secrets: [{ name: 'DB', vault_path: 'deployments/db', anchor: 'process' }],
      },
      fix: [
        { op: 'add', path: '/composedSecrets', value: {} },
        { op: 'move', from: '/environment/URL', path: '/composedSecrets/URL' },
      ],
    },
    {
      given: { placement: { residency: { country: 'uk' } } },
      fix: [{ op: 'replace', path: '/placement/residency/country', value: 'GB' }],
    },
    {
      given: { placement: { residency: { region: 'EU' } } },
      fix: [{ op: 'replace', path: '/placement/residency/region', value: 'eu' }],
    },
    {
      given: { secrets: [{ name: 'A', vault_path: '/deployments/a', anchor: 'process' }] },
      fix: [{ op: 'replace', path: '/secrets/0/vault_path', value: 'deployments/a' }],
    },
    {
      given: { secrets: [{ name: 'A', vault_path: 'deployments/a', anchor: 'process', mount_path: '/x' }] },
      fix: [{ op: 'remove', path: '/secrets/0/mount_path' }],
    },
    { given: { dependsOn: [{ name: 'web' }] }, fix: [{ op: 'remove', path: '/dependsOn/0' }] },
    {
      given: { volumes: [{ volumeId: exampleVolumes.ready, mountPath: '/a' }], nodeId: 'machine-2' },
      fix: [{ op: 'remove', path: '/nodeId' }],
    },
  ];

  const uncertain: readonly Fields[] = [
    { labels: { 'mooring.io/data-residency-city': 'Berlin' } },
    { labels: { [label]: 'DE', 'mooring.io/data-residency-city': 'Berlin' } },
    { labels: { [label]: 'DE', 'Mooring.io/data-residency-country': 'FR' } },
    { labels: { [label]: 'Germany' } },
    { labels: { [label]: 'FR' }, placement: { residency: { country: 'DE' } } },
    { placement: { labels: { [label]: 'DE', disk: 'ssd' } } },
    { placement: { residency: { country: 'DE' }, labels: { [label]: 'FR' } } },
    { environment: { URL: '{{secret.undeclared.user}}' } },
  ];
  for (const given of uncertain) {
    it(`is missing where it would lose something: ${JSON.stringify(given).slice(0, 90)}`, () => {
      const admission = admitCreate({ ...least, ...given }, exampleFacts, limits);
      if (admission.ok) throw new Error('accepted');
      expect(admission.rejections.flatMap(({ fix }) => fix ?? [])).to.deep.equal([]);
    });
  }

  it('says what a label stands for that has no place in placement.residency: nothing', () => {
    const admission = admitCreate(
      { ...least, labels: { 'mooring.io/data-residency-city': 'Berlin' } },
      exampleFacts,
      limits,
    );
    expect(admission.ok ? '' : admission.rejections[0].expected).to.match(/nothing for this label$/);
  });

  for (const { given, fix } of cases) {
    it(`repairs ${JSON.stringify(given).slice(0, 90)}`, () => {
      const admission = admitCreate({ ...least, ...given }, exampleFacts, limits);
      expect(admission.ok ? [] : admission.rejections[0].fix).to.deep.equal(fix);
    });
  }
});

describe('a secret that is anchored to a volume', () => {
  const [db, mail] = full.secrets;
  const put = (document: Fields) => {
    const admission = admitUpdate(stored, document, exampleFacts, limits);
    return admission.ok ? [] : admission.rejections.map(({ code, field, status }) => `${status} ${code} ${field}`);
  };
  const unbound = { volumes: [], composedSecrets: null };
  const cases: ReadonlyArray<{ name: string; given: Fields; found: string[] }> = [
    { name: 'stays when nothing is said', given: { replicas: 1 }, found: [] },
    { name: 'may be sent again', given: { secrets: [mail, db] }, found: [] },
    { name: 'may be renamed', given: { secrets: [{ ...db, name: 'DATA' }, mail] }, found: [] },
    {
      name: '[2.4.26] cannot be dropped',
      given: { secrets: [mail], composedSecrets: null },
      found: ['409 anchored_secret_dropped secrets'],
    },
    {
      name: 'cannot be removed',
      given: { secrets: null, composedSecrets: null },
      found: ['409 anchored_secret_dropped secrets'],
    },
    {
      name: 'cannot be let go of',
      given: { secrets: [{ ...db, anchor: 'process' }, mail] },
      found: ['409 anchored_secret_dropped secrets'],
    },
    {
      name: '[2.4.27] cannot be repointed',
      given: { secrets: [{ ...db, vault_path: 'deployments/new-db' }, mail], composedSecrets: null },
      found: ['409 anchored_secret_repointed secrets[0].vault_path'],
    },
    { name: '[2.4.28] goes with its volume', given: { secrets: [mail], ...unbound }, found: [] },
    {
      name: 'cannot outlive its volume as an anchored one',
      given: unbound,
      found: ['422 secret_anchor_volume_not_declared secrets[0].anchor'],
    },
    {
      name: '[2.4.28] is free once its volume goes',
      given: { secrets: [{ ...db, anchor: 'process' }], ...unbound },
      found: [],
    },
  ];
  for (const { name, given, found } of cases) {
    it(name, () => {
      expect(put(given)).to.deep.equal(found);
    });
  }
});

describe('an update of related fields', () => {
  const put = (document: Fields, facts: Partial<DeploymentFacts> = {}, of: Fields = {}) => {
    const admission = admitUpdate({ ...stored, ...of }, document, { ...exampleFacts, ...facts }, limits);
    return admission.ok ? [] : admission.rejections.map(({ code, field }) => `${code} ${field}`);
  };
  const writer = {
    volumes: [{ volumeId: exampleVolumes.ready, type: 'volume', mountPath: '/d', readOnly: false }],
    replicas: 1,
  };
  const waiter = {
    name: 'shop',
    dependsOn: [{ name: 'web', condition: 'healthy' as const }],
    hasHealthCheck: true,
    secretPaths: [],
    externalPaths: [],
  };

  it('cannot give a writer a second replica, or another node', () => {
    expect(put({ replicas: 2 }, {}, writer)).to.deep.equal(['volume_access_mode_conflict volumes[0].readOnly']);
    const free = { ...writer, networks: [] };
    expect(put({ nodeId: 'machine-2' }, {}, free)).to.deep.equal(['volume_primary_mismatch nodeId']);
  });

  it('may send its mounts as they were sent first, whatever has become of the volume', () => {
    const volumeId = exampleVolumes.degraded;
    const mounting = { volumes: [{ volumeId, type: 'volume', mountPath: '/d', readOnly: false }], replicas: 1 };
    for (const terse of [{ volumeId }, { volume_id: volumeId }, { volumeId, type: 'volume' }]) {
      expect(put({ labels: {}, volumes: [{ ...terse, mountPath: '/d' }] }, {}, mounting)).to.deep.equal([]);
    }
    for (const other of [{ mountPath: '/e' }, { mountPath: '/d', readOnly: true }]) {
      expect(put({ volumes: [{ volumeId, ...other }] }, {}, mounting)).to.include(
        'volume_not_ready volumes[0].volumeId',
      );
    }
  });

  it('cannot leave the node of its networks, or publish a port from internal ones only', () => {
    const of = { volumes: [], placement: {} };
    expect(put({ nodeId: 'machine-2' }, {}, of)).to.deep.equal(['network_on_another_node networks[0]']);
    expect(put({ nodeId: 'machine-2', networks: ['edge'] }, {}, of)).to.deep.equal([]);
    const closed = { ...of, networks: ['vault'], ports: [] };
    const ports = [{ containerPort: 80, hostPort: 80 }];
    expect(put({ ports }, {}, closed)).to.deep.equal(['network_internal_port networks']);
    expect(put({ ports, networks: ['vault', 'backend'] }, {}, closed)).to.deep.equal([]);
  });

  it('cannot remove a health check that dependents wait for', () => {
    expect(put({ healthCheck: null }, { deployments: [...exampleFacts.deployments, waiter] })).to.deep.equal([
      'health_check_needed healthCheck',
    ]);
    expect(put({ healthCheck: null })).to.deep.equal([]);
  });

  it('does not ask about the image again when it stays', () => {
    expect(put({ replicas: 1 }, { image: 'absent' })).to.deep.equal([]);
    expect(put({ image: 'nginx:1' }, { image: 'absent' })).to.deep.equal(['image_not_found image']);
  });

  it('renders new labels for a changed residency, although the old ones were sent back', () => {
    const residency = { country: 'FR' };
    const edited = { placement: { ...stored.placement, residency } };
    const admission = admitUpdate(stored, edited, exampleFacts, limits);
    if (!admission.ok) throw new Error(JSON.stringify(admission.rejections));
    const labels = { 'mooring.io/data-residency-country': 'FR' };
    expect(admission.spec.placement).to.deep.include({ residency, labels });
    expect(admission.alterations.map(({ field, to }) => [field, to])).to.deep.equal([['placement.labels', labels]]);
    const without = admitUpdate(stored, { placement: { labels: renderedLabels } }, exampleFacts, limits);
    expect(without.ok && without.spec.placement).to.deep.equal({});
    expect(put({ placement: { residency, labels: { a: 'b' } } })).to.deep.equal([
      'residency_label_conflict placement.labels',
    ]);
  });

  it('is not refused for volumes and regions that are gone', () => {
    const gone = { volumes: [], regions: { enforced: true, declared: [] }, networks: [], deployments: [] };
    expect(put({ labels: {} }, gone)).to.deep.equal([]);
  });
});

describe('defaults of the platform for containers', () => {
  const containerDefaults = { cpu: '1', memory: '512Mi', user: '1000:1000', readOnlyRootFilesystem: true };
  const admit = (given: Fields, defaults: ContainerDefaults = containerDefaults) => {
    const admission = admitCreate({ ...least, ...given }, exampleFacts, { ...limits, containerDefaults: defaults });
    if (!admission.ok) throw new Error(JSON.stringify(admission.rejections));
    const { resources, user, readOnlyRootFilesystem } = admission.spec;
    const announcements = admission.alterations.filter(({ why }) => why === 'default of the platform');
    return { resources, user, readOnlyRootFilesystem, fields: announcements.map(({ field }) => field) };
  };

  it('are stored and announced where a deployment says nothing', () => {
    expect(admit({})).to.deep.equal({
      resources: { limits: { cpu: '1', memory: '512Mi' } },
      user: '1000:1000',
      readOnlyRootFilesystem: true,
      fields: ['resources.limits.cpu', 'resources.limits.memory', 'user', 'readOnlyRootFilesystem'],
    });
  });

  it('leave alone what a deployment says', () => {
    const own = { resources: { limits: { cpu: '2', memory: '1Gi' } }, user: '0', readOnlyRootFilesystem: false };
    expect(admit(own)).to.deep.equal({ ...own, fields: [] });
  });

  it('are not below what a deployment requests', () => {
    expect(admit({ resources: { cpu: '4' } }).resources).to.deep.equal({
      cpu: '4',
      limits: { cpu: '4', memory: '512Mi' },
    });
  });

  it('limit memory to a share of the request, where there is one, before the amount for all', () => {
    const limitOf = (resources: object | undefined, defaults: ContainerDefaults) =>
      admit(resources ? { resources } : {}, defaults).resources?.limits?.memory;
    expect(limitOf({ memory: '256Mi' }, { memoryPercent: 150 })).to.equal('384Mi');
    expect(limitOf({ memory: '1M' }, { memoryPercent: 100 }), 'rounded up, never below the request').to.equal('1Mi');
    expect(limitOf({ memory: '256Mi' }, { memoryPercent: 150, memory: '512Mi' })).to.equal('384Mi');
    expect(limitOf(undefined, { memoryPercent: 150, memory: '512Mi' })).to.equal('512Mi');
    expect(limitOf(undefined, { memoryPercent: 150 })).to.equal(undefined);
    expect(limitOf({ memory: '256Mi', limits: { memory: '1Gi' } }, { memoryPercent: 150 })).to.equal('1Gi');
  });

  it('are none where the platform names none', () => {
    expect(accepted({}).spec).not.to.have.any.keys('resources', 'user', 'readOnlyRootFilesystem');
  });
});
