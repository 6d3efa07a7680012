import { expect } from 'chai';

import { hashSpec } from '../meta/index.js';
import { exampleVolumes } from '../rejections/index.js';
import { listFaults, exampleFacts, least, limits, machine1, machine2, scratch } from './admit.testing.js';
import { admitCreate } from './admit.js';
import type { DeploymentFacts } from './deployment.js';

type Fields = Readonly<Record<string, unknown>>;
const { ready, writtenByOther, object, degraded, absent } = exampleVolumes;
const mount = (fields: Fields = {}) => ({ volumeId: ready, mountPath: '/data', ...fields });
const one = (fields: Fields, more: Fields = {}) => ({ volumes: [mount(fields)], ...more });
const placed = (placement: Fields) => ({ placement });
const residency = (block: unknown) => placed({ residency: block });
const constraint = (fields: Fields) =>
  placed({ constraints: [{ key: 'disk', operator: 'In', values: ['ssd'], ...fields }] });
const apart = (antiAffinity: unknown) => placed({ antiAffinity });
const label = 'mooring.io/data-residency-country';
/** As GET returns it: with the hash of what it says. */
const sentBack = (fields: Fields) => ({ ...fields, metadata: { specHash: hashSpec({ ...least, ...fields }) } });

interface Case {
  readonly given: Fields;
  readonly facts?: Partial<DeploymentFacts>;
  readonly found?: readonly string[];
}

