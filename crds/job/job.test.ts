import { expect } from 'chai';
import fc from 'fast-check';

import { getEntry, exampleVolumes } from '../rejections/index.js';
import { undoAlterations } from '../rule/undo-alterations.testing.js';
import type { WorkloadFacts } from '../workload/index.js';
import { exampleFacts, workloadLimits as limits } from '../workload/facts.testing.js';
import { admitJob, toRunSpec } from './index.js';

const least = { kind: 'Job', name: 'migrate', image: 'registry.example.com/shop/migrate:1.4.2' };
const full = {
  ...least,
  entrypoint: ['/bin/migrate'],
  command: ['up'],
  nodeId: `node_${'1'.repeat(26)}`,
  environment: { MODE: 'production' },
  secrets: [{ name: 'DB', vault_path: 'deployments/web-db', anchor: 'external', rotation: 'restart' }],
  composedSecrets: { URL: '{{secret.web-db.user}}' },
  volumes: [{ volumeId: exampleVolumes.ready, type: 'volume', mountPath: '/data', readOnly: false }],
  resources: { cpu: '500m' },
  placement: { constraints: [{ key: 'disk', operator: 'Exists' }] },
  user: '1000:1000',
  readOnlyRootFilesystem: true,
  restartPolicy: 'OnFailure',
  backoffLimit: 3,
  timeoutSeconds: 600,
  ttlSecondsAfterFinished: 0,
};

const faults = (given: object, facts: Partial<WorkloadFacts> = {}) => {
  const admission = admitJob(given, { ...exampleFacts, ...facts }, limits);
  return admission.ok ? [] : admission.rejections.map(({ code, field }) => `${code} ${field}`);
};

