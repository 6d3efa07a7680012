import { expect } from 'chai';
import fc from 'fast-check';

import { getEntry, exampleVolumes } from '../rejections/index.js';
import { undoAlterations } from '../rule/undo-alterations.testing.js';
import type { WorkloadFacts } from '../workload/index.js';
import { exampleFacts, workloadLimits as limits } from '../workload/facts.testing.js';
import { admitJob } from './index.js';

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
  backoffLimit: 3,
  timeoutSeconds: 600,
  ttlSecondsAfterFinished: 0,
};

const faults = (given: object, facts: Partial<WorkloadFacts> = {}) => {
  const admission = admitJob(given, { ...exampleFacts, ...facts }, limits, { isDryRun: true });
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
    { given: { backoffLimit: 0 }, found: [] },
    { given: { backoffLimit: -1 }, found: ['field_invalid backoffLimit'] },
    { given: { backoffLimit: 101 }, found: ['field_invalid backoffLimit'] },
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
    const whole = admitJob(full, exampleFacts, limits, { isDryRun: true });
    expect(whole).to.deep.equal({ ok: true, spec: full, alterations: [], warnings: [], material: [] });
    const bare = admitJob({ ...least, nodeId: 'machine-1' }, exampleFacts, limits);
    expect(bare.ok && bare.alterations.map(({ field }) => field)).to.deep.equal(['nodeId', 'backoffLimit']);
  });

  for (const [field, sent] of [
    ['schedule', '0 3 * * *'],
    ['timeZone', 'Europe/Berlin'],
    ['concurrencyPolicy', 'Forbid'],
  ] as const) {
    it(`judges ${field} in a dry run only`, () => {
      expect(faults({ ...least, [field]: sent })).to.deep.equal([]);
      expect(faults({ ...least, [field]: 'every day!' })).to.deep.equal([`field_invalid ${field}`]);
      const admission = admitJob({ ...least, [field]: sent }, exampleFacts, limits);
      expect(!admission.ok && admission.rejections[0]).to.include({ code: 'feature_not_available', field });
    });
  }

  it('is refused when it is too large to be stored, at its largest field', () => {
    const environment = Object.fromEntries(
      Array.from({ length: 256 }, (_, number) => [`A${number}`, 'x'.repeat(1024)]),
    );
    expect(faults({ ...least, environment })).to.deep.equal(['document_too_large environment']);
  });

  it('stores no field that nothing carries out: a dry run judges it', () => {
    const admission = admitJob(full, exampleFacts, limits);
    expect(admission.ok).to.equal(false);
    expect(!admission.ok && admission.rejections.map(({ code, field }) => [code, field])).to.deep.equal([
      ['feature_not_available', 'volumes'],
    ]);
    const { volumes: _, ...supported } = full;
    expect(admitJob(supported, exampleFacts, limits).ok).to.equal(true);
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
        const admission = admitJob(sent, exampleFacts, limits, { isDryRun: true });
        if (!admission.ok) throw new Error(JSON.stringify(admission.rejections));
        expect(undoAlterations(admission.spec, admission.alterations)).to.deep.equal(sent);
        const { labels: rendered, ...placement } = admission.spec.placement ?? {};
        const complete = rendered ? { ...admission.spec, placement } : admission.spec;
        const again = admitJob(complete, exampleFacts, limits, { isDryRun: true });
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