const volumes: readonly Case[] = [
  { given: { volumes: [] } },
  { given: one({}) },
  { given: one({ volumeId: undefined, volume_id: ready }) },
  { given: { volumes: 'x' }, found: ['field_invalid volumes'] },
  { given: { volumes: ['x'] }, found: ['volume_mount_shape volumes[0]'] },
  { given: one({ volumeId: undefined }), found: ['volume_mount_shape volumes[0].volumeId'] },
  { given: one({ volumeId: 'data' }), found: ['volume_mount_shape volumes[0].volumeId'] },
  { given: one({ volume_id: ready }), found: ['volume_mount_shape volumes[0].volume_id'] },
  { given: one({ mountPath: undefined }), found: ['volume_mount_shape volumes[0].mountPath'] },
  { given: one({ mountPath: 'data' }), found: ['volume_mount_shape volumes[0].mountPath'] },
  { given: one({ mountPath: '/' }), found: ['volume_mount_shape volumes[0].mountPath'] },
  { given: one({ mountPath: '/a/../b' }), found: ['volume_mount_shape volumes[0].mountPath'] },
  { given: one({ mountPath: '/a//b' }), found: ['volume_mount_shape volumes[0].mountPath'] },
  { given: one({ mountPath: '/a:ro' }), found: ['volume_mount_shape volumes[0].mountPath'] },
  { given: one({ mountPath: '/a\u0000' }), found: ['volume_mount_shape volumes[0].mountPath'] },
  { given: one({ mountPath: 5 }), found: ['volume_mount_shape volumes[0].mountPath'] },
  { given: one({ type: 'nfs' }), found: ['volume_mount_shape volumes[0].type'] },
  { given: one({ readOnly: 'yes' }), found: ['volume_mount_shape volumes[0].readOnly'] },
  { given: one({ subPath: '' }) },
  { given: one({ subPath: 'a/b' }) },
  { given: one({ subPath: '../a' }), found: ['volume_mount_shape volumes[0].subPath'] },
  { given: one({ subPath: '/a' }), found: ['volume_mount_shape volumes[0].subPath'] },
  { given: one({ type: 'bind' }), found: ['volume_mount_shape volumes[0].type'] },
  { given: one({ type: 'tmpfs' }), found: ['volume_mount_shape volumes[0].type'] },
  { given: one({ volumeId: scratch, type: 'volume' }), found: ['volume_mount_shape volumes[0].type'] },
  { given: one({ volumeId: scratch, subPath: 'a' }), found: ['volume_mount_shape volumes[0].subPath'] },
  { given: one({ volumeId: scratch, subPath: '' }) },
  { given: one({ size: 1 }), found: ['field_unknown volumes[0].size'] },
  {
    given: { volumes: [mount(), mount({ volumeId: scratch })] },
    found: ['volume_mount_shape volumes[1].mountPath'],
  },
  { given: one({}), facts: { volumeManagement: 'off' }, found: ['volume_binding_unavailable volumes'] },
  {
    given: one({ volumeId: absent }),
    facts: { volumeManagement: 'off' },
    found: ['volume_binding_unavailable volumes'],
  },
  { given: { volumes: [] }, facts: { volumeManagement: 'off' } },
  { given: one({ volumeId: absent }), found: ['volume_not_found volumes[0].volumeId'] },
  { given: one({ volumeId: undefined, volume_id: absent }), found: ['volume_not_found volumes[0].volume_id'] },
  { given: one({ volumeId: object }), found: ['volume_class_not_wired volumes[0].volumeId'] },
  { given: one({ volumeId: degraded }), found: ['volume_not_ready volumes[0].volumeId'] },
  { given: one({ volumeId: writtenByOther }), found: ['volume_access_mode_conflict volumes[0].readOnly'] },
  { given: one({ volumeId: writtenByOther, readOnly: true }) }, // [2.6.5]
  { given: one({ volumeId: writtenByOther }, { name: 'db' }) },
  { given: one({}, { replicas: 1 }) },
  { given: one({}, { replicas: 0 }) },
  { given: one({}, { replicas: 2 }), found: ['volume_access_mode_conflict volumes[0].readOnly'] },
  { given: one({ readOnly: true }, { replicas: 2 }) },
  {
    given: { volumes: [mount(), mount({ mountPath: '/b' })] },
    found: ['volume_access_mode_conflict volumes[1].readOnly'],
  },
  { given: one({}, { nodeId: 'machine-1' }) },
  { given: one({}, { nodeId: machine1 }) },
  { given: one({}, { nodeId: machine2 }), found: ['volume_primary_mismatch nodeId'] },
  { given: one({ readOnly: true }, { nodeId: machine2 }) },
  { given: one({ volumeId: scratch }, { nodeId: machine2 }) },
  { given: one({}, { nodeId: 'nowhere' }), found: ['node_not_a_placement_candidate nodeId'] },

  { given: { networks: [] } },
  { given: { networks: ['backend'] } },
  { given: { networks: ['vault'] } },
  { given: { networks: ['backend', 'vault'], nodeId: 'machine-1' } },
  { given: { networks: ['backend', 'edge'] }, found: ['network_on_another_node networks[1]'] },
  { given: { networks: ['edge'], nodeId: 'machine-1' }, found: ['network_on_another_node networks[0]'] },
  { given: { networks: ['backend', 'none'] }, found: ['network_not_found networks[1]'] },
  {
    given: { networks: ['vault'], ports: [{ containerPort: 80, hostPort: 80 }] },
    found: ['network_internal_port networks'],
  },
  { given: { networks: ['vault', 'backend'], ports: [{ containerPort: 80, hostPort: 80 }] } },
  { given: { networks: ['vault'], ports: [{ containerPort: 80 }] } },
  { given: { networks: ['frontend'] }, found: ['network_not_found networks[0]'] },
  { given: { networks: ['backend', 'backend'] }, found: ['field_invalid networks[1]'] },
  { given: { networks: 'backend' }, found: ['field_invalid networks'] },
  { given: { networks: [5] }, found: ['field_invalid networks[0]'] },

  { given: {}, facts: { image: 'absent' }, found: ['image_not_found image'] },
  {
    given: {},
    facts: { image: 'credential_store_unavailable' },
    found: ['registry_credential_store_unavailable image'],
  },
  { given: { image: 'nginx' }, facts: { image: 'absent' }, found: ['image_required image'] },
  { given: {}, facts: { image: 'refused' }, found: ['image_registry_refused image'] },
  { given: { image: `sha256:${'a'.repeat(64)}` }, found: ['image_required image'] },
  { given: {}, facts: { image: 'unreachable' } },
  { given: {}, facts: { image: 'unchecked' } },
];