describe('admission of a job', () => {
  const silent = [{ id: `node_${'1'.repeat(26)}`, name: 'machine-1', labels: {}, reachable: false }];
  const cases: ReadonlyArray<{ given: object; facts?: Partial<WorkloadFacts>; found: string[] }> = [
    { given: {}, found: [] },
    { given: { kind: 'Deployment' }, found: ['manifest_wrong_kind kind'] },
    { given: { kind: undefined }, found: ['manifest_wrong_kind kind'] },
    { given: { name: 'Migrate' }, found: ['deployment_name_invalid name'] },
    { given: { name: 'etcd' }, found: ['reserved_infrastructure_name name'] },
    { given: { image: 'migrate' }, found: ['image_required image'] },
    { given: {}, facts: { image: 'absent' }, found: ['image_not_found image'] },
    { given: { nodeId: 'machine-1' }, found: [] },
    { given: { nodeId: 'nowhere' }, found: ['job_node_not_found nodeId'] },
    { given: { nodeId: 'machine-1' }, facts: { nodes: [] }, found: ['job_node_candidates_unresolvable nodeId'] },
    { given: { nodeId: 'machine-1' }, facts: { nodes: silent }, found: ['job_node_candidates_unresolvable nodeId'] },
    {
      given: { nodeId: 'machine-1' },
      facts: { nodes: 'unreadable' },
      found: ['job_node_candidates_unresolvable nodeId'],
    },
    { given: { nodeId: undefined }, facts: { nodes: [] }, found: [] },
    { given: { replicas: 2 }, found: ['field_unknown replicas'] },
    { given: { restartPolicy: 'Never', backoffLimit: undefined }, found: [] },
    { given: { restartPolicy: 'Never', backoffLimit: 0 }, found: [] },
    { given: { restartPolicy: 'Never', backoffLimit: 1 }, found: ['field_invalid backoffLimit'] },
    { given: { restartPolicy: 'Always', backoffLimit: 1 }, found: ['field_invalid restartPolicy'] },
    { given: { restartPolicy: 'never' }, found: ['field_invalid restartPolicy'] },
    { given: { backoffLimit: 0 }, found: [] },
    { given: { backoffLimit: -1 }, found: ['field_invalid backoffLimit'] },
    { given: { backoffLimit: 101 }, found: ['field_invalid backoffLimit'] },
    { given: { user: 'root:wheel extra' }, found: ['field_invalid user'] },
    { given: { readOnlyRootFilesystem: 'yes' }, found: ['field_invalid readOnlyRootFilesystem'] },
    { given: { timeoutSeconds: 0 }, found: ['field_invalid timeoutSeconds'] },
    { given: { ttlSecondsAfterFinished: '5m' }, found: ['field_invalid ttlSecondsAfterFinished'] },
    {
      given: { environment: { API_TOKEN: 'x' } },
      found: ['plaintext_credential_in_environment environment.API_TOKEN'],
    },
    {
      given: { volumes: [{ volumeId: exampleVolumes.writtenByOther, mountPath: '/d' }] },
      found: ['volume_access_mode_conflict volumes[0].readOnly'],
    },
    {
      given: { composedSecrets: { URL: '{{secret.other.x}}' } },
      found: ['secret_compose_resource_undeclared composedSecrets.URL'],
    },
    {
      given: { placement: { residency: { region: 'x' } } },
      found: ['residency_region_unknown placement.residency.region'],
    },
  ];
  for (const base of [least, full]) {
    for (const { given, facts, found } of cases) {
      it(`${base === full ? 'full, ' : ''}${found[0] ?? 'accepts'}: ${JSON.stringify({ ...given, ...facts }).slice(0, 90)}`, () => {
        expect(faults({ ...base, ...given }, facts)).to.deep.equal(found);
      });
    }
  }

  for (const document of [null, [], 'x', 5]) {
    it(`refuses ${JSON.stringify(document)} as a whole`, () => {
      expect(faults(document as never)).to.deep.equal(['field_invalid body']);
    });
  }

  for (const code of ['job_node_candidates_unresolvable', 'job_node_not_found'] as const) {
    it(`${code}: the example earns it, and the fixed example is accepted`, () => {
      const facts = code === 'job_node_not_found' ? {} : { nodes: [] };
      expect(faults(getEntry(code).example as object, facts)).to.deep.equal([`${code} nodeId`]);
      expect(faults(getEntry(code).fixed as object)).to.deep.equal([]);
    });
  }

  it('changes nothing in what is complete, and announces the rest', () => {
    const whole = admitJob(full, exampleFacts, limits);
    expect(whole).to.deep.equal({ ok: true, spec: full, alterations: [], warnings: [], material: [] });
    const bare = admitJob({ ...least, nodeId: 'machine-1' }, exampleFacts, limits);
    expect(bare.ok && bare.alterations.map(({ field }) => field)).to.deep.equal([
      'nodeId',
      'restartPolicy',
      'backoffLimit',
    ]);
  });

  it('gets the defaults of the platform for containers where it says nothing', () => {
    const containerDefaults = { memory: '512Mi', user: '1000:1000', readOnlyRootFilesystem: true };
    const admit = (document: object) => admitJob(document, exampleFacts, { ...limits, containerDefaults });
    const bare = admit(least);
    expect(bare.ok && bare.spec).to.deep.include({
      resources: { limits: { memory: '512Mi' } },
      user: '1000:1000',
      readOnlyRootFilesystem: true,
    });
    const announced = bare.ok ? bare.alterations.filter(({ why }) => why === 'default of the platform') : [];
    expect(announced.map(({ field }) => field)).to.deep.equal([
      'resources.limits.memory',
      'user',
      'readOnlyRootFilesystem',
    ]);
    const own = admit({ ...least, user: '0', readOnlyRootFilesystem: false });
    expect(own.ok && own.spec).to.deep.include({ user: '0', readOnlyRootFilesystem: false });
  });

  it('has one attempt when it never restarts, and says so', () => {
    const admission = admitJob({ ...least, restartPolicy: 'Never' }, exampleFacts, limits);
    expect(admission.ok && admission.spec).to.include({ restartPolicy: 'Never', backoffLimit: 0 });
    expect(admission.ok && admission.alterations).to.deep.equal([
      { field: 'backoffLimit', from: null, to: 0, why: 'restartPolicy is Never' },
    ]);
  });

  describe('with a schedule', () => {
    const scheduled = { ...least, schedule: '0 3 * * *' };
    const cases: ReadonlyArray<{ given: object; found: string[] }> = [
      { given: {}, found: [] },
      { given: { timeZone: 'Europe/Berlin', concurrencyPolicy: 'Forbid' }, found: [] },
      { given: { schedule: '*/15 8-18/2 1,15 jan-MAR MON-FRI' }, found: [] },
      { given: { schedule: '@hourly' }, found: [] },
      { given: { schedule: '0 0 29 2 *' }, found: [] },
      { given: { schedule: '0 0 30 2 *' }, found: ['field_invalid schedule'] },
      { given: { schedule: '0 0 31 4,6,9,11 *', timeZone: 'Asia/Tokyo' }, found: ['field_invalid schedule'] },
      { given: { schedule: '60 * * * *' }, found: ['field_invalid schedule'] },
      { given: { schedule: '*/0 * * * *' }, found: ['field_invalid schedule'] },
      { given: { schedule: '0 0 * * FOO' }, found: ['field_invalid schedule'] },
      { given: { schedule: '0 0 L * *' }, found: ['field_invalid schedule'] },
      { given: { schedule: '* * * * * *' }, found: ['field_invalid schedule'] },
      { given: { schedule: '2026-11-16T07:00:00' }, found: ['field_invalid schedule'] },
      { given: { schedule: '@reboot' }, found: ['field_invalid schedule'] },
      { given: { schedule: 'every day!' }, found: ['field_invalid schedule'] },
      { given: { schedule: '' }, found: ['field_invalid schedule'] },
      { given: { timeZone: 'Mars/Olympus' }, found: ['field_invalid timeZone'] },
      { given: { timeZone: '+02:00' }, found: ['field_invalid timeZone'] },
      { given: { concurrencyPolicy: 'forbid' }, found: ['field_invalid concurrencyPolicy'] },
      { given: { schedule: undefined, timeZone: 'UTC' }, found: ['field_invalid timeZone'] },
      { given: { schedule: undefined, concurrencyPolicy: 'Allow' }, found: ['field_invalid concurrencyPolicy'] },
      { given: { schedule: 5, timeZone: 'UTC' }, found: ['field_invalid schedule'] },
      { given: { name: 'a'.repeat(52) }, found: [] },
      { given: { name: 'a'.repeat(53) }, found: ['deployment_name_too_long name'] },
      { given: { name: 'a'.repeat(53), schedule: undefined }, found: [] },
    ];
    for (const { given, found } of cases) {
      it(`${found[0] ?? 'accepts'}: ${JSON.stringify(given).slice(0, 90)}`, () => {
        expect(faults({ ...scheduled, ...given })).to.deep.equal(found);
      });
    }

    it('is stored with a zone and a policy, which are announced', () => {
      const admission = admitJob(scheduled, exampleFacts, limits);
      expect(admission.ok && admission.spec).to.include({ timeZone: 'UTC', concurrencyPolicy: 'Allow' });
      expect(admission.ok && admission.alterations.map(({ field, to }) => [field, to])).to.deep.equal([
        ['restartPolicy', 'OnFailure'],
        ['backoffLimit', 3],
        ['timeZone', 'UTC'],
        ['concurrencyPolicy', 'Allow'],
      ]);
    });

    it('has runs that are jobs without one', () => {
      const admission = admitJob({ ...scheduled, ttlSecondsAfterFinished: 5 }, exampleFacts, limits);
      const run = admission.ok && toRunSpec(admission.spec, 'migrate-29700000');
      expect(run).to.deep.equal({ ...least, name: 'migrate-29700000', restartPolicy: 'OnFailure', backoffLimit: 3 });
      expect(faults(run as object)).to.deep.equal([]);
    });
  });

  it('is refused when it is too large to be stored, at its largest field', () => {
    const environment = Object.fromEntries(
      Array.from({ length: 256 }, (_, number) => [`A${number}`, 'x'.repeat(1024)]),
    );
    expect(faults({ ...least, environment })).to.deep.equal(['document_too_large environment']);
  });

  it('writes to a volume with one run at a time only', () => {
    const scheduled = { ...full, schedule: '0 3 * * *' };
    for (const [more, found] of [
      [{}, ['volume_access_mode_conflict volumes[0].readOnly']],
      [{ concurrencyPolicy: 'Allow' }, ['volume_access_mode_conflict volumes[0].readOnly']],
      [{ concurrencyPolicy: 'Forbid' }, []],
      [{ concurrencyPolicy: 'Replace' }, []],
      [{ volumes: full.volumes.map(mount => ({ ...mount, readOnly: true })) }, []],
    ] as const) {
      const admission = admitJob({ ...scheduled, ...more }, exampleFacts, limits);
      const told = admission.ok ? [] : admission.rejections.map(({ code, field }) => `${code} ${field}`);
      expect(told, JSON.stringify(more)).to.deep.equal(found);
    }
  });

  const document = fc
    .record(
      {
        entrypoint: fc.constant(['/bin/x']),
        nodeId: fc.constantFrom('machine-1', full.nodeId),
        environment: fc.constant({ MODE: 'x' }),
        secrets: fc.constantFrom(full.secrets, [
          { name: 'DB', vault_path: 'deployments/web-db', anchor: 'process', generate: { keys: ['a'] } },
        ]),
        volumes: fc.constantFrom(full.volumes, [{ volume_id: exampleVolumes.ready, mountPath: '/d' }]),
        resources: fc.constant({ memory: '1Gi' }),
        placement: fc.constantFrom(full.placement, { residency: { country: 'de' } }),
        backoffLimit: fc.integer({ min: 0, max: 100 }),
        timeoutSeconds: fc.integer({ min: 1, max: 86_400 }),
        ttlSecondsAfterFinished: fc.integer({ min: 0, max: 86_400 }),
      },
      { requiredKeys: [], noNullPrototype: true },
    )
    .map(fields => ({ ...least, ...fields }));

  it('stores what was sent, except for what it announces', () => {
    fc.assert(
      fc.property(document, sent => {
        const admission = admitJob(sent, exampleFacts, limits);
        if (!admission.ok) throw new Error(JSON.stringify(admission.rejections));
        expect(undoAlterations(admission.spec, admission.alterations)).to.deep.equal(sent);
        const { labels: rendered, ...placement } = admission.spec.placement ?? {};
        const complete = rendered ? { ...admission.spec, placement } : admission.spec;
        const again = admitJob(complete, exampleFacts, limits);
        if (!again.ok) throw new Error(JSON.stringify(again.rejections));
        const more = again.alterations.filter(({ field }) => field !== 'placement.labels');
        expect({ ...again, alterations: more }).to.deep.equal({ ...admission, alterations: [], material: [] });
      }),
      { numRuns: 1000 },
    );
  });

  it('refuses one mutation with exactly its code', () => {
    const mutations = cases.filter(({ found, facts }) => found.length === 1 && facts === undefined);
    fc.assert(
      fc.property(document, fc.constantFrom(...mutations), (sent, { given, found }) => {
        expect(faults({ ...sent, ...given })).to.deep.equal(found);
      }),
      { numRuns: 1000 },
    );
  });

  it('answers any document, each field once, and never throws', () => {
    const anything = fc.dictionary(fc.constantFrom(...Object.keys(full), 'bogus'), fc.jsonValue({ maxDepth: 4 }), {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(anything, document => {
        const found = faults(document).map(text => text.slice(text.indexOf(' ')));
        expect(new Set(found).size).to.equal(found.length);
      }),
      { numRuns: 1000 },
    );
  });
});