const placement: readonly Case[] = [
  { given: placed({}) },
  { given: { placement: [] }, found: ['field_invalid placement'] },
  { given: placed({ node: 'x' }), found: ['field_unknown placement.node'] },
  { given: residency({}) },
  { given: residency({ country: 'de' }) },
  { given: residency({ country: 'XX' }), found: ['residency_country_invalid placement.residency.country'] },
  { given: residency({ country: 'UK' }), found: ['residency_country_invalid placement.residency.country'] },
  { given: residency({ country: 'DEU' }), found: ['residency_country_invalid placement.residency.country'] },
  { given: residency({ country: 5 }), found: ['residency_country_invalid placement.residency.country'] },
  { given: residency({ country: 'ı̇' }), found: ['residency_country_invalid placement.residency.country'] },
  { given: residency({ region: 'eu' }) },
  { given: residency({ region: 'EU' }), found: ['residency_region_unknown placement.residency.region'] },
  { given: residency({ region: 'mars' }), found: ['residency_region_unknown placement.residency.region'] },
  { given: residency({ region: 5 }), found: ['field_invalid placement.residency.region'] },
  { given: residency({ blockedCountries: ['US', 'cn'] }) },
  {
    given: residency({ blockedCountries: ['US', 'USA'] }),
    found: ['residency_country_invalid placement.residency.blockedCountries[1]'],
  },
  { given: residency({ blockedCountries: 'US' }), found: ['field_invalid placement.residency.blockedCountries'] },
  { given: residency({ continent: 'x' }), found: ['field_unknown placement.residency.continent'] },
  {
    given: placed({ residency: { country: 'DE' }, labels: { [label]: 'DE' } }),
    found: ['residency_label_conflict placement.labels'],
  },
  { given: sentBack(placed({ residency: { country: 'DE' }, labels: { [label]: 'DE' } })) },
  {
    given: { ...placed({ residency: { country: 'DE' }, labels: { [label]: 'DE' } }), metadata: { uid: 'x' } },
    found: ['residency_label_conflict placement.labels'],
  },
  {
    given: { ...sentBack(placed({ residency: { country: 'DE' }, labels: { [label]: 'DE' } })), replicas: 7 },
    found: ['residency_label_conflict placement.labels'],
  },
  {
    given: sentBack(placed({ residency: { country: 'DE' }, labels: { [label]: 'FR' } })),
    found: ['residency_label_conflict placement.labels'],
  },
  {
    given: placed({ residency: { country: 'DE' }, labels: { [label]: 'FR' } }),
    found: ['residency_label_conflict placement.labels'],
  },
  { given: placed({ labels: { [label]: 'DE' } }), found: ['residency_label_handwritten placement.labels'] },
  { given: { labels: { [label]: 'DE' } }, found: [`residency_label_handwritten labels.${label}`] },
  {
    given: { labels: { 'mooring.io/blocked-countries': 'US,CN' } },
    found: ['residency_label_handwritten labels.mooring.io/blocked-countries'],
  },
  {
    given: { labels: { 'Mooring.io/Data-Residency-Planet': 'x' } },
    found: ['residency_label_handwritten labels.Mooring.io/Data-Residency-Planet'],
  },
  {
    given: { ...residency({ country: 'DE' }), labels: { [label]: 'DE' } },
    found: [`residency_label_conflict labels.${label}`],
  },

  { given: constraint({}) },
  { given: constraint({ operator: 'Exists', values: undefined }) },
  { given: constraint({ operator: 'Exists' }), found: ['field_invalid placement.constraints[0].values'] },
  { given: constraint({ values: [] }), found: ['field_invalid placement.constraints[0].values'] },
  { given: constraint({ values: undefined }), found: ['field_invalid placement.constraints[0].values'] },
  { given: constraint({ values: ['a b'] }), found: ['field_invalid placement.constraints[0].values'] },
  { given: constraint({ operator: 'Gt' }), found: ['field_invalid placement.constraints[0].operator'] },
  { given: constraint({ key: 'a b' }), found: ['field_invalid placement.constraints[0].key'] },
  { given: constraint({ key: undefined }), found: ['field_invalid placement.constraints[0].key'] },
  { given: apart({ self: true }) },
  { given: apart({ deployments: ['db'], topologyKey: 'example.com/rack' }) },
  { given: apart({}), found: ['field_invalid placement.antiAffinity'] },
  { given: apart({ self: false }), found: ['field_invalid placement.antiAffinity'] },
  { given: apart({ deployments: ['DB'] }), found: ['field_invalid placement.antiAffinity.deployments[0]'] },
  { given: apart({ self: true, topologyKey: 'a b' }), found: ['field_invalid placement.antiAffinity.topologyKey'] },
];

const order: readonly Case[] = [
  { given: { dependsOn: [] } },
  { given: { dependsOn: [{ name: 'db' }] } },
  { given: { dependsOn: { db: 'healthy', cache: 'started' } } },
  { given: { dependsOn: [{ name: 'absent' }] } },
  { given: { dependsOn: 'db' }, found: ['field_invalid dependsOn'] },
  { given: { dependsOn: ['db'] }, found: ['field_invalid dependsOn[0]'] },
  { given: { dependsOn: [{}] }, found: ['field_invalid dependsOn[0].name'] },
  { given: { dependsOn: [{ name: 'X Y' }] }, found: ['field_invalid dependsOn[0].name'] },
  { given: { dependsOn: [{ name: 'a/b', condition: 'started' }] }, found: ['field_invalid dependsOn[0].name'] },
  { given: { dependsOn: { 'a/b': 'started' } }, found: ['field_invalid dependsOn.a/b'] },
  { given: { dependsOn: [{ name: 'db', condition: 'ready' }] }, found: ['field_invalid dependsOn[0].condition'] },
  { given: { dependsOn: { db: 'ready' } }, found: ['field_invalid dependsOn.db'] },
  { given: { dependsOn: [{ name: 'web' }] }, found: ['depends_on_self dependsOn[0].name'] },
  { given: { dependsOn: { web: 'healthy' } }, found: ['depends_on_self dependsOn.web'] },
  {
    given: { dependsOn: [{ name: 'db' }, { name: 'db', condition: 'started' }] },
    found: ['depends_on_duplicate dependsOn[1].name'],
  },
  { given: { dependsOn: [{ name: 'cache' }] }, found: ['depends_on_no_health_check dependsOn[0].name'] },
  { given: { dependsOn: [{ name: 'cache', condition: 'started' }] } },
  { given: { dependsOn: [{ name: 'worker' }] }, found: ['depends_on_cycle dependsOn[0].name'] },
  { given: { dependsOn: { worker: 'started' } }, found: ['depends_on_cycle dependsOn.worker'] },

  { given: { stopGracePeriod: '0s', preStop: ['/bin/drain'], restartedAt: '2026-01-31T12:00:00Z' } },
  { given: { stopGracePeriod: '61m' }, found: ['field_invalid stopGracePeriod'] },
  { given: { stopGracePeriod: 10 }, found: ['field_invalid stopGracePeriod'] },
  { given: { preStop: [] }, found: ['field_invalid preStop'] },
  { given: { preStop: 'sleep 1' }, found: ['field_invalid preStop'] },
  { given: { restartedAt: 'now' }, found: ['field_invalid restartedAt'] },
  { given: { rollout: {} } },
  { given: { rollout: { maxSurge: 0, maxUnavailable: 1 } } },
  { given: { rollout: { maxSurge: 0 } }, found: ['field_invalid rollout.maxUnavailable'] },
  { given: { rollout: { maxSurge: -1 } }, found: ['field_invalid rollout.maxSurge'] },
  { given: { rollout: { maxSurge: '25%', maxUnavailable: '0%', paused: true } } },
  { given: { rollout: { maxSurge: '101%' } }, found: ['field_invalid rollout.maxSurge'] },
  { given: { rollout: { maxSurge: '1.5%' } }, found: ['field_invalid rollout.maxSurge'] },
  { given: { rollout: { maxSurge: 1.5 } }, found: ['field_invalid rollout.maxSurge'] },
  { given: { rollout: { maxUnavailable: 10_001 } }, found: ['field_invalid rollout.maxUnavailable'] },
  { given: { rollout: { maxSurge: '0%', maxUnavailable: 0 } }, found: ['field_invalid rollout.maxUnavailable'] },
  { given: { rollout: { paused: 'yes' } }, found: ['field_invalid rollout.paused'] },
  { given: { rollout: { progressDeadline: '10s' } } },
  { given: { rollout: { progressDeadline: '9s' } }, found: ['field_invalid rollout.progressDeadline'] },
  { given: { rollout: { progressDeadline: 60 } }, found: ['field_invalid rollout.progressDeadline'] },
  { given: { rollout: { autoRollback: 'no' } }, found: ['field_invalid rollout.autoRollback'] },
  { given: { rollout: { canary: { replicas: 1 } } } },
  { given: { rollout: { canary: { replicas: '25%', hold: '168h' } } } },
  { given: { rollout: { canary: { replicas: '0%' } } }, found: ['field_invalid rollout.canary.replicas'] },
  { given: { rollout: { canary: { replicas: 1, hold: '169h' } } }, found: ['field_invalid rollout.canary.hold'] },
  { given: { rollout: { canary: { replicas: 0 } } }, found: ['field_invalid rollout.canary.replicas'] },
  { given: { rollout: { canary: {} } }, found: ['field_invalid rollout.canary.replicas'] },
  { given: { rollout: { canary: { replicas: 1, hold: 'x' } } }, found: ['field_invalid rollout.canary.hold'] },
  { given: { rollout: { strategy: 'x' } }, found: ['field_unknown rollout.strategy'] },
];

for (const [about, cases] of Object.entries({ volumes, placement, order })) {
  describe(`a deployment with ${about}`, () => {
    for (const { given, facts, found = [] } of cases) {
      it(`${found[0] ?? 'accepts'}: ${JSON.stringify({ ...given, ...facts }).slice(0, 120)}`, () => {
        const admission = admitCreate({ ...least, ...given }, { ...exampleFacts, ...facts }, limits);
        expect(listFaults(admission).map(([code, field]) => `${code} ${field}`)).to.deep.equal(found);
      });
    }
  });
}

describe('a cycle', () => {
  it('is named from end to end, the shortest one', () => {
    const ring = ['b', 'c', 'd'].map((name, i, all) => ({
      name,
      dependsOn: [{ name: all[i + 1] ?? 'web', condition: 'started' as const }],
      hasHealthCheck: true,
      secretPaths: [],
      externalPaths: [],
    }));
    const admission = admitCreate(
      { ...least, dependsOn: ['b', 'd'].map(name => ({ name })) },
      { ...exampleFacts, deployments: ring },
      limits,
    );
    const expected = admission.ok ? [] : admission.rejections.map(rejection => rejection.expected);
    expect(expected[0]).to.contain('web → b → c → d → web');
    expect(expected[1]).to.contain('web → d → web');
  });
});

describe('a deployment that others wait for', () => {
  const waiter = {
    name: 'shop',
    dependsOn: [{ name: 'web', condition: 'healthy' }] as const,
    hasHealthCheck: false,
    secretPaths: [],
    externalPaths: [],
  };
  const facts = { ...exampleFacts, deployments: [...exampleFacts.deployments, waiter] };

  it('is refused without a health check when it is created after them', () => {
    expect(listFaults(admitCreate(least, facts, limits))).to.deep.equal([['health_check_needed', 'healthCheck']]);
  });

  it('is accepted with a health check', () => {
    const healthCheck = { type: 'exec', command: ['/bin/check'] };
    expect(listFaults(admitCreate({ ...least, healthCheck }, facts, limits))).to.deep.equal([]);
  });
});

describe('the received value', () => {
  const received = (fields: object) => {
    const admission = admitCreate({ ...least, ...fields }, exampleFacts, limits);
    return admission.ok ? [] : admission.rejections.map(each => each.received);
  };

  it('shows text in quotes where a number belongs', () => {
    expect(received({ replicas: '3' })).to.deep.equal(['"3"']);
    expect(received({ replicas: 300 })).to.deep.equal(['300']);
    expect(received({ replicas: 'many' })).to.deep.equal(['many']);
    expect(received({ dependsOn: '["db"]' })).to.deep.equal(['"[\\"db\\"]"']);
    expect(received({ placement: { antiAffinity: { self: 'true' } } })).to.deep.equal(['"true"']);
  });

  it('shows text as it is where text belongs', () => {
    expect(received({ name: '3' })).to.deep.equal(['3']);
  });
});
